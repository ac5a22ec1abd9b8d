"""Peers side by side: the same circuits, the same precision, the same machine, in one run."""
