OPENQASM 3.0;
include "stdgates.inc";
qubit[2] q;
h q[0];
