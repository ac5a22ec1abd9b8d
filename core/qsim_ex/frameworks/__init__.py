"""Frameworks: how they register themselves, and what their packages share."""
