OPENQASM 3.0;
include "stdgates.inc";
qubit[60] q;
bit[60] c;
h q;
t q;
cx q[0:58], q[1:59];
c = measure q;
