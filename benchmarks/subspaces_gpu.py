"""Whether plans over subspaces, which have no CX, pay on a GPU: ``python -m benchmarks.subspaces_gpu --n 28``.

Each circuit begins in |0…0⟩, or with ``--begin there`` in a state all of whose amplitudes are there, or with
``--begin state`` in one that keeps its layout, too. It is planned on bits and over subspaces, if there is such a plan,
whatever is predicted of it. Four kinds of kernels run in turns: for each plan those in whose phases CX move amplitudes, and framed ones, in
which they do not (`kernels.cuda.write.phase_frame`). Both plans are interpreted, too, as in a first run. Medians count,
amplitudes are compared with one another, and beside the times stands what is predicted. It stops when ``--seconds`` are
over. ``--transpile FILE`` writes the circuits in rz, sx and cx where Qiskit is, for ``--circuits FILE`` where it is
not; ``--counts`` prints plans and predictions, and needs no GPU.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks import machine
from benchmarks.counts import circuit_of, transpiled
from benchmarks.cx_rich import FAMILIES
from benchmarks.engine import circuit_of as neutral_circuit_of
from benchmarks.floating import Run, difference
from benchmarks.held_out import adder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.gpu.device import GpuDevice, shape_of
from qsim_ex.kernels.cuda.sweeps import Sweeps
from qsim_ex.kernels.cuda.write.style import KernelStyle
from qsim_ex.planning import compiled
from qsim_ex.planning.cost.summary import summary
from qsim_ex.steps import Layout, Plan, Shape

NAMES = {
    "cx_only": "280 CX",
    "surface_code": "surface code",
    "qft": "QFT",
    "clifford_t": "Clifford+T",
    "su2_8": "SU2 x 8",
}
IN_BASIS = ("cx_only", "surface_code", "qft")
"""Circuits that are run in rz, sx and cx, too."""

_BOUND = {8: 1e-4, 16: 1e-10}
_INTERPRETED = 3


class Pair(NamedTuple):
    """A circuit and its plans: on bits, and over subspaces; taken: whether prediction takes the latter."""

    circuit: Circuit
    bits: Plan
    subspaces: Plan
    taken: bool


def circuits(wires: int, written: Path | None) -> dict[str, Circuit]:
    """The circuits by name; written: a file of those in rz, sx and cx."""
    made = {NAMES[name]: circuit_of(FAMILIES[name](wires), wires) for name in NAMES}
    made["adder"] = neutral_circuit_of(adder(wires), wires)
    rows = json.loads(written.read_text()) if written else in_basis(wires)
    return made | {f"{NAMES[name]}, rz": circuit_of([tuple(row) for row in rows[name]], wires) for name in rows}


def in_basis(wires: int) -> dict[str, Any]:
    """The gates of some circuits in rz, sx and cx, as Qiskit writes them; none where there is no Qiskit."""
    try:
        return {name: transpiled(FAMILIES[name](wires), wires) for name in IN_BASIS}
    except ImportError:
        return {}


def plans_of(circuit: Circuit, shape: Shape, begin: str = "zero") -> Pair | None:
    """Both plans of a circuit; None if it has none over subspaces."""
    wires, usual = circuit.num_qubits, compiled.PROMISE
    args = circuit.instructions, wires, Layout.identity(wires)
    new, over = begin == "zero", replace(shape.staying() if begin == "state" else shape, linear=True)
    fresh = (1 << wires) - 1 if new else 0
    bits = compiled.compiled_plan(*args, replace(over, linear=False), fresh, new)
    taken = compiled.compiled_plan(*args, over, fresh, new).made_from[-1] == "linear"
    compiled.PROMISE = compiled.ANY_PROMISE
    try:
        made = compiled.compiled_plan(*args, over, fresh, new)
    finally:
        compiled.PROMISE = usual
    return Pair(circuit, bits, made, taken) if made.made_from[-1] == "linear" else None


def described(pair: Pair, itemsize: int) -> dict[str, Any]:
    """Counts of both plans: sweeps, phases, moved in full sweeps, and predicted milliseconds."""
    found = [summary(plan, itemsize) for plan in (pair.bits, pair.subspaces)]
    full = 2 * itemsize << pair.circuit.num_qubits
    return {
        "sweeps": [one.sweeps for one in found],
        "phases": [one.phases for one in found],
        "moved": [round(one.bytes_moved / full, 2) for one in found],
        "predicted": [1e3 * one.seconds for one in found],
        "taken": pair.taken,
    }


HEAD = (
    "                       sweeps phases       passes   predicted ms    bits framed  subsp framed   first runs   ratio"
)
"""The head of the table: of bits > subspaces counts, then milliseconds; the ratio is that of framed kernels over
subspaces to kernels over bits as they are. A star: prediction takes the plan over subspaces.
"""


def text_of(row: dict[str, Any]) -> str:
    """A row of the table without what is measured."""
    (a, b), (c, d), (e, f) = row["sweeps"], row["phases"], row["moved"]
    first, second = row["predicted"]
    name = f"{row['circuit']:20}{'*' if row['taken'] else ' '}"
    return f"{name}  {a:2}>{b:2}  {c:2}>{d:2}  {e:5.2f}>{f:5.2f}  {first:5.2f}>{second:5.2f}"


def timed(runs: list[Run], buffer: Any, repeat: int) -> list[float]:
    """The milliseconds of runs in turns, medians."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(repeat):
        for run, found in zip(runs, times, strict=True):
            run.begin(buffer)
            found.append(1e3 * run(buffer))
    return [median(found) for found in times]


def devices() -> dict[str, GpuDevice]:
    """The GPU, once for kernels in whose phases CX move amplitudes, and once for others."""
    found = {}
    for frames in ("none", "all"):
        found[frames] = device = GpuDevice()
        device._sweeps = Sweeps(device._runtime, KernelStyle(frames=frames))  # type: ignore[arg-type]
    return found


def measured(on: dict[str, GpuDevice], pairs: dict[str, Pair], itemsize: int, repeat: int, until: float) -> list[Any]:
    """Time all plans, until it is too late."""
    dtype, begin, rows = np.dtype(f"complex{8 * itemsize}"), perf_counter(), []
    wires = next(iter(pairs.values())).circuit.num_qubits
    steps = [step for pair in pairs.values() for plan in (pair.bits, pair.subspaces) for step in plan.steps]
    for device in on.values():
        device.prepare(tuple(steps), wires, dtype, "always")
    print(f"complex{8 * itemsize}: {len(steps)} steps compiled in two ways in {perf_counter() - begin:.0f} s")
    print(HEAD)
    buffer = on["all"].allocate(1 << wires, dtype)
    for name, pair in pairs.items():
        if perf_counter() > until:
            print("stopped: the time is over")
            break
        plans = (pair.bits, pair.subspaces)
        runs = [Run(on[frames], plan, pair.circuit, dtype, "always") for plan in plans for frames in ("none", "all")]
        interpreted = [Run(on["all"], plan, pair.circuit, dtype, "never") for plan in plans]
        one, *others = [run.amplitudes(buffer) for run in (*runs, *interpreted)]
        off = max(difference(other, one, 1 << wires) for other in others)
        assert off < _BOUND[itemsize], f"{name}: amplitudes differ by {off}"
        row = {"circuit": name, "itemsize": itemsize, "off": off} | described(pair, itemsize)
        row |= {"ms": timed(runs, buffer, repeat), "interpreted": timed(interpreted, buffer, _INTERPRETED)}
        times = " ".join(f"{ms:6.2f}" for ms in (*row["ms"], *row["interpreted"]))
        print(f"{text_of(row)}  {times}  {row['ms'][3] / row['ms'][0]:.2f}", flush=True)
        rows.append(row)
    if rows:
        print(f"geometric mean {geometric_mean([row['ms'][3] / row['ms'][0] for row in rows]):.3f}")
    return rows


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=28)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--transpile", type=Path)
    parser.add_argument("--circuits", type=Path)
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--begin", choices=("zero", "there", "state"), default="zero")
    parser.add_argument("--commit", default="")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.transpile:
        given.transpile.write_text(json.dumps(in_basis(given.n)) + "\n")
        return
    until, rows = perf_counter() + given.seconds, list[dict[str, Any]]()
    made = circuits(given.n, given.circuits)
    on = {} if given.counts else devices()
    for itemsize in (8, 16):
        shape = on["all"].shape(f"complex{8 * itemsize}") if on else shape_of(itemsize, tensor=True)
        pairs = {name: pair for name, circuit in made.items() if (pair := plans_of(circuit, shape, given.begin))}
        if on:
            rows += measured(on, pairs, itemsize, given.repeat, until)
            continue
        rows += [{"circuit": name, "itemsize": itemsize} | described(pair, itemsize) for name, pair in pairs.items()]
        print("\n".join(map(text_of, rows[-len(pairs) :])))
    if given.out:
        told = {"commit": given.commit or machine.commit(), "wires": given.n, "begin": given.begin}
        found = {"kind": "subspaces", **told, "rows": rows}
        given.out.write_text(json.dumps(found | machine.describe(), indent=1) + "\n")


if __name__ == "__main__":
    main()
