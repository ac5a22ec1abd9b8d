OPENQASM 3.0;
include "stdgates.inc";
gate swirl(theta) a, b { rx(theta) a; ctrl @ rz(theta / 2) a, b; }
const float angle = pi / 3;
qubit[3] system;
qubit ancilla;
bit[3] out;
bit flag;
for int k in [0:2] { h system[k]; }
swirl(angle) system[0], ancilla;
negctrl @ x system[1], ancilla;
barrier system;
out = measure system;
flag = measure ancilla;
