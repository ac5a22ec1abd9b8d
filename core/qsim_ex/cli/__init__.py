"""The command line: ``qsim-ex demo | run | explain | doctor``."""

from qsim_ex.cli.command import main

__all__ = ["main"]
