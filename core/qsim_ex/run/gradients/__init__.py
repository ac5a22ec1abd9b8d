"""Gradients of runs: adjoint differentiation of states, density matrices and trajectories (decision 0061)."""
