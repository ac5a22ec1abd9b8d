"""The objects that users hold: state vectors, one or many of one structure, with the memory that they own."""

from __future__ import annotations

from qsim_ex import moved

__getattr__ = moved.names_of(__name__)
