OPENQASM 3.0;
include "stdgates.inc";
qubit[60] q;
bit[60] c;
h q;
c = measure q;
