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
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

from benchmarks import machine, shares
from benchmarks.means import Means
from benchmarks.measure import PAUSE
from benchmarks.peers.base import PeerMissing
from benchmarks.shares import Shares

FORMAT = 2
"""Raised when the meaning of a field in the JSON changes."""

KINDS = ("many", "noise", "middle")
"""Kinds of results that `markdown` renders."""

OURS = "ours"

WARMUP = 3
"""Untimed calls of ours; ours alone makes kernels, after it has seen a structure three times."""

Prepare = Callable[[int], Callable[[], Any]]


@dataclass(frozen=True, eq=False)
class Call:
    """What a contestant's turn took and found; both seconds where it did two shares of the work."""

    seconds: float
    found: Any
    of_shares: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Contestant:
    """Somebody who does the work, in some variant.

    prepare: makes the call that is timed, for the number of a turn, which gives its numbers; not timed itself.
    read: what the call returned, as means that all must agree on.
    clock: seconds by the contestant's own account, where that is fairer to it than the whole call.
    shares: what is run in place of all of the work; `prepare` then makes the call with more of it, `fewer` the other.
    """

    name: str
    variant: str
    prepare: Prepare
    read: Callable[[Any], Means]
    clock: Callable[[Any], float] | None = None
    shares: Shares | None = None
    fewer: Prepare | None = None

    @classmethod
    def of_units(
        cls,
        name: str,
        variant: str,
        prepare: Callable[[int, int], Callable[[], Any]],
        read: Callable[[Any], Means],
        units: int | Shares,
        clock: Callable[[Any], float] | None = None,
    ) -> Contestant:
        """One whose call, made for a turn, has so many trajectories or shots: all of them, or two shares."""
        if isinstance(units, int):
            whole = units
            return cls(name, variant, lambda turn: prepare(turn, whole), read, clock)
        few, more = units.few, units.more
        return cls(name, variant, lambda turn: prepare(turn, more), read, clock, units, lambda turn: prepare(turn, few))

    @property
    def label(self) -> str:
        """The name in the JSON."""
        return f"{self.name}/{self.variant}"

    def call(self, turn: int) -> Call:
        """Do the work, or two shares of it, which tell how long all of it takes."""
        if self.shares is None or self.fewer is None:
            return Call(*self._timed(self.prepare(turn)))
        few, _ = self._timed(self.fewer(turn))
        more, found = self._timed(self.prepare(turn))
        return Call(shares.separated(self.shares, few, more).seconds(self.shares.whole), found, (few, more))

    def _timed(self, work: Callable[[], Any]) -> tuple[float, Any]:
        sleep(PAUSE)
        begin = perf_counter()
        found = work()
        seconds = perf_counter() - begin
        return seconds if self.clock is None else self.clock(found), found


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
    calls: dict[str, list[Call]] = {one.label: [] for one in contestants}
    errors: dict[str, str] = {}

    def call(one: Contestant, turn: int) -> Call | None:
        if one.label in errors:
            return None
        try:
            return one.call(turn)
        except Exception as error:  # noqa: BLE001 - a peer that fails must not end the table; it is reported
            errors[one.label] = f"{type(error).__name__}: {error}"
            return None

    warm: dict[str, float] = {}
    for one in contestants:
        for turn in range(WARMUP if one.name == OURS else 1):
            done = call(one, turn)
            if done is not None:
                warm[one.label] = done.seconds
    chosen = fastest(contestants, warm)
    for turn in range(WARMUP, WARMUP + repeat):
        for one in chosen[turn % len(chosen) :] + chosen[: turn % len(chosen)] if chosen else []:
            done = call(one, turn)
            if done is not None:
                calls[one.label].append(done)
    alive = [one for one in chosen if one.label not in errors]
    seconds = {one.label: [done.seconds for done in calls[one.label]] for one in alive}
    medians = {one.name: median(seconds[one.label]) for one in alive}
    return {
        "what": what,
        "seconds": seconds,
        "warm_up": warm,
        "by_two_shares": {one.label: _by_shares(one.shares, calls[one.label]) for one in alive if one.shares},
        "own_clock": [one.label for one in alive if one.clock is not None],
        "medians": medians,
        "ratios": {name: taken / medians[OURS] for name, taken in medians.items() if name != OURS and OURS in medians},
        "agreement": agreement(alive, {one.label: calls[one.label][-1].found for one in alive}),
        "errors": errors,
        "goals": [{**asdict(goal), **judged(goal, medians)} for goal in goals],
    }


def _by_shares(given: Shares, calls: Sequence[Call]) -> dict[str, Any]:
    return shares.told(given, [done.of_shares for done in calls if done.of_shares is not None])


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
    """An option to leave out Aer's branching, whose shots share work: its time is no multiple of theirs."""
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
        notes = [_noted(label, found) for label, found in one["by_two_shares"].items()]
        notes += [f"{label} by its own clock" for label in one["own_clock"]]
        lines += [f"- {one['what']}: {', '.join(notes)}"] if notes else []
        lines += [f"- FAILED: {one['what']}, {label}: {error}" for label, error in one["errors"].items()]
        for label, other in one["agreement"].items():
            if not other["agrees"]:
                lines.append(f"- WRONG: {one['what']}, {label}: {other['deviation']:.3g} standard errors apart")
    return "\n".join([*lines, ""])


def _noted(label: str, found: Mapping[str, Any]) -> str:
    few, more = found["units"]
    once, each = found["once"] * 1e3, found["each"] * 1e3
    return f"{label} from {few} and {more} of {found['of']} ({once:.3g} ms once, {each:.3g} each)"
