"""Runs that are interrupted, refused memory, or killed, or whose disk fills.

After each, the same process, or the file that is left, goes on right.
"""
