"""A random circuit on every device of this machine, in both precisions, compared with the definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.gates import GATES
from qsim_ex.cli.report import Task
from qsim_ex.cli.tolerance import bound, distance
from qsim_ex.errors import Cancelled
from qsim_ex.options import DeviceChoice
from qsim_ex.precision import PRECISIONS
from qsim_ex.simulator import Simulator

NUM_QUBITS = 16
"""The qubits of the circuit: more than one tile of every device, so there are several tiles and several sweeps."""

NUM_GATES = 80
WIDE = 6
"""The wires of the widest matrix, which is a matrix product of its own on every device."""

SHOTS = 1000
SEED = 20


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one device in one precision.

    error: the relative error, right up to `limit`; None after a failure. shots: whether the seed gave the same shots
    as on the first device, in double precision.
    """

    device: str
    precision: str
    error: float | None
    limit: float
    shots: bool
    seconds: float
    failure: str = ""

    @property
    def good(self) -> bool:
        """Whether the device can be trusted."""
        return self.error is not None and self.error <= self.limit and self.shots


def check(gpus: int, task: Task) -> Iterator[Check]:
    """Check the CPU and the given number of GPUs, one after the other."""
    circuit = random_circuit()
    task.stage("the definition")
    exact = reference.simulate(circuit)
    shots: list[bytes] = []
    places: list[tuple[DeviceChoice, int]] = [("cpu", 0), *(("gpu", k) for k in range(gpus))]
    for device, number in places:
        for row in reversed([*PRECISIONS.values()]):  # the finest first: its shots are compared
            name = "cpu" if device == "cpu" else f"gpu:{number}"
            task.stage(f"{name}, {row.name} precision")
            simulator = Simulator(device=device, device_id=number, precision=row.name)
            limit = bound(simulator.options.dtype, circuit.num_gates)
            began = perf_counter()
            try:
                result = simulator.run(circuit, shots=SHOTS, seed=SEED, cancel=task.cancel)
            except Cancelled:
                raise
            except Exception as error:  # noqa: BLE001 - whatever one device raises, the others are checked
                failure = f"{type(error).__name__}: {error}"
                yield Check(name, row.name, None, limit, False, perf_counter() - began, failure)
                continue
            if row.tolerances.same_shots:
                shots.append(result.bits().tobytes())
            off = distance(result.saved["statevector"], exact)
            yield Check(name, row.name, off, limit, shots[-1:] == shots[:1], perf_counter() - began)


def random_circuit() -> Circuit:
    """Return a circuit of every kind of work: all gates, controls, matrices, a wide matrix, measurement."""
    random = np.random.default_rng(SEED)
    builder = CircuitBuilder(NUM_QUBITS, NUM_QUBITS)
    names = sorted(name for name, gate in GATES.items() if gate.qubits)
    for wire in range(NUM_QUBITS):
        builder.gate("ry", [wire], float(random.uniform(0.5, 2.5)))
    for k in range(NUM_GATES):
        gate = GATES[names[k % len(names)]]
        controls = int(random.integers(0, 2))
        wires = random.permutation(NUM_QUBITS)[: gate.qubits + controls].tolist()
        angles = random.uniform(-np.pi, np.pi, len(gate.parameters)).tolist()
        builder.gate(gate.name, wires[controls:], *angles, controls=wires[:controls])
        if k in (20, 50):
            size = 3 if k == 20 else WIDE
            builder.unitary(_unitary(random, size), random.permutation(NUM_QUBITS)[:size].tolist())
    return builder.save().measure(range(NUM_QUBITS), range(NUM_QUBITS)).build()


def _unitary(random: np.random.Generator, num_wires: int) -> NDArray[np.complex128]:
    """Return a random unitary: the orthogonal factor of a random matrix."""
    size = 1 << num_wires
    factor, _ = np.linalg.qr(random.normal(size=(size, size)) + 1j * random.normal(size=(size, size)))
    return np.asarray(factor, dtype=np.complex128)
