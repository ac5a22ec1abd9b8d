"""What a circuit asks for, in the order in which it is run: straight-line work, branch points, saves."""
