"""Many states of one structure as one object."""
