"""The objects that users hold: state vectors, one or many of one structure, with the memory that they own."""
