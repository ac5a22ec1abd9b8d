"""Noise: channels, models of noisy machines, readout errors. Their public home is `qsim_ex`."""

from __future__ import annotations

from qsim_ex import moved

__getattr__ = moved.names_of(__name__)
