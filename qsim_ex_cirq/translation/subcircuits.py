"""Subcircuits: their operations, as often as they are repeated, or in a loop that measured keys end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cirq
import numpy as np

from qsim_ex.errors import CircuitError
from qsim_ex.frameworks import NeedsNumbers
from qsim_ex_cirq.translation.conditions import condition_of, nested
from qsim_ex_cirq.translation.place import Place

if TYPE_CHECKING:
    from qsim_ex_cirq.translation.translator import Translator


def unroll(to: Translator, op: cirq.CircuitOperation, place: Place) -> None:
    """Append the operations of a subcircuit, as often as it is repeated."""
    if op.repeat_until is not None:
        _repeated(to, op, place)
        return
    if not isinstance(op.repetitions, int | np.integer):
        raise NeedsNumbers(f"a subcircuit is repeated {op.repetitions} times")
    parts = list(op.mapped_circuit().all_operations())
    if place.literal:
        to.parts(parts, place)
        return
    # Numbers came from symbols, but not into every operation: those that have none of their own keep their rows.
    symbolic = op.replace(param_resolver=cirq.ParamResolver({})).mapped_circuit().all_operations()
    for part, written in zip(parts, symbolic, strict=True):
        to.parts([part], place._replace(literal=not cirq.is_parameterized(written)))


def _repeated(to: Translator, op: cirq.CircuitOperation, place: Place) -> None:
    """Append a subcircuit in a loop that ends on measured keys; the record of every round is kept."""
    until = op._mapped_repeat_until
    assert until is not None
    to.release(place.wires)
    to.pending.begin_loop(cirq.measurement_key_names(op))
    to.acted.update(place.wires)  # which are in any state when a later round begins
    with to.builder.loop():
        to.parts(list(op.replace(repeat_until=None).mapped_circuit().all_operations()), place)
        to.release(place.wires)
        with to.builder.branch(condition_of(until, to.pending)):
            to.builder.leave()


def while_they_hold(to: Translator, op: Any, place: Place) -> None:
    """Append a ``cirq.While``: its operation again and again, as long as all of its conditions hold.

    Raises `CircuitError` for one that measures no key of its conditions, as Cirq does when it comes to run.
    """
    measured = cirq.measurement_key_names(op)
    if measured.isdisjoint(str(key) for condition in op.conditions for key in condition.keys):
        raise CircuitError(f"expected a loop that measures what its condition reads, got {op}, which never ends.")
    to.release(place.wires)
    to.pending.begin_loop(measured)
    to.acted.update(place.wires)
    with to.builder.loop():
        holds = nested(op.conditions, to.pending)
        if holds is None:
            to.builder.leave()
        for condition in holds or ():
            with to.builder.branch(condition.invert()):
                to.builder.leave()
        to.parts([op.sub_operation], place)
        to.release(place.wires)
