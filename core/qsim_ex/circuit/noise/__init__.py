"""Noise: channels, models of noisy machines, readout errors. Import their public names from `qsim_ex`."""
