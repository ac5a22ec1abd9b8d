"""Files that the engine writes and reads: how one appears whole, and what the header of a saved state may say."""
