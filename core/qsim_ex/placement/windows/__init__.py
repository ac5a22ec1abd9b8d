"""Windows of a state in host memory, and the copies that bring them near."""
