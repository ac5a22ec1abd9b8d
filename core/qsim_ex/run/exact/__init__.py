"""Runs with density matrices: nothing is drawn but shots, and every branch is followed."""
