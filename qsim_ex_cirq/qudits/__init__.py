"""Wires of any number of levels: a qid of d levels is ⌈log₂ d⌉ wires of the engine, whose unused values are 0."""
