"""Windows on a state in host memory, and the copies that bring them near."""
