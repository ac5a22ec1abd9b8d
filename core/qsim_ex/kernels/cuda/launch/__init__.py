"""The sending of numbers and the launching of kernels, for all of a plan at once."""
