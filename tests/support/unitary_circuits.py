"""Random circuits of gates that have an inverse, of every kind, for what runs backwards."""

from __future__ import annotations

import numpy as np

from qsim_ex import Circuit, CircuitBuilder
from qsim_ex.circuit.gates import GATES


def unitary(rng: np.random.Generator, wires: int) -> np.ndarray:
    """A random unitary matrix."""
    return np.linalg.qr(rng.normal(size=(1 << wires, 1 << wires)) + 1j * rng.normal(size=(1 << wires, 1 << wires)))[0]


def circuit(num_wires: int, seed: int, gates: int = 40) -> Circuit:
    """Random gates of the table, and matrices on one to four wires, under controls now and then."""
    rng = np.random.default_rng(seed)
    builder = CircuitBuilder(num_wires)
    names = [name for name in GATES if GATES[name].qubits <= min(3, num_wires)]
    for _ in range(gates):
        wires = rng.permutation(num_wires).tolist()
        if rng.random() < 0.3:
            width = min(num_wires, int(rng.integers(1, 5)))
            controls = wires[width : width + int(rng.integers(2))]
            builder.unitary(unitary(rng, width), wires[:width], controls=controls)
        else:
            row = GATES[str(rng.choice(names))]
            builder.gate(row.name, wires[: row.qubits], *rng.normal(size=len(row.parameters)))
    return builder.build()
