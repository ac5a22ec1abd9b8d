"""From instructions to fewer and cheaper pieces of work."""
