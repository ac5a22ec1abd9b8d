"""Noise: channels, models of noisy machines, readout errors. Import their public names from `qsim_ex`."""

from __future__ import annotations

from qsim_ex import moved

__getattr__ = moved.names_of(__name__)
