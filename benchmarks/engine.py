"""The benchmarks' gates as the engine's circuits."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.gates import MANY_CONTROLS, Gate
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit


def appended(builder: CircuitBuilder, gates: Sequence[Gate]) -> CircuitBuilder:
    """A builder with some gates at its end; their names are those of the engine's table."""
    for gate in gates:
        if gate.matrix is not None:
            builder.unitary(gate.matrix, gate.wires)
        elif gate.name == MANY_CONTROLS:
            builder.gate("z", gate.wires[-1:], controls=gate.wires[:-1])
        else:
            builder.gate(gate.name, gate.wires, *gate.params)
    return builder


def circuit_of(gates: Sequence[Gate], wires: int) -> Circuit:
    """A circuit of nothing but some gates."""
    return appended(CircuitBuilder(wires), gates).build()
