"""Calls in turn: the contestants, the agreement of their results, and the goals that are met.

`measure` does this for one state, this module for batches: a call has thousands of states, and its results are shots or
expectation values, on which all must agree within statistical bounds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import machine
from benchmarks.measure import PAUSE
from benchmarks.peers.base import PeerMissing

FORMAT = 1
"""Raised when the meaning of a field in the JSON changes."""

KINDS = ("many", "noise", "middle")
"""Kinds of results that `markdown` renders."""

OURS = "ours"

WARMUP = 3
"""Untimed calls of ours; ours alone makes kernels, after it has seen a structure three times."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Means:
    """What a call found, as estimates with their standard errors: float64 arrays of one shape."""

    values: Floats
    errors: Floats

    @classmethod
    def of_bits(cls, bits: NDArray[Any]) -> Means:
        """Means over shots of every bit and of every two neighbours' parity; bits: 0 and 1, [..., shots, bits]."""
        every = np.concatenate([bits, bits ^ np.roll(bits, 1, axis=-1)], axis=-1)
        shots = every.shape[-2]
        likely = (every.sum(axis=-2) + 1) / (shots + 2)  # never 0 or 1, so that no error is 0
        return cls(every.mean(axis=-2), np.sqrt(likely * (1 - likely) / shots))

    @classmethod
    def exact(cls, values: NDArray[Any], tolerance: float = 1e-4) -> Means:
        """Numbers that nothing is left to chance in, but for rounding."""
        return cls(np.asarray(values, dtype=np.float64), np.full(np.shape(values), tolerance))

    def deviation(self, other: Means) -> float:
        """The root mean square of the differences, in standard errors; of the first ones where one has fewer."""
        count = min(len(self.values), len(other.values))
        differences = self.values[:count] - other.values[:count]
        errors = np.hypot(self.errors[:count], other.errors[:count])
        return float(np.sqrt(np.mean((differences / errors) ** 2)))

    def allowed(self) -> float:
        """How much a deviation may be: about 1 for many independent means, more for few; means are correlated."""
        return 1 + 10 / sqrt(self.values.size)


@dataclass(frozen=True, eq=False)
class Contestant:
    """Somebody who does the work, in some variant.

    prepare: makes the call that is timed, for the number of a turn, which gives its numbers; not timed itself.
    read: what the call returned, as means that all must agree on.
    clock: seconds by the contestant's own account, where that is fairer to it than the whole call.
    share: how much of the work one call does. The time of all of it is taken to be as many times as long.
    """

    name: str
    variant: str
    prepare: Callable[[int], Callable[[], Any]]
    read: Callable[[Any], Means]
    clock: Callable[[Any], float] | None = None
    share: float = 1.0

    @property
    def label(self) -> str:
        """The name in the JSON."""
        return f"{self.name}/{self.variant}"

    def call(self, turn: int) -> tuple[float, Any]:
        """Seconds that all of the work takes, and what came out of this share."""
        work = self.prepare(turn)
        sleep(PAUSE)
        begin = perf_counter()
        found = work()
        seconds = perf_counter() - begin
        return (seconds if self.clock is None else self.clock(found)) / self.share, found


@dataclass(frozen=True)
class Within:
    """The goal that ours takes at most this time."""

    seconds: float


@dataclass(frozen=True)
class Times:
    """The goal that the peer takes at least this multiple of our time."""

    peer: str
    least: float


Goal = Within | Times


def judged(goal: Goal, medians: Mapping[str, float]) -> dict[str, Any]:
    """Return a goal with its figure; `met` is None if a contestant is missing. medians: by name."""
    ours = medians.get(OURS)
    match goal:
        case Within(seconds):
            words = f"at most {seconds * 1e3:g} ms"
            found = None if ours is None else f"{ours * 1e3:.4g} ms"
            met = None if ours is None else ours <= seconds
        case Times(peer, least):
            words = f"{peer} / ours at least {least:g}"
            ratio = None if ours is None or peer not in medians else medians[peer] / ours
            found = None if ratio is None else f"{ratio:.2f}"
            met = None if ratio is None else ratio >= least
    return {"goal": words, "found": found, "met": met}


def gathered(makers: Mapping[str, Callable[[], Sequence[Contestant]]], missing: dict[str, str]) -> list[Contestant]:
    """Return the contestants that can run here; the others' errors are written to `missing`."""
    found: list[Contestant] = []
    for name, make in makers.items():
        try:
            found += make()
        except (ImportError, PeerMissing) as error:
            missing[name] = str(error)
            print(f"skipped {name}: {error}", file=sys.stderr)
    return found


def row(what: str, contestants: Sequence[Contestant], goals: Sequence[Goal], repeat: int) -> dict[str, Any]:
    """Measure one row of the table: warm everybody up, then take turns, a different one first each time.

    Of several variants of one name the fastest in the warm-up goes on; the others' warm-up is kept in the JSON.
    A contestant that raises an error takes no further part, and the error is kept too.
    """
    seconds: dict[str, list[float]] = {one.label: [] for one in contestants}
    errors: dict[str, str] = {}
    found: dict[str, Any] = {}

    def call(one: Contestant, turn: int) -> float | None:
        if one.label in errors:
            return None
        try:
            taken, found[one.label] = one.call(turn)
        except Exception as error:  # noqa: BLE001 - a peer that fails must not end the table; it is reported
            errors[one.label] = f"{type(error).__name__}: {error}"
            return None
        return taken

    warm: dict[str, float] = {}
    for one in contestants:
        for turn in range(WARMUP if one.name == OURS else 1):
            taken = call(one, turn)
            if taken is not None:
                warm[one.label] = taken
    chosen = fastest(contestants, warm)
    for turn in range(WARMUP, WARMUP + repeat):
        for one in chosen[turn % len(chosen) :] + chosen[: turn % len(chosen)] if chosen else []:
            taken = call(one, turn)
            if taken is not None:
                seconds[one.label].append(taken)
    alive = [one for one in chosen if one.label not in errors]
    medians = {one.name: median(seconds[one.label]) for one in alive}
    return {
        "what": what,
        "seconds": {one.label: seconds[one.label] for one in alive},
        "warm_up": warm,
        "shares": {one.label: one.share for one in alive if one.share != 1},
        "own_clock": [one.label for one in alive if one.clock is not None],
        "medians": medians,
        "ratios": {name: taken / medians[OURS] for name, taken in medians.items() if name != OURS and OURS in medians},
        "agreement": agreement(alive, found),
        "errors": errors,
        "goals": [{**asdict(goal), **judged(goal, medians)} for goal in goals],
    }


def fastest(contestants: Sequence[Contestant], warm: Mapping[str, float]) -> list[Contestant]:
    """The fastest variant of each name among those that were able to warm up."""
    best: dict[str, Contestant] = {}
    for one in contestants:
        if one.label in warm and (one.name not in best or warm[one.label] < warm[best[one.name].label]):
            best[one.name] = one
    return list(best.values())


def agreement(contestants: Sequence[Contestant], found: Mapping[str, Any]) -> dict[str, Any]:
    """How far the last turns of all others are from that of the first one, and whether that is by chance."""
    if not contestants:
        return {}
    first = contestants[0].read(found[contestants[0].label])
    result = {}
    for other in contestants[1:]:
        means = other.read(found[other.label])
        deviation, allowed = first.deviation(means), means.allowed()
        result[other.label] = {"deviation": deviation, "allowed": allowed, "agrees": deviation <= allowed}
    return result


def common(parser: argparse.ArgumentParser, repeat: int) -> None:
    """The options that all these commands have."""
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="where our circuits run")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="CPU threads of everybody")
    parser.add_argument("--repeat", type=int, default=repeat, help="turns that count")
    parser.add_argument("--rows", nargs="+", help="measure these rows only; default: all")
    parser.add_argument("--commit", help="default: what git says; name it where there is no git")
    parser.add_argument("--out", type=Path, help="the JSON file to write")


def without_branching(parser: argparse.ArgumentParser) -> None:
    """An option to leave out Aer's branching, which cannot be given a share of the work."""
    parser.add_argument("--no-branching", dest="branching", action="store_false", help="leave out Aer's branching")


def document(kind: str, given: argparse.Namespace) -> dict[str, Any]:
    """Everything but the rows that a reader needs to believe or repeat the figures."""
    options = {name: value for name, value in vars(given).items() if name not in ("out", "commit")}
    head = {"format": FORMAT, "kind": kind, "options": options, "commit": given.commit or machine.commit()}
    missing = {} if options.get("branching", True) else {"aer/branching": "left out by --no-branching"}
    return {**head, "machine": machine.describe(), "missing": missing, "rows": []}


def add(made: dict[str, Any], one: dict[str, Any], out: Path | None) -> None:
    """Print a row that was measured, and write all so far: an hour of measuring should survive a crash."""
    made["rows"].append(one)
    figures = ", ".join(f"{name} {taken * 1e3:.4g} ms" for name, taken in one["medians"].items())
    print(f"{one['what']}: {figures}", file=sys.stderr, flush=True)
    if out:
        out.write_text(json.dumps(made, indent=1) + "\n")


def finish(made: Mapping[str, Any]) -> int:
    """Print the table; return 1 if a goal is missed, somebody failed or did not agree, 2 if there is nothing."""
    print(markdown(made))
    if not made["rows"]:
        return 2
    missed = any(goal["met"] is False for one in made["rows"] for goal in one["goals"])
    apart = any(not other["agrees"] for one in made["rows"] for other in one["agreement"].values())
    return int(missed or apart or any(one["errors"] for one in made["rows"]))


def markdown(made: Mapping[str, Any]) -> str:
    """The table, with where and how it was measured above it and what went wrong below it."""
    where, options = made["machine"], made["options"]
    on = where["gpu"]["name"] if options["device"] == "gpu" and where["gpu"] else where["cpu"]
    lines = [f"{on}, {options['threads']} threads, {where['date']}, commit {made['commit']}."]
    lines += [f"Medians of {options['repeat']} in ms, in brackets the peer's over ours.", ""]
    lines += ["| what | ours | peers | goal | found | met |", "| --- " * 6 + "|"]
    for one in made["rows"]:
        labels = {label.split("/")[0]: label for label in one["seconds"]}
        peers = ", ".join(
            f"{labels[name]} {taken * 1e3:.4g}" + (f" ({one['ratios'][name]:.2f}×)" if name in one["ratios"] else "")
            for name, taken in one["medians"].items()
            if name != OURS
        )
        ours = f"{one['medians'][OURS] * 1e3:.4g}" if OURS in one["medians"] else "–"
        for goal in one["goals"] or [{"goal": "none", "found": None, "met": None}]:
            met = {True: "yes", False: "**no**", None: "–"}[goal["met"]]
            lines.append(
                f"| {one['what']} | {ours} | {peers or '–'} | {goal['goal']} | {goal['found'] or '–'} | {met} |"
            )
    lines += ["", *(f"- not measured: {name}: {reason}" for name, reason in made["missing"].items())]
    for one in made["rows"]:
        shares = [f"{label} did {share:.3g} of the work" for label, share in one["shares"].items()]
        clocks = [f"{label} by its own clock" for label in one["own_clock"]]
        lines += [f"- {one['what']}: {', '.join(shares + clocks)}"] if shares or clocks else []
        lines += [f"- FAILED: {one['what']}, {label}: {error}" for label, error in one["errors"].items()]
        for label, other in one["agreement"].items():
            if not other["agrees"]:
                lines.append(f"- WRONG: {one['what']}, {label}: {other['deviation']:.3g} standard errors apart")
    return "\n".join([*lines, ""])
