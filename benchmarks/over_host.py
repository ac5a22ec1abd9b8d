"""Parts in host memory: ``mpirun -n 2 python -m benchmarks.over_host gpu --n 30 --device-wires 26 --out FILE``.

Each family is run over all ranks in three ways by turns: what ranks trade before a pass moves window by window while
devices work (as always), all of it before the first window, and that through the system in place of mapped memory.
Beside them rank 0 alone runs it on the same devices with windows, and without. A time is that of `Simulator.state`
until its work is done, on the slowest rank; the fastest of some runs counts. Amplitudes are compared with those of the
last way. Name ``--bind-to none`` to Open MPI, which else gives each of two ranks one core to trade with.

With --timeline one more run of the first way is told as intervals: trades on the host, and on the device copies in,
work and copies out of each window.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from mpi4py import MPI

from benchmarks import machine
from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from benchmarks.memory import give_back_pools, wait_for_all
from qsim_ex import Simulator
from qsim_ex.placement.exchange import between_ranks
from qsim_ex.placement.windows.arrivals import Arrivals
from qsim_ex.placement.windows.home import HomeWindows

FORMAT = 1
WORLD = MPI.COMM_WORLD
WATCHED = 4096
"""The amplitudes that are compared."""

RANKS = ("overlapping", "trades first", "trades first, not mapped")
ALONE = ("one process", "one process, no windows")


@contextmanager
def way(name: str) -> Iterator[None]:
    """Let ranks trade in one of the ways."""
    with ExitStack() as changes:
        if name != "overlapping":
            changes.enter_context(patch.object(Arrivals, "until", lambda self, _start: self.rest()))
        if name.endswith("not mapped"):
            changes.enter_context(patch.object(between_ranks, "SharesMemory", type(None)))
        yield


class Timeline:
    """What one rank's host and device do, as (what, number, begin, end) in milliseconds since the run began."""

    def __init__(self, gpu: bool) -> None:
        self._gpu = gpu
        self._begun = 0.0
        self._zero: Any = None
        self._marks: list[tuple[str, int, Any, Any]] = []
        self.intervals: list[tuple[str, int, float, float]] = []

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch what happens in the context."""
        bring, begun, send, make = HomeWindows._bring, HomeWindows._begun, HomeWindows.send, Arrivals._make
        open_work: dict[int, Any] = {}

        def _bring(windows: Any, frame: Any, bits: Any, fresh: int, value: int) -> None:
            before = self._event(windows._in[0])
            bring(windows, frame, bits, fresh, value)
            self._marks.append(("in", value, before, self._event(windows._in[0])))

        def _begun(windows: Any, frame: Any, value: int) -> Any:
            found = begun(windows, frame, value)
            open_work[value] = self._event(None)
            return found

        def _send(windows: Any, frame: Any, bits: Any, fresh: int, value: int) -> None:
            worked = self._event(None)
            self._marks.append(("work", value, open_work[value], worked))
            if self._gpu:
                windows._out[0]._stream.wait_event(worked)
            before = self._event(windows._out[0])
            send(windows, frame, bits, fresh, value)
            self._marks.append(("out", value, before, self._event(windows._out[0])))

        def _make(arrivals: Any, count: int) -> None:
            while arrivals._made < count:
                number, before = arrivals._made, time.perf_counter()
                make(arrivals, number + 1)
                self._marks.append(("trade", number, before, time.perf_counter()))

        self._begun = time.perf_counter()
        self._zero = self._event(None)
        changes = {"_bring": _bring, "_begun": _begun, "send": _send}
        with patch.multiple(HomeWindows, **changes), patch.object(Arrivals, "_make", _make):
            yield
        self.intervals = sorted(
            ((what, number, self._ms(begin), self._ms(end)) for what, number, begin, end in self._marks),
            key=lambda one: one[2],
        )

    def _event(self, queue: Any) -> Any:
        """Return a mark in the device's work, or in a queue of copies."""
        if not self._gpu:
            return time.perf_counter()
        import cupy

        event = cupy.cuda.Event()
        event.record(cupy.cuda.get_current_stream() if queue is None else queue._stream)
        return event

    def _ms(self, mark: Any) -> float:
        if isinstance(mark, float):
            return (mark - self._begun) * 1e3
        import cupy

        mark.synchronize()
        return float(cupy.cuda.get_elapsed_time(self._zero, mark))


class Family:
    """The states of one family, in one way."""

    def __init__(self, name: str, args: argparse.Namespace, options: dict[str, Any]) -> None:
        self._name, self._args, self.simulator = name, args, Simulator(**options)
        self._watched = np.random.default_rng(1).integers(0, 1 << args.n, WATCHED)
        self.together = options["processes"] != "never"
        self.seconds: list[float] = []
        self.amplitudes: Any = None
        self.facts: dict[str, Any] = {}

    def run(self, seed: int, wait: Any) -> None:
        """Make a state; its time counts unless it is the first one."""
        circuit = circuit_of(FAMILIES[self._name].build(self._args.n, 0), self._args.n)
        if self.together:
            WORLD.Barrier()
        begun = time.perf_counter()
        state = self.simulator.state(circuit)
        wait()
        taken = time.perf_counter() - begun
        taken = max(WORLD.allgather(taken)) if self.together else taken
        if seed:
            self.seconds.append(taken)
        if seed == self._args.repeat:
            self.amplitudes = state.amplitudes(self._watched)
            with state.placed() as placed:
                self.facts = placed.report() | {"deployment": state.where.deployment.to_json()}
            self.facts["predicted"] = self.simulator.summary(circuit).seconds
        state.close()


def measured(name: str, args: argparse.Namespace, base: dict[str, Any], gpus: int) -> dict[str, Any]:
    """Measure one family in all ways."""

    def wait() -> None:
        if gpus:
            wait_for_all(gpus)

    options = {**base, "device_wires": args.device_wires}
    several = {"devices": tuple(range(gpus))} if gpus > 1 else {}
    found = {one: Family(name, args, {**options, "processes": WORLD.size}) for one in RANKS}
    timeline = Timeline(bool(gpus))
    for turn in range(args.repeat + 1):
        for one in RANKS:
            with way(one):
                found[one].run(turn, wait)
    if args.timeline:
        with way(RANKS[0]), timeline.watched():
            found[RANKS[0]].run(args.repeat + 1, wait)
        found[RANKS[0]].seconds.pop()
    if WORLD.rank == 0:
        found[ALONE[0]] = Family(name, args, {**options, "processes": "never", **several})
        found[ALONE[1]] = Family(name, args, {**base, "processes": "never", **several})
        for one in ALONE:
            for turn in range(args.repeat + 1):
                found[one].run(turn, wait)
    if gpus:
        give_back_pools()
    WORLD.Barrier()
    right = found[ALONE[1]].amplitudes if WORLD.rank == 0 else None
    cell: dict[str, Any] = {"family": name, "seconds": {}, "facts": {}, "deviation": {}}
    for one, family in found.items():
        cell["seconds"][one], cell["facts"][one] = family.seconds, family.facts
        if right is not None:
            cell["deviation"][one] = float(np.abs(family.amplitudes - right).max() / np.abs(right).max())
    cell["timeline"] = WORLD.allgather(timeline.intervals)
    return cell


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print a table, and write JSON on rank 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.over_host", description=__doc__)
    parser.add_argument("device", choices=("cpu", "gpu"))
    parser.add_argument("--n", type=int, required=True)
    parser.add_argument("--device-wires", type=int, required=True)
    parser.add_argument("--families", nargs="+", choices=[*FAMILIES], default=["qft", "grid", "brick", "qv"])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--timeline", action="store_true")
    parser.add_argument("--commit")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(argv)
    base: dict[str, Any] = {"device": args.device, "precision": "single"}
    gpus = 0
    if args.device == "gpu":
        import cupy

        base["compile"], gpus = "always", min(cupy.cuda.runtime.getDeviceCount(), WORLD.size)
        cupy.cuda.Device(WORLD.rank % gpus).use()
    found = {
        "format": FORMAT,
        "kind": "over_host",
        "arguments": {key: str(value) for key, value in vars(args).items() if key not in ("out", "commit")},
        "ranks": WORLD.size,
        "gpus": gpus,
        "commit": args.commit,
        "machine": machine.describe(),
        "cells": [measured(name, args, base, gpus) for name in args.families],
    }
    if WORLD.rank == 0:
        for cell in found["cells"]:
            print(told(cell), flush=True)
        if args.out:
            args.out.write_text(json.dumps(found, indent=1) + "\n")


def told(cell: dict[str, Any]) -> str:
    """Return a family's times, and its timeline, in words."""
    best = {one: min(times) for one, times in cell["seconds"].items()}
    lines = [f"{cell['family']}: sent {cell['facts'][RANKS[0]]['bytes_sent']}"]
    for one, seconds in best.items():
        facts = cell["facts"][one]
        lines.append(
            f"  {one:26} {seconds * 1e3:9.1f} ms  predicted {facts['predicted'] * 1e3:9.1f}  deviation "
            f"{cell['deviation'][one]:.0e}  {facts.get('host_memory_kind', '')} {facts.get('device_memory', '')}"
        )
    if intervals := cell["timeline"][0]:
        trades = [(begin, end) for what, _, begin, end in intervals if what == "trade"]
        device = [(begin, end) for what, _, begin, end in intervals if what != "trade"]
        hidden = sum(_covered(trade, device) for trade in trades)
        total = sum(end - begin for begin, end in trades)
        lines.append(
            f"  {len(trades)} trades of one window take {total:.1f} ms, {hidden:.1f} of them while the device is busy"
        )
    return "\n".join(lines)


def _covered(span: tuple[float, float], others: Sequence[tuple[float, float]]) -> float:
    """Return how much of a span lies in others, which may overlap each other."""
    found, at = 0.0, span[0]
    for begin, end in sorted(others):
        begin, end = max(begin, at), min(end, span[1])
        if end > begin:
            found, at = found + end - begin, end
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
