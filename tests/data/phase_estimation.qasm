// Phase estimation of T: three counting qubits, so that the phase 1/8 is found exactly.
OPENQASM 2.0;
include "qelib1.inc";

gate turned(angle) control, target {
  u1(angle/2) control;
  cx control, target;
  u1(-angle/2) target;
  cx control, target;
  u1(angle/2) target;
}

qreg counting[3];
qreg eigenstate[1];
creg phase[3];
creg check[1];

x eigenstate[0];
h counting;
turned(pi/4) counting[0], eigenstate[0];
turned(pi/2) counting[1], eigenstate[0];
turned(pi) counting[2], eigenstate[0];
barrier counting;

// the inverse Fourier transform
swap counting[0], counting[2];
h counting[0];
cu1(-pi/2) counting[0], counting[1];
h counting[1];
cu1(-pi/4) counting[0], counting[2];
cu1(-pi/2) counting[1], counting[2];
h counting[2];

measure counting -> phase;
measure eigenstate -> check;
