"""Kernels that do not depend on a circuit: sums, moves, matrices on many bits."""
