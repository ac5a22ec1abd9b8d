"""Checks cases one after the other, in one process or several, and gathers what was found."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from tools.fuzz.case import Case
from tools.fuzz.kinds import drawn, kinds
from tools.fuzz.options import machine

HERE = Path(__file__).parent

SECONDS = 240
"""What takes longer never ends: a case takes some milliseconds, or seconds where kernels are compiled."""

CHUNK = 50
"""Cases that a process takes at a time, and fewer where that would be more than a quarter of its share."""

MET: dict[str, int] = {}
"""The sides of thresholds on which this process was so far: see `tools.fuzz.sides`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case: what differs or was raised, or why the product refused it."""

    kind: str
    trouble: str | None = None
    refusal: str | None = None


@contextmanager
def limited() -> Iterator[None]:
    """Raise `TimeoutError` where a case takes too long; in the main thread of systems that have alarms."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(_signal: int, _frame: Any) -> None:
        raise TimeoutError(f"not done after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome_of(case: Case) -> Outcome:
    """Check a case; an exception is trouble, unless the product says that it does not support what was asked."""
    from qsim_ex import thresholds
    from qsim_ex.errors import NotSupported
    from tools.fuzz.sides import watched

    others = thresholds.instead(**case.ask.get("thresholds", {}))
    try:
        with limited(), others, watched(MET), machine(case.ask.get("machine", 0), case.ask.get("without", ())):
            return Outcome(case.kind, kinds((case.kind,))[case.kind].check(case))
    except NotSupported as error:
        return Outcome(case.kind, refusal=f"{error}"[:200])
    except Exception as error:  # noqa: BLE001  (whatever it is, it is a finding)
        frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).parent != HERE]
        place = f" at {Path(frames[-1].filename).name}:{frames[-1].name}" if frames else ""
        return Outcome(case.kind, f"{type(error).__name__}{place}: {error}"[:600])


@dataclass(frozen=True, slots=True)
class Found:
    """A case that failed, by its seed."""

    seed: int
    kind: str
    trouble: str


@dataclass(slots=True)
class Tally:
    """What many cases came to."""

    cases: int = 0
    seconds: float = 0.0
    by_kind: Counter[str] = field(default_factory=Counter)
    by_device: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)
    met: dict[str, int] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Count what another process did."""
        self.cases += other.cases
        self.by_kind += other.by_kind
        self.by_device += other.by_device
        self.refused += other.refused
        self.refusals += other.refusals
        self.found += other.found
        for name, sides in other.met.items():
            self.met[name] = self.met.get(name, 0) | sides

    def line(self) -> str:
        """All of it in one line."""
        each = ", ".join(f"{name} {count}" for name, count in sorted(self.by_kind.items()))
        return (
            f"{self.cases} circuits in {self.seconds:.0f} s ({each}); {sum(self.refused.values())} refused; "
            f"{len(self.found)} failures"
        )

    def ways_not_taken(self) -> list[str]:
        """The thresholds that were never met on one of their sides."""
        from tools.fuzz.sides import missed

        return missed(self.met)

    def to_json(self) -> dict[str, Any]:
        """All of it, as what JSON can hold."""
        return {
            "circuits": self.cases,
            "seconds": round(self.seconds, 1),
            "kinds": dict(self.by_kind),
            "devices": dict(self.by_device),
            "refused": dict(self.refused),
            "refusals": dict(self.refusals),
            "ways not taken": self.ways_not_taken(),
            "failures": [{"case": one.seed, "kind": one.kind, "trouble": one.trouble} for one in self.found],
        }


def quiet() -> None:
    """Silence what frameworks say about their own gates and noise models."""
    warnings.simplefilter("ignore")
    logging.getLogger("qiskit_aer").setLevel(logging.ERROR)


def work(seeds: range, only: tuple[str, ...]) -> Tally:
    """Check the cases of some seeds."""
    quiet()
    tally = Tally()
    for seed in seeds:
        case = drawn(seed, only)
        outcome = outcome_of(case)
        tally.cases += 1
        tally.by_device[case.options.get("device", "cpu")] += 1
        tally.by_kind[outcome.kind] += 1
        if outcome.refusal is not None:
            tally.refused[outcome.kind] += 1
            tally.refusals[f"{outcome.kind}: {outcome.refusal[:80]}"] += 1
        if outcome.trouble is not None:
            tally.found.append(Found(seed, outcome.kind, outcome.trouble))
    tally.met = dict(MET)
    return tally


def many(
    seed: int, count: int | None, seconds: float | None, processes: int, only: tuple[str, ...], most: int
) -> Iterator[Tally]:
    """Check cases until a count, a time, or a number of failures is reached; gives the sum so far, piece by piece."""
    total, began = Tally(), time.perf_counter()
    for piece in _pieces(seed, count, seconds, processes, only):
        total.add(piece)
        total.seconds = time.perf_counter() - began
        yield total
        if len(total.found) >= most:
            return


def _pieces(
    seed: int, count: int | None, seconds: float | None, processes: int, only: tuple[str, ...]
) -> Iterator[Tally]:
    chunk = CHUNK if count is None else max(1, min(CHUNK, count // (4 * processes)))
    ranges = _ranges(seed, count, seconds, chunk)
    if processes == 1:
        for some in ranges:
            yield work(some, only)
        return
    # Fresh processes: numeric libraries and GPUs do not survive a fork.
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(work, some, only) for some in islice(ranges, 2 * processes)]
        try:
            while waiting:
                yield waiting.pop(0).result()
                following = next(ranges, None)
                if following is not None:
                    waiting.append(pool.submit(work, following, only))
        finally:
            for one in waiting:
                one.cancel()


def _ranges(seed: int, count: int | None, seconds: float | None, chunk: int) -> Iterator[range]:
    began, at = time.perf_counter(), 0
    while (count is None or at < count) and (seconds is None or time.perf_counter() - began < seconds):
        end = at + chunk if count is None else min(at + chunk, count)
        yield range(seed + at, seed + end)
        at = end
