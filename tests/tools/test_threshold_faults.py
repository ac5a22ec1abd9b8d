"""Faults beyond thresholds, planted one at a time: the fuzzer finds each with few wires, since it draws the numbers.

With the engine's own numbers it would take 16 wires and 17 gates, or thousands of bindings, to meet any of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.planted import Fault, check_found, instead, method, on_the_cpu

from qsim_ex.circuit import quarters
from qsim_ex.circuit.many import RowGates
from qsim_ex.circuit.parameters.sweep import SweptGate
from qsim_ex.circuit.placed_gate import OperandBuilder
from qsim_ex.circuit.quarters import QuarterKeys
from qsim_ex.frameworks.read_gates import ReadRows
from qsim_ex.run import branch_points
from tools.fuzz.kinds import installed

MOST = 20_000
"""Circuits within which a fault must be found."""


def anew(patch: pytest.MonkeyPatch) -> None:
    """Let the readers of frameworks number their rows again; those that are kept stay right."""
    if installed("cirq"):
        from qsim_ex_cirq.translation import native_columns as of_cirq

        patch.setattr(of_cirq, "_reader", _kept(of_cirq._reader.__wrapped__))
    if installed("qiskit"):
        from qsim_ex_provider.translation import native_columns as of_qiskit

        instead(patch, of_qiskit.interface, _kept(of_qiskit.interface.__wrapped__))


def _kept(make: Any) -> Any:
    made: list[Any] = []

    def get() -> Any:
        if not made:
            made.append(make())
        return made[0]

    return get


def second_number(patch: pytest.MonkeyPatch) -> None:
    """Rows that stand for turns get a second number where gates are rows of these names, and nobody asserts."""

    def numbered(right: Any, self: Any, rows: Any, row_bits: int) -> None:
        right(self, rows, row_bits)
        twice = [row for name in rows for row in quarters.QUARTERS.get(name, ()) if row in rows]
        added = tuple(dict.fromkeys((*self.added, *twice)))
        number_of = {name: len(rows) + k for k, name in enumerate(added)}
        for number, name in enumerate(rows):
            if name in quarters.QUARTERS:
                self._turned[number] = [number_of.get(row, -1) for row in quarters.QUARTERS[name]]
        self.added = added

    def read(self: Any, rows: Any) -> None:
        self._quarters = QuarterKeys(rows, 8)
        self._rows = (*rows, *self._quarters.added)

    method(patch, QuarterKeys, "__init__", numbered)
    patch.setattr(ReadRows, "__init__", read)
    patch.setattr(RowGates, "__post_init__", lambda _: None)
    anew(patch)


def unfilled_constant(patch: pytest.MonkeyPatch) -> None:
    """The numbers of S are not written where many gates are appended together."""

    def constant(right: Any, self: Any, row: Any, at: int | None = None) -> int:
        if row.name == "s" and at is not None and row.name not in self.shared:
            self.shared[row.name] = at
            return at
        return int(right(self, row, at))

    method(patch, OperandBuilder, "constant", constant)


def growing_tolerance(patch: pytest.MonkeyPatch) -> None:
    """What may be dropped of an angle grows with it, and no angle is too large."""
    right = quarters._left
    patch.setattr(quarters, "_left", lambda angles, turns: right(angles, turns) / np.maximum(1, np.abs(angles)))
    patch.setattr(quarters, "_LARGEST", 1e18)


def half_of_the_turns(patch: pytest.MonkeyPatch) -> None:
    """Where gates are read in bulk, RZ beyond a whole turn loses its sign."""

    def numbered(right: Any, self: Any, *given: Any) -> None:
        right(self, *given)
        self._turned[:, 9:] = self._turned[:, 1:8]

    method(patch, QuarterKeys, "__init__", numbered)
    anew(patch)


def wrong_second_piece(patch: pytest.MonkeyPatch) -> None:
    """Where the entries of a sweep are computed in pieces, the second piece has the numbers of the first."""

    def fill(right: Any, self: Any, operands: Any, values: Any) -> None:
        from qsim_ex import thresholds

        step = max(1, thresholds.now.entries_at_once // len(self.offsets))
        again = np.arange(len(values))
        again[step:] -= step
        right(self, operands, values[again])

    method(patch, SweptGate, "fill", fill)


def lost_group(patch: pytest.MonkeyPatch) -> None:
    """Of choices that are too many for one table, the second group is not made."""
    right = branch_points._groups
    patch.setattr(branch_points, "_groups", lambda choices: [*right(choices)[:1], *right(choices)[2:]])


FAULTS = [
    Fault("a second number of a row", second_number, ("qiskit-state", "cirq-state"), "qiskit", seed=149),
    Fault("a constant that is not filled", unfilled_constant, ("qiskit-state", "cirq-state"), "qiskit"),
    Fault("a tolerance that grows with the angle", growing_tolerance, ("state",), seed=893),
    Fault("signs lost in bulk", half_of_the_turns, ("qiskit-state",), "qiskit"),
    Fault("the second piece of a sweep", wrong_second_piece, ("bindings",), seed=127),
    Fault("a lost group of choices", lost_group, ("machine",), seed=1712),
]


@pytest.fixture(autouse=True)
def _on_the_cpu() -> Iterator[None]:
    with on_the_cpu():
        yield


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_beyond_a_threshold_is_found(fault: Fault) -> None:
    """A fault that no small circuit meets at the engine's own thresholds shows within 20,000 circuits."""
    check_found(fault, MOST)
