"""Kernels that belong to no circuit: sums, moves, matrices on many bits."""
