"""Exchanges of amplitudes between devices that share a state."""
