"""From instructions to a plan: in which order work runs, and which bits are near. Pure functions; imports no device."""
