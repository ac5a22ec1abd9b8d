"""The choice of the placement of a state, and of its devices."""
