OPENQASM 2.0;
include "qelib1.inc";
// Three registers, measured crosswise: alice gets 01, bob 110, and carol stays empty-handed at 0.
qreg left[3];
qreg right[2];
creg alice[2];
creg bob[3];
creg carol[1];
x left[1];
x left[2];
x right[0];
measure left[0] -> bob[0];
measure left[1] -> bob[1];
measure left[2] -> bob[2];
measure right[0] -> alice[0];
measure right[1] -> alice[1];
