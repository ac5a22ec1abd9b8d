"""Circuits: gates, instructions, noise, observables."""
