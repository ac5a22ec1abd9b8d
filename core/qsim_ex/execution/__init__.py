"""Services of every run: the cache of plans, the preparation of work, progress, and checkpoints."""
