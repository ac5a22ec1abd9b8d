"""How: the code that touches amplitudes."""
