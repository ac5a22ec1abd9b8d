"""Whole jobs of `QsimExBackend` in the bases of machines, as circuits came and as they are written out of their forms:

    python -m benchmarks.bases [--device gpu] [--wires 20] [--threads 1] [--mqt] --out bases.json

A job is 1,000 shots of one circuit, timed from the call of ``run`` to its counts. Each circuit runs first in a new
backend, and then in turns with the other way; printed are the first runs and the medians of later ones, and for each
basis the time over that of the circuit as it is written. Circuits are transpiled beforehand. With --mqt these are the
algorithms of MQT Bench, for which nothing here was tuned. ``mpirun -n 4 python -m benchmarks.bases --processes 4``
divides the states over four processes, the first of which prints.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter
from typing import Literal, NamedTuple
from unittest.mock import patch

import numpy as np
from qiskit import QuantumCircuit, transpile

from benchmarks import machine
from benchmarks.forms import LARGE
from benchmarks.warm import qiskit_circuit
from qsim_ex.comm.connection import current
from qsim_ex.run import pipeline
from qsim_ex_provider import QsimExBackend
from tools.golden_counts import FAMILIES

BASES: dict[str, tuple[str, ...] | None] = {
    "as": None,
    "cx": ("rz", "sx", "x", "cx"),
    "cz": ("rz", "sx", "x", "cz"),
    "r cz": ("r", "cz"),
}
SHOTS, TURNS = 1000, 4
Device = Literal["cpu", "gpu"]


class Where(NamedTuple):
    """The options of a backend that say where it runs."""

    device: Device
    threads: int | None
    processes: int | Literal["never"]


class Times(NamedTuple):
    """Milliseconds of a job: of its first run, and the median of later ones; and what the result says of it."""

    first: float
    later: float
    written: bool


def families(wires: int) -> Iterator[tuple[str, QuantumCircuit]]:
    """Yield the families of the planner's counts."""
    for name, family in FAMILIES.items():
        if name not in LARGE:
            yield name, qiskit_circuit(family(wires), wires)


def algorithms(wires: int) -> Iterator[tuple[str, QuantumCircuit]]:
    """Yield the algorithms of MQT Bench that have so many qubits, without their measurements."""
    from mqt.bench import BenchmarkLevel, get_benchmark
    from mqt.bench.benchmarks import get_available_benchmark_names

    for name in get_available_benchmark_names():
        try:
            made = get_benchmark(name, BenchmarkLevel.ALG, wires)
        except Exception as error:  # noqa: BLE001 - whatever keeps it from having so many
            print(f"{name}: {error}", flush=True)
            continue
        made.remove_final_measurements()
        if made.num_qubits == wires:
            yield name, made.assign_parameters(np.linspace(0.1, 3, made.num_parameters))


def job(circuit: QuantumCircuit, basis: str) -> QuantumCircuit:
    """Return a circuit in a basis, with a measurement of all wires."""
    gates = BASES[basis]
    made = circuit if gates is None else transpile(circuit, basis_gates=list(gates), optimization_level=1)
    measured = made.copy()
    measured.measure_all()
    return measured


def times(circuit: QuantumCircuit, where: Where) -> tuple[Times, Times]:
    """Return the times of a circuit as it came, and where what is written out may run in its place.

    On a GPU all kernels are compiled after the first runs.
    """
    backends = [QsimExBackend(precision="single", **where._asdict()) for _ in range(2)]
    found: list[list[float]] = [[], []]
    facts = [False, False]
    for turn in range(1 + TURNS):
        for k, backend in enumerate(backends):
            if where.device == "gpu" and turn == 1:
                backend.set_options(compile="always")
            with nullcontext() if k else patch.object(pipeline, "written_out", lambda *_, **__: None):
                begin = perf_counter()
                result = backend.run(circuit, shots=SHOTS).result()
                result.get_counts()
                found[k].append(1e3 * (perf_counter() - begin))
            facts[k] = "as Pauli rotations" in str(result.to_dict())
    came, written = (Times(each[0], median(each[1:]), fact) for each, fact in zip(found, facts, strict=True))
    return came, written


def rows(circuits: Iterator[tuple[str, QuantumCircuit]], bases: Sequence[str], where: Where) -> list[dict[str, object]]:
    """Return a row for each circuit and basis, and print it."""
    out: list[dict[str, object]] = []
    for name, circuit in circuits:
        for basis in bases:
            came, written = times(job(circuit, basis), where)
            out.append({"name": name, "basis": basis, "came": came._asdict(), "written": written._asdict()})
            print(
                f"{name:16} {basis:5} first {came.first:8.1f} → {written.first:8.1f} ms, later {came.later:8.1f} → "
                f"{written.later:8.1f} ms{' as rotations' * written.written}",
                flush=True,
            )
    return out


def summary(found: Sequence[dict[str, object]]) -> dict[str, object]:
    """Return for each basis the mean and the worst of later times over the time as it is written, both ways."""
    later = {
        (way, row["name"], row["basis"]): row[way]["later"]  # type: ignore[index]
        for row in found
        for way in ("came", "written")
    }
    out: dict[str, object] = {}
    for way in ("came", "written"):
        for basis in {row["basis"] for row in found} - {"as"}:
            ratios = [
                time / later[way, name, "as"]
                for (one, name, where), time in later.items()
                if one == way and where == basis
            ]
            out[f"{way}, {basis}"] = {"mean": geometric_mean(ratios), "worst": max(ratios)}
    return out


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wires", type=int, default=20)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--mqt", action="store_true")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--bases", nargs="*", choices=BASES, default=list(BASES))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.processes and current().rank:
        with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
            measure(given)
        return
    found = measure(given)
    told = summary(found)
    print(json.dumps(told, indent=1))
    if given.out:
        about = {name: vars(given)[name] for name in ("device", "wires", "threads", "processes")}
        given.out.write_text(
            json.dumps({"machine": machine.describe(), **about, "rows": found, "summary": told}, indent=1) + "\n"
        )


def measure(given: argparse.Namespace) -> list[dict[str, object]]:
    """Return the rows that the command line asks for."""
    drawn = algorithms(given.wires) if given.mqt else families(given.wires)
    where = Where(given.device, given.threads, given.processes or "never")
    return rows(((n, c) for n, c in drawn if not given.only or n in given.only), given.bases, where)


if __name__ == "__main__":
    main()
