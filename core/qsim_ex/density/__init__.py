"""Exact noise: a density matrix as the state of twice as many wires, and what is asked of it."""
