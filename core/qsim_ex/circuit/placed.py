"""Rows of the gate table on wires: all that a gate of a circuit has besides its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from qsim_ex.circuit import check
from qsim_ex.circuit.gates import GATES, WHOLE_UNDER_CONTROLS
from qsim_ex.circuit.ops import Pattern, When
from qsim_ex.errors import UnknownInstruction, WireError, nearest

Wires = tuple[int, ...]
PlacedFactor = tuple[Wires, Wires, When, Pattern]
"""An operation without its numbers: what it mixes, what it reads, when it applies, and its pattern."""


@dataclass(frozen=True, eq=False, slots=True)
class PlacedGate:
    """A row of the gate table on some wires, under some controls.

    row: its name. parameters: how many it takes. factors: the operations that it becomes, one or those of its factors.
    of_factors: whether these are the row's factors, each with parameters of its own. shared: whether all gates of the
    row in a circuit have the same operands, since they have no parameters.
    """

    row: str
    parameters: int
    factors: tuple[PlacedFactor, ...]
    of_factors: bool
    shared: bool


@lru_cache(maxsize=65536)
def placed_gate(
    name: str, wires: Wires, num_qubits: int, controls: Wires = (), control_values: int = -1, whole: bool = False
) -> PlacedGate:
    """Place a row of the gate table on wires; cached, since circuits repeat themselves.

    whole: as one operation, even if the row has factors.
    Raises `UnknownInstruction` and `WireError`.
    """
    row = GATES.get(name)
    if row is None:
        raise unknown(name)
    one = _factor(name, wires, controls, control_values, num_qubits, name)
    if whole or row.factors is None or (controls and name in WHOLE_UNDER_CONTROLS):
        return PlacedGate(name, len(row.parameters), (one,), of_factors=False, shared=not row.parameters)
    # The gate's own controls are its first wires, and each of its factors has them too.
    own, acting = wires[: row.controls], wires[row.controls :]
    values = control_values << row.controls | (1 << row.controls) - 1
    names = [factor.name for factor in row.factors(*[0.0] * len(row.parameters))]
    placed = [_factor(of, acting if GATES[of].qubits else (), own + controls, values, num_qubits, name) for of in names]
    return PlacedGate(name, len(row.parameters), tuple(placed), of_factors=True, shared=not row.parameters)


def unknown(name: str) -> UnknownInstruction:
    """Return the error of a name that is in no row of the gate table."""
    return UnknownInstruction(
        f"expected a gate of the gate table, got {name!r}, which it does not have.{nearest(name, GATES)}"
    )


def _factor(name: str, wires: Wires, controls: Wires, values: int, num_qubits: int, gate: str) -> PlacedFactor:
    """Place one operation of a gate."""
    row = GATES[name]
    if len(wires) != row.qubits:
        raise WireError(
            f"gate {name!r}: expected {row.qubits} wires, got {len(wires)}: {wires}; pass one wire for each argument."
        )
    numbers = check.wires((*wires, *controls), num_qubits, gate)
    wires, controls = numbers[: row.qubits], numbers[row.qubits :]
    bits = [1 << wire for wire in wires]
    when = sum([bits[a] for a in row.when])
    control = sum([1 << wire for wire in controls])
    value = sum([1 << wire for k, wire in enumerate(controls) if values >> k & 1])
    reads = tuple([sum([bits[a] for a in range(row.qubits) if m >> a & 1]) for m in row.reads])
    return tuple([wires[a] for a in row.mixes]), reads, When(when | control, when | value), row.pattern
