"""Qiskit's circuits as circuits of the engine."""
