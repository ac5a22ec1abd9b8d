"""The result of a command: one document for programs, one page for people, one exit code."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console

DONE = 0
CHECK_FAILED = 1
BAD_INPUT = 2
NOT_POSSIBLE = 3
BUG = 70
INTERRUPTED = 130
PIPE_CLOSED = 141

EXIT_CODES = """\
exit codes:
  0    done
  1    a check failed: demo or doctor found something wrong
  2    the command line, the file or the circuit is wrong, or holds
       something that this version does not support
  3    memory, the device or a package is missing
  70   a bug of qsim-ex; the traceback is shown
  130  interrupted with Ctrl-C
"""


class Report(Protocol):
    """The outcome of a command. It is made first and shown afterwards."""

    @property
    def exit_code(self) -> int:
        """The exit code, one of the codes above."""

    def to_json(self) -> dict[str, object]:
        """Return the outcome as data for JSON."""

    def show(self, page: Console) -> None:
        """Print the outcome for people."""


@dataclass(frozen=True, slots=True)
class Task:
    """The callbacks of a running command.

    cancel: set when the user has pressed Ctrl-C. step: called with (steps done, steps in all). stage: called with the
    name of the part that begins.
    """

    cancel: threading.Event
    step: Callable[[int, int], None]
    stage: Callable[[str], None]
