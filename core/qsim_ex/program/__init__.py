"""Programs: the operations of a circuit in the order of their execution, as segments, branch points and saves."""
