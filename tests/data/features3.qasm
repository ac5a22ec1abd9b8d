OPENQASM 3.0;
include "stdgates.inc";
gate swirl(theta) a, b { rx(theta) a; ctrl @ rz(theta / 2) a, b; }
qubit[3] system_;
qubit ancilla;
bit[3] out;
bit[1] flag;
h system_;
swirl(pi / 3) system_[0], ancilla;
negctrl @ x system_[1], ancilla;
barrier system_;
out = measure system_;
flag[0] = measure ancilla;
