"""The numbers of a plan: the program that makes them, and its run over operands."""
