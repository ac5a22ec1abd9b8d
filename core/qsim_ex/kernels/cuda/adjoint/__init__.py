"""Sweeps of adjoint differentiation on a GPU: a state and a cotangent, interpreted together, and sums on the way."""
