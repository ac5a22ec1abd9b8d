"""CPU kernels in Numba."""
