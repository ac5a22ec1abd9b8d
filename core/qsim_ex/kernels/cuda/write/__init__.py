"""A sweep written as CUDA C++."""
