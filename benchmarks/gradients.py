"""Values and gradients beside lightning.qubit's adjoint method: ``OMP_NUM_THREADS=1 python -m benchmarks.gradients``.

Cases: LiH on 12 qubits (the 631 terms of PennyLane's own Hartree-Fock, UCCSD with 92 angles as Pauli rotations), 20
qubits with 200 angles, and points of a circuit of 10 qubits with 60. Each is timed in turns, ours and theirs, in one
process; the least of all turns is printed. *device* is what PennyLane's device takes for a tape that is there already,
*engine* is `Simulator.gradient`, *run* is one run of the circuit, *adjoint* is the engine over one run.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import pennylane as qml

from qsim_ex import ParameterSweepBuilder, PauliString, PauliSum, Simulator

Rotation = tuple[str, list[int], float]


def jordan_wigner(excitation: Sequence[int]) -> list[Rotation]:
    """Return an excitation as Pauli rotations: letters, wires, and what the angle is multiplied by."""
    if len(excitation) == 2:
        p, q = excitation
        between = "Z" * (q - p - 1)
        return [(f"X{between}Y", [*range(p, q + 1)], 1.0), (f"Y{between}X", [*range(p, q + 1)], -1.0)]
    i, j, k, m = excitation
    wires = [i, *range(i + 1, j), j, k, *range(k + 1, m), m]
    low, high = "Z" * (j - i - 1), "Z" * (m - k - 1)
    plus, minus = ("XXXY", "XXYX", "YXYY", "XYYY"), ("XYXX", "YXXX", "YYYX", "YYXY")
    signed = [(word, 0.25) for word in plus] + [(word, -0.25) for word in minus]
    return [(f"{a}{low}{b}{c}{high}{d}", wires, sign) for (a, b, c, d), sign in signed]


def uccsd(wires: int = 12, electrons: int = 4) -> list[list[Rotation]]:
    """Return the rotations of each angle of UCCSD."""
    low, high = range(electrons), range(electrons, wires)
    found: list[tuple[int, ...]] = [(i, a) for i in low for a in high if (a - i) % 2 == 0]
    for i, j in itertools.combinations(low, 2):
        for a, b in itertools.combinations(high, 2):
            if i % 2 + j % 2 == a % 2 + b % 2:
                found.append((i, j, a, b))
    return [jordan_wigner(one) for one in found]


def lih() -> Any:
    """Return the Hamiltonian of LiH in a minimal basis, in PennyLane's words."""
    place = qml.numpy.array([[0, 0, 0], [0, 0, 3.0141]], requires_grad=False)
    return qml.qchem.molecular_hamiltonian(qml.qchem.Molecule(["Li", "H"], place), method="dhf")[0]


def ising(wires: int) -> Any:
    """Return a chain of Ising spins in a transverse field."""
    chain = [qml.Z(q) @ qml.Z(q + 1) for q in range(wires - 1)]
    return qml.Hamiltonian([1.0] * len(chain) + [0.7] * wires, [*chain, *(qml.X(q) for q in range(wires))])


def chemistry(angles: Any) -> None:
    """Apply UCCSD to the Hartree-Fock state."""
    for wire in range(4):
        qml.X(wire)
    for angle, rotations in zip(angles, uccsd(), strict=True):
        for word, wires, factor in rotations:
            qml.PauliRot(factor * angle, word, wires=wires)


def layers(wires: int) -> Callable[[Any], None]:
    """Return layers of RY, RZ and CNOT."""

    def circuit(angles: Any) -> None:
        for layer in angles.reshape(-1, 2, wires):
            for wire in range(wires):
                qml.RY(layer[0, wire], wire)
            for wire in range(wires):
                qml.RZ(layer[1, wire], wire)
            for wire in range(wires - 1):
                qml.CNOT([wire, wire + 1])

    return circuit


def as_sweep(tape: Any, points: int) -> Any:
    """Return a tape as a sweep of the engine, all points alike."""
    builder = ParameterSweepBuilder(tape.num_wires, 0)
    names = {"PauliX": "x", "CNOT": "cx", "RY": "ry", "RZ": "rz"}
    for op in tape.operations:
        columns = [np.full(points, float(value)) for value in op.data]
        if op.name == "PauliRot":
            builder.pauli_rotation(columns[0], op.hyperparameters["pauli_word"], list(op.wires))  # type: ignore[arg-type]
        else:
            builder.gate(names[op.name], list(op.wires), *columns)
    return builder.sweep(points)


def as_sum(observable: Any) -> PauliSum:
    """Return an observable as the engine's."""
    terms = observable.pauli_rep.items()
    return PauliSum(tuple(PauliString.parse("".join(w.values()), list(w), float(np.real(c))) for w, c in terms))


def prepared(circuit: Callable[[Any], None], observable: Any, angles: Any, device: Any) -> Any:
    """Return the tape that a device is given after PennyLane has prepared it for the adjoint method."""

    def energy(given: Any) -> Any:
        circuit(given)
        return qml.expval(observable)

    node = qml.QNode(energy, device, diff_method="adjoint")
    tape = qml.workflow.construct_tape(node, level="device")(qml.numpy.array(angles, requires_grad=True))
    names = [op.name for op in tape.operations for _ in op.data]
    tape.trainable_params = [k for k, name in enumerate(names) if name != "RX"]  # those are changes of basis
    return tape


def compare(
    name: str, wires: int, circuit: Callable[[Any], None], count: int, observable: Any, turns: int, points: int = 1
) -> None:
    """Print the times of one case."""
    angles = np.random.default_rng(0).normal(size=count) * 0.1
    ours = qml.device("qsim_ex.qubit", wires=wires, device="cpu", threads=1)
    theirs = qml.device("lightning.qubit", wires=wires)
    tape, other = (prepared(circuit, observable, angles, device) for device in (ours, theirs))
    sweep, total, engine = as_sweep(tape, points), as_sum(observable), Simulator(device="cpu", threads=1)
    timed: dict[str, Callable[[], Any]] = {
        "run": lambda: engine.run_batch(sweep.template, sweep.bindings(), observables=[PauliSum(())]),
        "engine": lambda: engine.gradient(sweep, total),
        "device": lambda: ours.execute_and_compute_derivatives(tape),
        "lightning": lambda: theirs.execute_and_compute_derivatives(other),
    }
    least = dict.fromkeys(timed, float("inf"))
    found = {what: call() for what, call in timed.items()}
    error = np.abs(np.array(found["device"][1]) - np.array(found["lightning"][1])).max()
    for _ in range(turns):
        for what, call in timed.items():
            began = perf_counter()
            call()
            least[what] = min(least[what], perf_counter() - began)
    per = least["lightning"] * points / least["engine"]
    told = ", ".join(f"{what} {1e3 * seconds:.2f} ms" for what, seconds in least.items())
    print(f"{wires} qubits, {name}: {told}", flush=True)
    print(f"    lightning/engine {per:.1f}, engine/run {least['engine'] / least['run']:.1f}, difference {error:.0e}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=7)
    turns = parser.parse_args().turns
    compare("LiH, 631 terms, 92 angles", 12, chemistry, 92, lih(), turns)
    compare("layers, 200 angles", 20, layers(20), 200, ising(20), max(2, turns // 2))
    compare("layers, 60 angles, 1,000 points", 10, layers(10), 60, ising(10), turns, points=1000)


if __name__ == "__main__":
    main()
