"""A plugin of pytest: a few cases of each test, each for a limited time, without what takes long anyway.

$MUTANTS_REACH names a file: then the lines of the product that each test reaches are written to it (see `reach`).
"""

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest
from hypothesis import Phase, settings

from tools.mutants import reach

CASES = int(os.environ.get("MUTANTS_CASES", "3"))
"""How many cases of a test that has many."""

SECONDS = float(os.environ.get("MUTANTS_SECONDS", "4"))
"""How much of a processor's time one case may take, however busy the machine is."""

PROFILE = "mutants"

TOO_LONG = 124
"""The status with which a run of tests ends of which one takes too long."""

# Found once is enough: no shrinking. The same examples each time, so that what passes now passes again.
settings.register_profile(
    PROFILE, max_examples=10, derandomize=True, deadline=None, phases=(Phase.explicit, Phase.generate), database=None
)

REACH = "MUTANTS_REACH"
"""The variable of the environment that names the file for what tests reach."""

CORES = "MUTANTS_CORES"
"""That which names the cores on which they run, with commas."""

if CORES in os.environ:
    os.sched_setaffinity(0, map(int, os.environ[CORES].split(",")))
_noted = reach.Noting(os.environ[REACH]) if REACH in os.environ else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep some cases of each test, spread evenly, and none that is marked as slow or for GPUs."""
    if not (config.args and any("::" in name for name in config.args)):  # those asked for by name are all wanted
        kept = set(map(id, _sample(items)))
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
        items[:] = [item for item in items if id(item) in kept]


def _sample(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not any(item.get_closest_marker(name) for name in ("slow", "gpu")):
            cases[item.nodeid.split("[")[0]].append(item)
    for found in cases.values():
        count = min(CASES, len(found))
        yield from (found[k * len(found) // count] for k in range(count))


def _stop(_signal: int, _frame: FrameType | None) -> None:
    if _noted:
        pytest.skip(f"takes more than {SECONDS} s")
    os._exit(TOO_LONG)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Run one case, until its time is over."""
    began = time.perf_counter()
    if _noted:
        _noted.begin(item.nodeid)
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if _noted:
            _noted.end(item.nodeid, time.perf_counter() - began)


def pytest_runtest_logreport(report: Any) -> None:
    """Note what did not pass: it says nothing of a mutant."""
    if _noted and (report.failed or report.skipped):
        _noted.drop(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write what was noted."""
    if _noted:
        _noted.write()
