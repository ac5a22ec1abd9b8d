"""Files that the engine writes and reads: how a file appears whole, and what a saved state's header may contain."""
