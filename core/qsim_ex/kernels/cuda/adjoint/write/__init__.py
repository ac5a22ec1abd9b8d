"""Kernels that are written for a sweep backwards, with sums of what its numbers need."""
