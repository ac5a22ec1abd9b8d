"""CUDA C++ kernels, generated and interpreted."""
