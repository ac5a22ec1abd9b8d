OPENQASM 3.0;
include "stdgates.inc";
input float theta;
qubit q;
bit c;
rx(theta) q;
c = measure q;
