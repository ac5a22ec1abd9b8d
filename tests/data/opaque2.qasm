OPENQASM 2.0;
include "qelib1.inc";
opaque oracle a,b;
qreg q[2];
creg c[2];
oracle q[0],q[1];
measure q -> c;
