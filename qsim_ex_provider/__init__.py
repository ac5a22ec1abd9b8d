"""Qiskit on qsim-ex."""
