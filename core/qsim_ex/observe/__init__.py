"""Shots, expectation values and readout errors of any state at the end of a run."""
