"""Compilation of CUDA C++ to machine code, and the choice of the sweeps that are worth it."""
