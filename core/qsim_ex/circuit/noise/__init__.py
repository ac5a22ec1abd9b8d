"""Noise: channels, models of noisy machines, readout errors."""
