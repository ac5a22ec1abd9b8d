"""``qsim-ex launch -n 4 script.py``: run a script in several processes of this host, which may share a state."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("-n", "--processes", type=int, required=True, metavar="N", help="how many processes to start")
    parser.usage = "%(prog)s [-h] -n N SCRIPT [ARGUMENT …], or -m and a module in place of the script"
    parser.set_defaults(json=False, no_progress=True, traceback=False)


def split(argv: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the launcher's own arguments, and the program with its arguments, which may look like ours."""
    count = 2 if argv and argv[0] in ("-n", "--processes") else 1
    return argv[:count], argv[count:]


def start(args: argparse.Namespace) -> int:
    """Run the script in all processes, and return its exit code; the processes write by themselves."""
    from qsim_ex.comm.launch import launch

    return launch(args.processes, args.program)
