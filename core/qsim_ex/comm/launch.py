"""The launcher of several processes on one host: it needs no MPI, and ends all of them when one fails."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from qsim_ex.comm.launcher import RANK, SIZE
from qsim_ex.comm.meeting import FOLDER
from qsim_ex.errors import OptionError

GRACE = 5.0
"""Seconds that the other ranks get to end by themselves after one has failed, and again after SIGTERM."""

_LOOK = 0.02
"""Seconds between two looks at the processes."""


def launch(size: int, program: Sequence[str]) -> int:
    """Run a Python program in `size` processes, each of which is a rank, and return the first exit code that is not 0.

    program: what would follow ``python`` on a command line: a script and its arguments, or ``-m`` and a module. If a
    rank fails the others get `GRACE` to end with an error that names it, then they are ended. Raises `OptionError`.
    """
    if size < 1:
        raise OptionError(f"expected at least 1 process, got {size}; pass -n 4.")
    if not program:
        raise OptionError("expected a Python script to run, got none; pass its path, such as script.py.")
    ranks: list[subprocess.Popen[bytes]] = []
    terminate = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="qsim-ex-") as folder:
        try:
            for rank in range(size):
                told = os.environ | {RANK: str(rank), SIZE: str(size), FOLDER: folder}
                ranks.append(subprocess.Popen([sys.executable, *program], env=told))
            return _watch(ranks)
        finally:
            _end(ranks)
            signal.signal(signal.SIGTERM, terminate)


def _watch(ranks: Sequence[subprocess.Popen[bytes]]) -> int:
    """Wait until all ranks have ended, or some time after one has failed; return its exit code."""
    failed, until, interrupted = 0, float("inf"), False
    while any(one.poll() is None for one in ranks) and time.monotonic() < until:
        try:
            time.sleep(_LOOK)
        except KeyboardInterrupt:  # the ranks got it too, where it came from a terminal
            interrupted, until = True, time.monotonic() + GRACE
        if not failed and (failed := _failed(ranks)):
            until = min(until, time.monotonic() + GRACE)
    return 128 + signal.SIGINT if interrupted else failed or _failed(ranks)


def _failed(ranks: Sequence[subprocess.Popen[bytes]]) -> int:
    """Return the exit code of the first rank that has failed, and say so if it was killed; 0 if none has."""
    for rank, one in enumerate(ranks):
        code = one.poll()
        if code:
            if code < 0:
                name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
                sys.stderr.write(f"qsim-ex launch: rank {rank} of {len(ranks)} was killed by {name}\n")
            return code if code > 0 else 128 - code
    return 0


def _end(ranks: Sequence[subprocess.Popen[bytes]]) -> None:
    """End the ranks that still run: first politely, so that they can say why."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        left = [one for one in ranks if one.poll() is None]
        for one in left:
            one.send_signal(how)
        until = time.monotonic() + GRACE
        for one in left:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(max(0.0, until - time.monotonic()))
