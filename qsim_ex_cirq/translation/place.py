"""The place of a Cirq gate in a circuit of the engine: the builder, the wires, and the controls around the gate.

Cirq's matrices have the first qubit as the most significant bit, the table's rows count arguments from 0; a row
takes the wires as they come, a matrix takes them reversed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import cirq

from qsim_ex import CircuitBuilder
from qsim_ex.errors import ParameterError

ToNumber = Callable[[Any], Any]
"""Makes a number of a parameter of a circuit, or a column of numbers where it has symbols."""

TOLERANCE = 1e-5
"""How far a matrix may be from unitary: as far as Cirq allows, which matrices in single precision need."""


def number(value: Any) -> float:
    """Return a gate's parameter as a number; raises `ParameterError` if it is not a real number."""
    try:
        return float(value)
    except TypeError:
        raise ParameterError(
            f"expected an angle or an exponent, got {value!r}, which is not a real number; pass a float."
        ) from None


def require_numbers(resolved: object) -> None:
    """Raise `ParameterError`, naming the symbols, if there are any in a circuit or an operation.

    Looking costs more than translating a gate whose numbers are read anyway; so it is done where that fails.
    """
    unbound = sorted(cirq.parameter_names(resolved)) if cirq.is_parameterized(resolved) else []
    if unbound:
        raise ParameterError(
            f"Circuit contains ops whose symbols were not specified: {', '.join(unbound)}; "
            "pass a resolver that has them."
        )


class Place(NamedTuple):
    """The builder to append to, the wires in the gate's order, and the controls around the gate.

    values: bit k is the value that ``controls[k]`` must have. literal: no symbol was replaced to get this gate.
    number: converts a gate's parameter to what the builder takes.
    """

    builder: CircuitBuilder
    wires: tuple[int, ...]
    controls: tuple[int, ...] = ()
    values: int = 0
    literal: bool = True
    number: ToNumber = number

    def row(self, name: str, *parameters: float) -> None:
        """Append a row of the gate table on all wires."""
        self.builder.gate(name, self.wires, *parameters, controls=self.controls, control_values=self.values)

    def matrix(self, matrix: Any, name: str) -> None:
        """Append a matrix in Cirq's order of bits."""
        self.builder.unitary(
            matrix,
            self.wires[::-1],
            controls=self.controls,
            control_values=self.values,
            name=name,
            tolerance=TOLERANCE,
        )

    def phase(self, angle: float) -> None:
        """Append e^{i·angle}, under the controls."""
        self._replace(wires=()).row("global_phase", angle)

    def controlled(self, controls: Sequence[int], values: Sequence[int]) -> Place:
        """Return the same place with more controls and the values that they must have."""
        added = sum(int(v) << k for k, v in enumerate(values))
        return self._replace(controls=(*controls, *self.controls), values=added | self.values << len(controls))

    def split(self, count: int) -> Place:
        """Return the place in which the first `count` wires are controls that must be 1."""
        values = self.values << count | (1 << count) - 1
        return self._replace(wires=self.wires[count:], controls=(*self.wires[:count], *self.controls), values=values)
