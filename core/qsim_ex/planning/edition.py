"""The edition of the planner: which plans it makes.

A plan is known by what it was made from (`Plan.key`), so that it can be named before it is made. A run that continues
from a checkpoint needs the very plan that it began with. So the checkpoint also depends on the edition.
"""

EDITION = 14
"""Raised with every change after which some plans have other steps; 1 are the plans of version 0.1."""
