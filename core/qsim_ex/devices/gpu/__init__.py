"""GPUs as devices."""
