"""How ranks that share a state talk to one another."""
