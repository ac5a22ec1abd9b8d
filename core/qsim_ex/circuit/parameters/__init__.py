"""One circuit with many values of its parameters."""
