/* Grover's search for 5 = 101 among eight numbers, in OpenQASM 3 with modifiers of gates. */
OPENQASM 3.0;
include "stdgates.inc";

gate diffusion a, b, c {
  h a; h b; h c;
  x a;
  negctrl(2) @ z c, b, a;
  x a;
  h a; h b; h c;
}

qubit[3] number;
bit[3] found;

h number;

// the number 101 changes its sign, twice
ctrl @ negctrl @ z number[0], number[1], number[2];
diffusion number[0], number[1], number[2];
gphase(pi);
ctrl @ negctrl @ inv @ z number[0], number[1], number[2];
diffusion number[0], number[1], number[2];

// four quarter turns and back
pow(4) @ s number[0];
pow(-2) @ t number[1];
inv @ pow(-2) @ t number[1];

found = measure number;
