"""Cirq's controls: values of control qubits, and conditions on measured keys as classical expressions of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import cirq

from qsim_ex import frameworks
from qsim_ex.errors import MeasurementError, NotSupported
from qsim_ex.frameworks import later, thresholds
from qsim_ex_cirq.translation.measurements import MeasuredKey, PendingMeasurements
from qsim_ex_cirq.translation.place import Place

if TYPE_CHECKING:
    from qsim_ex.frameworks import Expression
    from qsim_ex_cirq.qudits import digits as levelled
    from qsim_ex_cirq.translation import formulas
    from qsim_ex_cirq.translation.translator import Translator
else:
    levelled = later("qsim_ex_cirq.qudits.digits")
    formulas = later("qsim_ex_cirq.translation.formulas")


WHILE: tuple[type, ...] = tuple(filter(None, [getattr(cirq, "While", None)]))
"""Cirq's loops that a condition opens, since Cirq 1.8."""


def condition_of(condition: cirq.Condition, pending: PendingMeasurements) -> Expression:
    """Return an expression that is not 0 where a condition holds; what it looks at is measured now.

    Cirq's own condition is asked for every value of its bits where it is of a class, or has a function, that the engine
    has no expression for. Raises `MeasurementError` for a key that was not measured before, and `NotSupported` where so
    many bits are read that this would take too long.
    """
    index = getattr(condition, "index", -1)
    reads = {key: _read(str(key), index, pending) for key in dict.fromkeys(condition.keys)}
    match condition:
        case cirq.KeyCondition(key):
            return reads[key].number().unary("truth", 1)
        case cirq.BitMaskKeyCondition():
            return _masked(condition, reads[condition.key].number())
        case cirq.SympyCondition(expr):
            try:
                return formulas.formula(expr, {str(key): read for key, read in reads.items()})
            except formulas.UnknownFormula as error:
                return _table(condition, reads, index, str(error))
        case _:
            return _table(condition, reads, index, type(condition).__name__)


def _read(key: str, index: int, pending: PendingMeasurements) -> MeasuredKey:
    read = pending.now(key, index)
    if read is None:
        raise MeasurementError(
            f"Measurement key {key} missing when testing classical control; measure it before what it controls."
        )
    return read


def _masked(condition: cirq.BitMaskKeyCondition, value: Expression) -> Expression:
    """Return whether the masked bits of a key are a value, or are another one."""
    mask, target = condition.bitmask, condition.target_value
    width = max([value.width, *[number.bit_length() for number in (mask, target) if number is not None]])
    value = value.cast(width)
    if mask is not None:
        value = value.binary("and", frameworks.Expression.constant(mask, width))
    return value.binary(
        "equal" if condition.equal_target else "not_equal", frameworks.Expression.constant(target, width), 1
    )


def _table(condition: cirq.Condition, reads: dict[Any, MeasuredKey], index: int, what: str) -> Expression:
    """Return the values of all bits of some keys for which a condition holds, as an expression."""
    clbits = tuple(clbit for read in reads.values() for clbit in read.clbits)
    if len(clbits) > thresholds.now.listed_bits:
        raise NotSupported(
            f"expected a classical control of sums, products, comparisons and logic where it reads more than "
            f"{thresholds.now.listed_bits} bits, got {what} on {len(clbits)}; write it with these."
        )
    values = [value for value in range(1 << len(clbits)) if _holds(condition, reads, index, value)]
    return (
        frameworks.Expression.of_bits(clbits).among(values)
        if clbits
        else frameworks.Expression.constant(len(values), 1)
    )


def _holds(condition: cirq.Condition, reads: dict[Any, MeasuredKey], index: int, value: int) -> bool:
    """Return whether a condition holds where the classical bits of all keys together have a value."""
    store = cirq.ClassicalDataDictionaryStore()
    for key, read in reads.items():
        if read.levels is not None:
            found = levelled.recorded(value & (1 << len(read.clbits)) - 1, read)
            if found is None:
                return False
            digits, shape = found, read.levels.shape
        else:
            digits = [(value >> k & 1) ^ invert for k, invert in enumerate(read.invert)]
            shape = (2,) * len(digits)
        value >>= len(read.clbits)
        if read.is_choice:
            number = int("".join(map(str, digits)) or "0", 2)
            for instance in range(read.instances):
                store.record_channel_measurement(key, number if instance == index % read.instances else 0)
            continue
        qubits = cirq.LineQid.for_qid_shape(shape)
        for instance in range(read.instances):
            mine = instance == index % read.instances
            store.record_measurement(key, digits if mine else [0] * len(digits), qubits)
    return bool(condition.resolve(store))


def nested(conditions: Sequence[cirq.Condition], pending: PendingMeasurements) -> list[Expression] | None:
    """Return conditions that must all hold, without those on no keys; None if one of these does not hold."""
    nothing = cirq.ClassicalDataDictionaryStore()
    if not all(condition.keys or condition.resolve(nothing) for condition in conditions):
        return None
    return [condition_of(condition, pending) for condition in conditions if condition.keys]


Conjunction = tuple[tuple[int, ...], tuple[int, ...]]
"""Some controls, and the values that all of them must have."""


def conjunctions(wires: tuple[int, ...], values: cirq.ops.AbstractControlValues) -> Iterator[Conjunction]:
    """Yield the controls and control values of each term; the terms exclude each other, so they commute."""
    if isinstance(values, cirq.ProductOfSums):
        free = [k for k, allowed in enumerate(values) if len(allowed) == 2]
        terms: Any = [[min(allowed) for allowed in values]]
    else:
        free, terms = [], values.expand()
    kept = [k for k in range(len(wires)) if k not in free]
    for term in terms:
        yield tuple(wires[k] for k in kept), tuple(term[k] for k in kept)


def append_conditional(to: Translator, op: cirq.ClassicallyControlledOperation, place: Place) -> None:
    """Append a unitary operation under conditions on measured keys, all of which must hold."""
    inner = op.without_classical_controls()
    conditions = nested(sorted(op.classical_controls, key=str), to.pending)
    if conditions is not None:
        with ExitStack() as stack:
            for condition in conditions:
                stack.enter_context(to.builder.branch(condition))
            to.unitary(inner, place)
