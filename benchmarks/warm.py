"""Warm runs of many families beside other simulators: ``python -m benchmarks.warm gpu --n 28 --out warm.json``.

A run is the whole call for a new circuit object whose structure was run before, as in `benchmarks.run`; peers take
turns, and amplitudes are compared. Each family is also run in rz, sx and cx, by ours alone, from circuits that
``--transpile FILE`` wrote where Qiskit is. Beside each time stands what the planner counts and predicts.
On a GPU all kernels are compiled together, before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any, cast

import numpy as np

from benchmarks import machine
from benchmarks.engine import circuit_of
from benchmarks.gates import MANY_CONTROLS, Gate
from benchmarks.held_out import FAMILIES
from benchmarks.measure import Case, Cell, measure
from benchmarks.peers.base import Precision, Setup
from qsim_ex.circuit.circuit import Circuit

BASIS = ["rz", "sx", "cx"]
_PEERS = {"gpu": ("ours", "custatevec_ex"), "cpu": ("ours", "qsim", "aer")}


@dataclass(frozen=True)
class Held(Case):
    """A case whose family is one of `held_out`."""

    def gates(self, seed: int) -> list[Gate]:
        """Build the circuit; its numbers stay for families whose angles are fixed."""
        del seed
        return FAMILIES[self.family](self.n)


@dataclass(frozen=True)
class Written(Case):
    """A case whose gates are given."""

    given: tuple[Gate, ...] = ()

    def gates(self, seed: int) -> list[Gate]:
        """Return the gates."""
        del seed
        return list(self.given)


def in_qiskit(gates: Sequence[Gate], wires: int, basis: Sequence[str], level: int = 1) -> Any:
    """Return the `QuantumCircuit` of gates in a basis as Qiskit's transpiler writes them at some level."""
    from qiskit import transpile

    return transpile(qiskit_circuit(gates, wires), basis_gates=list(basis), optimization_level=level, seed_transpiler=1)


def qiskit_circuit(gates: Sequence[Gate], wires: int) -> Any:
    """Return the `QuantumCircuit` of gates as they are written."""
    from qiskit import QuantumCircuit
    from qiskit.circuit.library import ZGate

    circuit = QuantumCircuit(wires)
    for gate in gates:
        if gate.matrix is not None:
            circuit.unitary(gate.matrix, list(gate.wires))
        elif gate.name == MANY_CONTROLS:
            circuit.append(ZGate().control(len(gate.wires) - 1, annotated=False), list(gate.wires))
        else:
            getattr(circuit, gate.name)(*gate.params, *gate.wires)
    return circuit


def transpiled(gates: Sequence[Gate], wires: int, basis: Sequence[str] = BASIS) -> list[Gate]:
    """Return the gates in rz, sx and cx, or in another basis, as Qiskit's transpiler writes them at level 1."""
    return gates_of(in_qiskit(gates, wires, basis))


def gates_of(made: Any) -> list[Gate]:
    """Return the gates of a `QuantumCircuit` that is transpiled to gates of the neutral list."""
    return [
        Gate(
            each.operation.name,
            tuple(made.find_bit(q).index for q in each.qubits),
            tuple(map(float, each.operation.params)),
        )
        for each in made.data
    ]


def predicted(circuit: Circuit, setup: Setup, device: str) -> dict[str, float]:
    """Return what the planner counts and predicts."""
    from benchmarks.peers.ours_peer import options
    from qsim_ex import Simulator

    found = Simulator(options(setup, cast(Any, device), "default")).summary(circuit)
    return {
        "sweeps": found.sweeps + found.wide,
        "phases": found.register_blocks,
        "state_sweeps": found.bytes_moved / (2 * np.dtype(np.complex64).itemsize * _wide(setup) << setup.n),
        "multiply_adds": found.fma / (1 << setup.n),
        "ms": 1e3 * found.seconds,
    }


def _wide(setup: Setup) -> int:
    return 1 if setup.precision == "single" else 2


def compiled(circuits: Sequence[Circuit], setup: Setup) -> None:
    """Compile the kernels of all circuits together."""
    from benchmarks.peers.ours_peer import options
    from qsim_ex import Simulator
    from qsim_ex.devices.gpu.device import GpuDevice

    simulator, device = Simulator(options(setup, "gpu", "default")), GpuDevice()
    dtype = np.complex64 if setup.precision == "single" else np.complex128
    steps = tuple(step for circuit in circuits for plan in simulator.plans(circuit) for step in plan.steps)
    device.prepare(steps, setup.n, dtype, "always")


def row(name: str, cells: Sequence[Cell], basis: Cell | None, expected: dict[str, float]) -> dict[str, Any]:
    """Put a family's figures together; peers in several variants count with their best."""
    for cell in (*cells, *([basis] if basis else [])):
        if cell.error or cell.correct is False:
            print(f"{name}: {cell.peer} {cell.error or f'is wrong by {cell.deviation}'}", file=sys.stderr)
    times: dict[str, float] = {}
    least: dict[str, float] = {}
    for cell in cells:
        if cell.median is not None:
            times[cell.peer] = min(times.get(cell.peer, np.inf), 1e3 * cell.median)
            least[cell.peer] = min(least.get(cell.peer, np.inf), 1e3 * min(cell.seconds))
    others = {peer: time / times["ours"] for peer, time in times.items() if peer != "ours"}
    found: dict[str, Any] = {"family": name, "ms": times, "least_ms": least, "times": others, "planned": expected}
    if basis and basis.median is not None:
        found |= {"transpiled_ms": 1e3 * basis.median, "transpiled": 1e3 * basis.median / times["ours"]}
        found["transpiled_least"] = 1e3 * min(basis.seconds) / least["ours"]
    return found


def line(found: dict[str, Any]) -> str:
    """Return a line of the table."""
    times = "  ".join(f"{peer} {time:8.2f}" for peer, time in found["ms"].items())
    ahead = "  ".join(f"{factor:6.2f}x" for factor in found["times"].values())
    plan = found["planned"]
    text = (
        f"{found['family']:13} sweeps {plan['sweeps']:3.0f} ({plan['state_sweeps']:5.1f})  predicted {plan['ms']:7.2f}"
    )
    text += f"  {times}  {ahead}"
    return text + (
        f"  in rz, sx, cx {found['transpiled_ms']:7.2f} {found['transpiled']:.2f}" if "transpiled" in found else ""
    )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device", choices=("gpu", "cpu"))
    parser.add_argument("--n", type=int, default=28)
    parser.add_argument("--precision", default="single", choices=("single", "double"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--alone", nargs="*", default=[], help="families that peers do not run")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--transpile", type=Path, help="write circuits in rz, sx and cx, and stop")
    parser.add_argument("--transpiled", type=Path, help="such circuits")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    circuits = {name: FAMILIES[name](given.n) for name in given.families}
    if given.transpile:
        made = {name: transpiled(gates, given.n) for name, gates in circuits.items() if name != "grover"}
        given.transpile.write_bytes(pickle.dumps(made))
        return
    basis: dict[str, list[Gate]] = pickle.loads(given.transpiled.read_bytes()) if given.transpiled else {}

    from benchmarks.run import load_peers, set_threads

    set_threads(given.threads)
    peers, missing = load_peers(given.device, list(_PEERS[given.device]))
    setup = Setup(given.n, given.precision, given.threads)
    every = {name: circuit_of(gates, given.n) for name, gates in circuits.items()}
    others = [circuit_of(basis[name], given.n) for name in given.families if name in basis]
    if given.device == "gpu":
        compiled([*every.values(), *others], setup)
    memory, host = machine.memory_bytes(given.device), machine.memory_bytes("cpu") if given.device == "gpu" else None
    rows: list[dict[str, Any]] = []

    def measured(case: Case, alone: bool) -> list[Cell]:
        those = [peer for peer in peers if peer.name == "ours" or not alone]
        return measure(
            case, those, threads=given.threads, repeat=given.repeat, warmup=1, memory=memory, host_memory=host
        )

    for name in given.families:
        precision = cast(Precision, given.precision)
        cells = measured(Held(name, given.n, precision), name in given.alone)
        case = Written(name, given.n, precision, given=tuple(basis.get(name, ())))
        in_basis = measured(case, True)[0] if case.given else None
        rows.append(row(name, cells, in_basis, predicted(every[name], setup, given.device)))
        print(line(rows[-1]), flush=True)
        if given.out:
            found = {"kind": "held_out", "commit": machine.commit(), "machine": machine.describe(), "missing": missing}
            found |= {"n": given.n, "precision": given.precision, "threads": given.threads, "rows": rows}
            given.out.write_text(json.dumps(found, indent=1) + "\n")
    for peer in {peer for each in rows for peer in each["times"]}:
        factors = [each["times"][peer] for each in rows if peer in each["times"]]
        print(f"{peer}: geometric mean {geometric_mean(factors):.2f}, least {min(factors):.2f}")


if __name__ == "__main__":
    main()
