"""Cirq's circuits as circuits of the engine."""
