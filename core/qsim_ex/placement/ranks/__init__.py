"""Placements over ranks: amplitudes on devices, in host memory, or spread over both."""
