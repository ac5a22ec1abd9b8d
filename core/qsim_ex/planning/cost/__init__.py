"""The cost of a plan, counted and not measured."""
