"""The numbers of a plan: the program that makes them, and its execution on operands."""
