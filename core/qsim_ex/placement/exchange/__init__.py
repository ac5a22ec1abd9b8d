"""How devices that share a state trade parts of it."""
