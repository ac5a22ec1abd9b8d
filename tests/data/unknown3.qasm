OPENQASM 3.0;
include "stdgates.inc";
qubit q;
bit c;
frobnicate q;
c = measure q;
