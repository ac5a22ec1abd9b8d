"""What to compute: gates, instructions, circuits, observables."""
