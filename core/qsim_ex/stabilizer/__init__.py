"""Circuits of Clifford gates and Pauli noise, translated to Stim, which samples them (`run/methods/stabilizer.py`)."""
