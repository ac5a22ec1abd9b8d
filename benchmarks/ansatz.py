"""Variational circuits with parameters, for the engine, Qiskit and Cirq."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from qsim_ex.circuit.parameters.sweep import ParameterSweep


@dataclass(frozen=True)
class Ansatz:
    """Rotations on all wires, each with a parameter of its own, and chains of CX between; rings if `ring`."""

    n: int
    rotations: tuple[str, ...]
    reps: int
    ring: bool

    @property
    def gates(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and wires; parameters are counted in the order of the rotations."""
        turned = [(name, (wire,)) for name in self.rotations for wire in range(self.n)]
        chain = [("cx", (wire, wire + 1)) for wire in range(self.n - 1)]
        if self.ring:
            chain = [("cx", (self.n - 1, 0)), *chain]
        return turned + (chain + turned) * self.reps

    @property
    def parameters(self) -> int:
        """How many there are."""
        return len(self.rotations) * self.n * (self.reps + 1)

    def angles(self, turn: int, bindings: int) -> NDArray[np.float64]:
        """Fresh angles of each binding: float64 [bindings, parameters]."""
        return np.random.default_rng(turn).uniform(-pi, pi, (bindings, self.parameters))


SAMPLED = Ansatz(10, ("rz", "ry", "rz"), 3, ring=True)
"""150 gates."""

SWEPT = Ansatz(8, ("ry", "rz"), 2, ring=False)
"""62 gates."""

ESTIMATED = Ansatz(12, ("ry", "rz"), 3, ring=False)


def in_engine(ansatz: Ansatz, angles: NDArray[np.float64]) -> ParameterSweep:
    """The circuit with all wires measured at its end, and the angles of each binding, [bindings, parameters]."""
    from qsim_ex.circuit.parameters.sweep import ParameterSweepBuilder

    builder = ParameterSweepBuilder(ansatz.n, ansatz.n)
    columns = iter(np.ascontiguousarray(angles.T))
    for name, wires in ansatz.gates:
        builder.gate(name, wires, *([next(columns)] if name != "cx" else []))  # type: ignore[arg-type]
    builder.measure(range(ansatz.n), range(ansatz.n))
    return builder.sweep(len(angles))


def in_qiskit(ansatz: Ansatz) -> tuple[Any, list[Any]]:
    """The circuit in Qiskit's words, not measured, and its parameters in the order in which they stand there."""
    from qiskit.circuit import Parameter, QuantumCircuit

    parameters = [Parameter(f"p{k:03}") for k in range(ansatz.parameters)]
    left = iter(parameters)
    made = QuantumCircuit(ansatz.n)
    for name, wires in ansatz.gates:
        getattr(made, name)(*([next(left)] if name != "cx" else []), *wires)
    return made, parameters


def in_cirq(ansatz: Ansatz) -> tuple[Any, list[str]]:
    """The circuit in Cirq's words, not measured, and the names of its symbols as they stand there in turn."""
    import cirq
    import sympy

    names = [f"p{k:03}" for k in range(ansatz.parameters)]
    left = iter(names)
    qubits = cirq.LineQubit.range(ansatz.n)
    made = cirq.Circuit(
        (cirq.CX if name == "cx" else getattr(cirq, name)(sympy.Symbol(next(left))))(*(qubits[wire] for wire in wires))
        for name, wires in ansatz.gates
    )
    return made, names
