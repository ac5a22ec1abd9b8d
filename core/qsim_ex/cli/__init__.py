"""The command line: ``qsim-ex demo | run | explain | warm | doctor``."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; see `qsim_ex.cli.report` for the codes."""
    try:  # loading takes a moment, and Ctrl-C must be answered from the first one on
        from qsim_ex.cli import command

        return command.main(argv)
    except KeyboardInterrupt:
        sys.stderr.write("qsim-ex: interrupted; nothing was kept.\n")
        return 130


__all__ = ["main"]
