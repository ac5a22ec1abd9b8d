"""The code that reads and writes amplitudes, for the CPU and for GPUs."""
