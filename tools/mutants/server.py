"""Runs tests in a copy of the checkout, each time in a fresh child of a process that has imported what takes long.

Its arguments name the cores that tests may take ("" for all), and what it imports first. It reads requests from
standard input, one JSON line each (tests, seconds), and answers each with one (code, by).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import math
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

MOST_BYTES = 12 << 30
"""Address space that a child may take: a mutant may ask for all memory."""

BUSY = 10
"""How many times longer than its processor time a child may take, as others use the machine too."""

IDLE_SECONDS = 30
"""How long a child may wait for what never comes."""

PYTEST = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist", "--tb=no", "-rfE")
PYTEST += (
    "-p",
    "tools.mutants.sampled",
    "--hypothesis-profile=mutants",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
)


def main() -> None:
    """Answer until nobody asks."""
    if cores := sys.argv[1]:
        os.sched_setaffinity(0, map(int, cores.split(",")))
    for name in sys.argv[2:]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()  # children need not look through what was imported here
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(answer(asked["tests"], asked["seconds"])), flush=True)


def answer(tests: Sequence[str], seconds: float) -> dict[str, object]:
    """Run tests until one fails. seconds: of a processor, that they may take.

    Returns code (0 if all pass, -1 if the time was over) and by (the test that failed, "" if none).
    """
    with tempfile.TemporaryFile() as out:
        child = os.fork()
        if not child:
            _run(tests, seconds, out.fileno())
        code = _wait(child, IDLE_SECONDS + BUSY * seconds)
        out.seek(0)
        told = out.read().decode(errors="replace")
    failed = [line.split(" ", 1)[1] for line in told.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return {"code": code, "by": failed[0].split(" - ")[0] if failed else "", "tail": told[-1500:] if code else ""}


def _run(tests: Sequence[str], seconds: float, out: int) -> None:
    os.setsid()
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))
    sys.path[:0] = [str(Path("core").resolve()), str(Path.cwd()), str(Path("tests").resolve())]
    status = 3
    try:
        import pytest

        status = int(pytest.main([*PYTEST, *tests]))
    except BaseException:  # noqa: BLE001 - told to whoever asked, by the output
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _wait(child: int, seconds: float) -> int:
    """Wait for a child, and end it and all that it began when the time is over; return its status."""
    end = time.monotonic() + seconds
    pause = 0.005
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            _end(child)
            code = os.waitstatus_to_exitcode(status)
            return -1 if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    _end(child)
    os.waitpid(child, 0)
    return -1


def _end(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
