"""CUDA C++ to machine code, and which sweeps are worth it."""
