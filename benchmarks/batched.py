"""Many states of one structure: ``python -m benchmarks.batched [--device cpu] [--out FILE.json]``.

*Gates*: 200 gates on 16 qubits for 256 states whose angles all differ, beside cuStateVec's batched gates where they are
installed: all in turn, a different one first each time. The time of cuStateVec includes setting to zero, gates and
synchronising; ours also includes binding the numbers and sending them to the device. Medians are compared.
*Shots*: 1,000 circuits of 10 qubits (efficient SU2), 100 shots of each; binding, loading, running and drawing are timed
separately.

Two states of the last repetition, the first and the last, are compared with the oracle; the exit code is 1 if one is
wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import machine
from benchmarks.dense import relative_error, simulate
from benchmarks.engine import circuit_of
from benchmarks.families import su2
from benchmarks.gates import Gate
from benchmarks.measure import PAUSE
from benchmarks.peers.base import COMPLEX, PeerMissing, Precision
from benchmarks.peers.custatevec_batched import BatchedSession, GpuMemory
from qsim_ex.devices import discover
from qsim_ex.observe.sampling import draw_rows
from qsim_ex.placement.batch import Batch
from qsim_ex.planning.coefficients.binding import fill_batch
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout

_STRUCTURE = 11
"""Seed of the gates' names and wires, which never change."""

_TOLERANCE = {"single": 1e-5, "double": 1e-12}


def mixed(wires: int, gates: int, seed: int) -> list[Gate]:
    """Rotations, CX, CZ and RZZ on random wires; the seed gives the angles."""
    rng, angles = np.random.default_rng(_STRUCTURE), np.random.default_rng([_STRUCTURE, seed])
    made = []
    for _ in range(gates):
        name = ("rx", "ry", "rz", "cx", "cz", "rzz")[rng.integers(6)]
        on = tuple(int(wire) for wire in rng.permutation(wires)[: 2 if name in ("cx", "cz", "rzz") else 1])
        made.append(Gate(name, on, () if name in ("cx", "cz") else (float(angles.uniform(-3, 3)),)))
    return made


class OurBatch:
    """States on one of our devices; each part of a run is timed by itself."""

    def __init__(self, device: Any, wires: int, states: int, precision: Precision) -> None:
        self._device, self._wires, self._states = device, wires, states
        self._dtype = np.dtype(COMPLEX[precision])
        self._plan: Any = None
        self._operands: Any = None
        self.batch: Any = None

    def load(self, circuits: Sequence[Sequence[Gate]]) -> None:
        """Build one circuit for each state; not timed, as for everybody."""
        made = [circuit_of(gates, self._wires) for gates in circuits]
        self._operands = np.concatenate([circuit.operands for circuit in made])
        fresh = (1 << self._wires) - 1 if self._device.grows else 0
        shape, start = self._device.shape(self._dtype), Layout.identity(self._wires)
        self._plan = make_plan(made[0].instructions, self._wires, start, shape, fresh)

    @property
    def steps(self) -> int:
        """How many steps the plan has."""
        return len(self._plan.steps)

    def run(self) -> dict[str, float]:
        """Seconds of each part."""
        seconds: dict[str, float] = {}

        def timed(name: str, work: Callable[[], Any]) -> Any:
            begin = perf_counter()
            found = work()
            self._device.synchronize()
            seconds[name] = perf_counter() - begin
            return found

        device, plan = self._device, self._plan
        bound = timed("bind", lambda: fill_batch(plan.coefficients, self._operands))
        prepared = device.prepare_batch(plan.steps, self._wires, self._dtype)
        numbers = timed("load", lambda: device.load_batch(prepared, bound))

        def whole() -> None:
            self.batch = Batch(device, self._wires, self._states, self._dtype)
            self.batch.run(plan, [(prepared, numbers)], lambda: None)

        timed("run", whole)
        return seconds

    def draw(self, shots: int) -> float:
        """Seconds of drawing shots of every state."""
        rows = np.repeat(np.arange(self._states), shots)
        numbers = np.random.default_rng(1).random(len(rows))
        begin = perf_counter()
        found = draw_rows(self.batch, rows, numbers)
        seconds = perf_counter() - begin
        assert found.shape == rows.shape
        return seconds

    def row(self, state: int) -> NDArray[Any]:
        """All amplitudes of one state."""
        placement = self.batch.row(state)
        size = 1 << self._wires
        return np.asarray(placement.read(0, size, range(self._wires)))


def deviation(rows: dict[int, NDArray[Any]], circuits: Sequence[Sequence[Gate]], wires: int) -> float:
    """The largest relative error of some states."""
    return max(relative_error(row, simulate(circuits[state], wires)) for state, row in rows.items())


def gates_cell(device: Any, peer: BatchedSession | None, given: argparse.Namespace) -> dict[str, Any]:
    """The same gates on many states, ours and the peer's in turn."""
    wires, states = given.n, given.states
    ours = OurBatch(device, wires, states, given.precision)
    parts: list[dict[str, float]] = []
    theirs: list[float] = []
    uploads: list[float] = []
    circuits: list[list[Gate]] = []

    def our_turn(counts: bool) -> None:
        ours.load(circuits)
        ours.run()
        found = ours.run()
        if counts:
            parts.append(found)

    def their_turn(counts: bool) -> None:
        if peer is None:
            return
        upload = peer.load(circuits)
        peer.run()
        seconds = peer.run()
        if counts:
            uploads.append(upload)
            theirs.append(seconds)

    for turn in range(-2, given.repeat):  # two to warm up; kernels are compiled at the third run
        circuits[:] = [mixed(wires, given.gates, (turn + 2) * states + state) for state in range(states)]
        turns = [our_turn, their_turn]
        for work in turns[turn % 2 :] + turns[: turn % 2]:
            sleep(PAUSE)
            work(turn >= 0)
    watch = sorted({0, states - 1})
    deviations = {"ours": deviation({state: ours.row(state) for state in watch}, circuits, wires)}
    totals = [sum(found.values()) for found in parts]
    cell = {
        "what": "gates", "wires": wires, "states": states, "gates": given.gates, "precision": given.precision,
        "steps": ours.steps, "parts": {name: median(found[name] for found in parts) for name in parts[0]},
        "seconds": totals, "median": median(totals),
    }  # fmt: skip
    if peer is not None:
        deviations["custatevec"] = deviation({state: peer.row(state) for state in watch}, circuits, wires)
        cell |= {"peer": {"seconds": theirs, "median": median(theirs), "upload": median(uploads)}}
        cell |= {"ratio": median(theirs) / median(totals)}
    return cell | _judged(deviations, given.precision)


def shots_cell(device: Any, given: argparse.Namespace) -> dict[str, Any]:
    """Many small circuits, and shots of each."""
    wires, rows = given.small, given.rows
    ours = OurBatch(device, wires, rows, given.precision)
    parts: list[dict[str, float]] = []
    circuits: list[list[Gate]] = []
    for turn in range(-2, given.repeat):
        circuits = [su2(wires, (turn + 2) * rows + row) for row in range(rows)]
        ours.load(circuits)
        ours.run()
        found = ours.run()
        found["draw"] = ours.draw(given.shots)
        if turn >= 0:
            parts.append(found)
    deviations = {"ours": deviation({row: ours.row(row) for row in sorted({0, rows - 1})}, circuits, wires)}
    totals = [sum(found.values()) for found in parts]
    cell = {
        "what": "shots", "wires": wires, "states": rows, "gates": len(circuits[0]), "shots": given.shots,
        "precision": given.precision, "steps": ours.steps,
        "parts": {name: median(found[name] for found in parts) for name in parts[0]},
        "seconds": totals, "median": median(totals),
    }  # fmt: skip
    return cell | _judged(deviations, given.precision)


def _judged(deviations: dict[str, float], precision: str) -> dict[str, Any]:
    """The deviations, and whether all are within rounding."""
    return {"deviations": deviations, "correct": all(found < _TOLERANCE[precision] for found in deviations.values())}


def told(cell: dict[str, Any]) -> str:
    """A cell in one line."""
    parts = ", ".join(f"{name} {seconds * 1e3:.3f}" for name, seconds in cell["parts"].items())
    line = f"{cell['states']} states of {cell['wires']} qubits, {cell['gates']} gates, ms: {parts}"
    if "peer" in cell:
        line += f"; cuStateVec {cell['peer']['median'] * 1e3:.3f}, ratio {cell['ratio']:.2f}"
    return line if cell["correct"] else f"{line}; WRONG: {cell['deviations']}"


def peer_of(given: argparse.Namespace) -> BatchedSession | None:
    """The peer, where it is installed and our device is a GPU."""
    if given.device == "cpu":
        return None
    from benchmarks.peers.custatevec_library import Library

    try:
        return BatchedSession(Library(), given.n, given.states, given.precision, GpuMemory())
    except PeerMissing as error:
        print(f"skipped {error}")
        return None


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write; return 1 if a state is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batched", description=__doc__)
    parser.add_argument("--device", choices=("cpu", "gpu"), default="gpu", help="on a CPU ours alone is measured")
    parser.add_argument("--n", type=int, default=16, help="qubits of the circuit with many gates")
    parser.add_argument("--states", type=int, default=256)
    parser.add_argument("--gates", type=int, default=200)
    parser.add_argument("--small", type=int, default=10, help="qubits of the circuits that are sampled")
    parser.add_argument("--rows", type=int, default=1000, help="how many of these")
    parser.add_argument("--shots", type=int, default=100, help="of each")
    parser.add_argument("--precision", choices=("single", "double"), default="single")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--commit", help="default: what git says; name it where there is no git")
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    given = parser.parse_args(argv)
    device = discover.cpu() if given.device == "cpu" else discover.gpu(0)
    peer = peer_of(given)
    try:
        cells = [gates_cell(device, peer, given)]
    finally:
        if peer is not None:
            peer.close()
    cells.append(shots_cell(device, given))
    for cell in cells:
        print(told(cell))
    if given.out:
        found = {"kind": "batched", "device": given.device, "commit": given.commit or machine.commit()}
        given.out.write_text(json.dumps({**found, "machine": machine.describe(), "cells": cells}, indent=1) + "\n")
    return int(not all(cell["correct"] for cell in cells))


if __name__ == "__main__":
    sys.exit(main())
