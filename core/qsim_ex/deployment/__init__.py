"""Which placement on which devices."""
