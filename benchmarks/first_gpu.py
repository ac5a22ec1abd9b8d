"""First runs on a GPU: ``python -m benchmarks.first_gpu --n 20 24 28 --out first_gpu.json``.

For each family a structure that this process has not seen is run ten times, with numbers that stay: the first run
plans, and no kernel of it is compiled. Another circuit has run as often before. A run is the whole call of
``Simulator.state`` until the GPU is done; circuits are built before. ``--kernels`` also times the sweeps alone,
interpreted and as kernels of their own. With ``--peer`` the circuits are run by cuStateVec Ex too, behind ours; its
gates are queued before its clock starts. ``--drawn`` measures first runs alone, of drawn structures of 31 families, as
they are written and in rz, sx, x and cz, beside cuStateVec Ex (see `first_drawn`).

Compiled kernels are kept in a folder of their own, which is new in each process.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from statistics import geometric_mean
from time import perf_counter, sleep
from typing import Any

import numpy as np

from benchmarks import counts, cx_rich, machine
from benchmarks.families import by_name
from benchmarks.gates import NAMES, Gate, haar

RUNS = 10
SEVEN = ("ghz", "qft", "qaoa", "su2", "grid", "brick", "qv")
RICH = ("heisenberg", "clifford_t", "ucc", "uccsd", "surface_code")


def deep_brick(n: int) -> list[Gate]:
    """Matrices on neighbours, 56 layers."""
    rng = np.random.default_rng(3)
    pairs = [(w, w + 1) for layer in range(56) for w in range(layer % 2, n - 1, 2)]
    return [Gate("unitary", pair, matrix=haar(rng, 2)) for pair in pairs]


def on_any_pairs(n: int, layers: int) -> list[Gate]:
    """Matrices on drawn pairs of wires, each wire once in a layer."""
    rng = np.random.default_rng([4, layers])  # no sweep in common with fewer layers, whose kernels may be there
    gates = []
    for _ in range(layers):
        wires = rng.permutation(n).tolist()
        pairs = zip(wires[::2], wires[1::2], strict=False)
        gates += [Gate("unitary", pair, matrix=haar(rng, 2)) for pair in pairs]
    return gates


def neutral(gates: Sequence[cx_rich.Named]) -> list[Gate]:
    """Gates of the engine's table as neutral ones; those that the neutral list lacks become phases or matrices."""
    from benchmarks.counts import circuit_of
    from qsim_ex import reference

    def one(name: str, wires: tuple[int, ...], params: tuple[float, ...]) -> Gate:
        if name in NAMES:
            return Gate(name, wires, params)
        if name in _PHASES:
            return Gate("rz", wires, (_PHASES[name],))  # but for a global phase
        size = 1 << len(wires)
        circuit = circuit_of([(name, tuple(range(len(wires))), params)], len(wires))
        columns = [reference.simulate(circuit, np.eye(size, dtype=np.complex128)[k]) for k in range(size)]
        return Gate("unitary", wires, matrix=np.ascontiguousarray(np.array(columns).T))

    return [one(*gate) for gate in gates]


_PHASES = {"s": np.pi / 2, "t": np.pi / 4}

FAMILIES: dict[str, Callable[[int], list[Gate]]] = {
    **{name: lambda n, name=name: list(by_name(name).build(n, 0)) for name in SEVEN},  # type: ignore[misc]
    **{name: lambda n, name=name: neutral(cx_rich.FAMILIES[name](n)) for name in RICH},  # type: ignore[misc]
    "brick_56": deep_brick,
    "qv_square": lambda n: on_any_pairs(n, n),
    "su4_any_14": lambda n: on_any_pairs(n, 14),
}


def ours(simulator: Any, circuit: Any) -> list[float]:
    """The milliseconds of all runs of one structure; before the last two whatever is compiled beside them is ready."""
    times = []
    for run in range(RUNS):
        if run == RUNS - 2:
            sleep(1)
        begin = perf_counter()
        state = simulator.state(circuit)
        state.synchronize()
        times.append(1e3 * (perf_counter() - begin))
        state.close()
    return times


def kernels(circuit: Any, itemsize: int, compile: str) -> float:
    """The milliseconds of all sweeps of a structure's plan, least of three."""
    from qsim_ex.execution.prepare import prepare
    from qsim_ex.planning.planner import make_plan
    from qsim_ex.steps import Layout

    device = _device()
    n, dtype = circuit.num_qubits, np.dtype(f"complex{8 * itemsize}")
    plan = make_plan(circuit.instructions, n, Layout.identity(n), device.shape(dtype), (1 << n) - 1, None, True)
    ((ready, coefficients),) = prepare(plan, circuit.operands, [device], dtype, compile)
    buffer, numbers, found = device.allocate(1 << n, dtype), list(coefficients), []
    for _ in range(4):
        device.begin(buffer)
        device.synchronize()
        begin = perf_counter()
        for step, given in zip(plan.steps, numbers, strict=True):
            device.run(buffer, n, step, given, ready)
        device.synchronize()
        found.append(1e3 * (perf_counter() - begin))
    return min(found[1:])


@cache
def _device() -> Any:
    from qsim_ex.devices.gpu.device import GpuDevice

    return GpuDevice()


def peer(gates: list[Gate], n: int, precision: Any) -> float:
    """The milliseconds of cuStateVec Ex's first run, its gates queued before."""
    from benchmarks.peers.base import Setup
    from benchmarks.peers.custatevec_ex_peer import ExSession
    from benchmarks.peers.custatevec_library import Library

    session = ExSession(Library(), Setup(n, precision, 1), "controls")
    try:
        session.load(gates)
        return 1e3 * session.run().seconds
    finally:
        session.close()


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, nargs="+", default=[20, 28])
    parser.add_argument("--precision", default="single")
    parser.add_argument("--families", nargs="+")
    parser.add_argument("--drawn", action="store_true", help="needs --texts")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--texts", type=Path, help="the file of transpiled circuits")
    parser.add_argument("--write", action="store_true", help="write the file of transpiled circuits; needs Qiskit")
    parser.add_argument("--qasm", type=Path, help="with --write: a folder of circuits in OpenQASM 2, for these alone")
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--commit", help="default: what git says; name it where there is no git")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    os.environ["QSIM_EX_CACHE_DIR"] = tempfile.mkdtemp(prefix="first_gpu")
    if given.drawn:
        _drawn(given)
        return

    from benchmarks.engine import circuit_of
    from qsim_ex import Options, Simulator

    itemsize = {"single": 8, "double": 16}[given.precision]
    simulator, cells = Simulator(Options(device="gpu", precision=given.precision)), []
    for n in given.n:
        ours(simulator, circuit_of([Gate("h", (0,)), Gate("cx", (0, n - 1))], n))  # memory, context, all modules
        for name in given.families or FAMILIES:
            gates = FAMILIES[name](n) if given.peer or name not in RICH else []
            circuit = counts.circuit_of(cx_rich.FAMILIES[name](n), n) if name in RICH else circuit_of(gates, n)
            times = ours(simulator, circuit)
            cell: dict[str, Any] = {"n": n, "family": name, "ms": times}
            told = f"{n} {name:12} first {times[0]:8.2f}  then " + " ".join(f"{t:8.2f}" for t in times[1:4])
            told += f"  most {max(times[1:]):8.2f}  last {times[-1]:8.2f}"
            if given.kernels:
                cell["interpreted"] = kernels(circuit, itemsize, "never")
                cell["compiled"] = kernels(circuit, itemsize, "always")
                told += f"  sweeps {cell['interpreted']:8.2f} compiled {cell['compiled']:8.2f}"
            if given.peer:
                cell["peer"] = peer(gates, n, given.precision)
                told += f"  Ex {cell['peer']:8.2f} ({cell['peer'] / times[0]:.2f})"
            print(told, flush=True)
            cells.append(cell)
        _keep(given, cells)
    if given.peer:
        print(f"geometric mean {geometric_mean(c['peer'] / c['ms'][0] for c in cells):.2f}")


def _drawn(given: argparse.Namespace) -> None:
    """Measure drawn structures, or write the file that this needs."""
    from benchmarks import first_drawn

    if given.write and given.qasm:
        first_drawn.write_files(given.texts, given.qasm)
        return
    if given.write:
        first_drawn.write(given.texts, given.n)
        return
    cells = list(first_drawn.cells(given.n, given.precision, given.families, given.texts, given.seconds))
    _keep(given, cells)


def _keep(given: argparse.Namespace, cells: list[dict[str, Any]]) -> None:
    """Write what was measured so far, if a file is named."""
    if given.out:
        found = {"kind": "first_gpu", "commit": given.commit or machine.commit(), "machine": machine.describe()}
        given.out.write_text(json.dumps(found | {"precision": given.precision, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
