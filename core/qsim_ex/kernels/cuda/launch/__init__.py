"""Numbers sent and kernels launched, all of a plan at once."""
