OPENQASM 2.0;
include "qelib1.inc";
qreg q[1];
creg c[1];
frobnicate q[0];
measure q -> c;
