"""One gate or matrix on every state of a batch, with other numbers for each: a circuit, and operands [rows, total].

The circuit has the structure, which does not depend on the numbers; its own operands are those of row 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import ONE_AT, Circuit
from qsim_ex.circuit.ops import ALWAYS, Entry, Op, Pattern, When, mask_of
from qsim_ex.circuit.parameters.bindings import Bindings, Operands
from qsim_ex.circuit.parameters.sweep import ParameterSweepBuilder
from qsim_ex.errors import MatrixError, ParameterError


def gate_of(
    num_wires: int,
    rows: int,
    name: str,
    wires: Sequence[int],
    parameters: Sequence[object],
    controls: Sequence[int],
    control_values: int | None,
) -> tuple[Circuit, Bindings]:
    """Return a gate of the gate table whose parameters are numbers or arrays [rows].

    Raises what `CircuitBuilder.gate` raises.
    """
    columns = [_column(name, place, parameter, rows) for place, parameter in enumerate(parameters)]
    builder = ParameterSweepBuilder(num_wires, 0)
    builder.gate(name, wires, *columns, controls=controls, control_values=control_values)
    sweep = builder.sweep(rows if any(isinstance(column, np.ndarray) for column in columns) else 1)
    return sweep.template, sweep.bindings()


def _column(name: str, place: int, parameter: object, rows: int) -> Any:
    """Return a parameter as a number, or as float64 [rows]; raises `ParameterError`."""
    try:
        column = np.asarray(parameter, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"gate {name!r}: expected numbers or arrays as parameters, got {parameter!r} as parameter {place}; pass "
            "real numbers."
        ) from None
    if column.shape not in ((), (rows,)):
        raise ParameterError(
            f"gate {name!r}: expected one number, or one for each of {rows} states, shape ({rows},), got shape "
            f"{column.shape} as parameter {place}; pass one of the two."
        )
    if not np.isfinite(column).all():
        raise ParameterError(
            f"gate {name!r}: expected finite parameters, got a parameter {place} that is not finite in every state; "
            "check how it was computed."
        )
    return column if column.ndim else float(column)


def unitary_of(
    num_wires: int,
    rows: int,
    matrices: ArrayLike,
    wires: Sequence[int],
    controls: Sequence[int],
    control_values: int | None,
) -> tuple[Circuit, Operands]:
    """Return unitary matrices [rows, 2^k, 2^k], or one for all [2^k, 2^k], on k wires as a circuit and operands.

    An entry that is exactly zero in all of them is structure; matrices that are all diagonal mix nothing. Raises
    `MatrixError`, `WireError`.
    """
    array = np.asarray(matrices, dtype=np.complex128)
    if array.ndim != 3:
        builder = CircuitBuilder(num_wires)
        circuit = builder.unitary(array, wires, controls=controls, control_values=control_values).build()
        return circuit, circuit.operands
    size = 1 << len(wires)
    check.wires((*wires, *controls), num_wires, "unitary")
    if array.shape != (rows, size, size):
        raise MatrixError(
            f"unitary: expected matrices of shape ({rows}, {size}, {size}) for {len(wires)} wires of {rows} states, or "
            f"one for all of shape ({size}, {size}), got {array.shape}; pass one of the two."
        )
    _unitary(array)
    values = -1 if control_values is None else control_values
    when = When(mask_of(tuple(controls)), mask_of(tuple(w for k, w in enumerate(controls) if values >> k & 1)))
    zero = np.asarray((array == 0).all(axis=0))
    if zero[~np.eye(size, dtype=bool)].all():
        entries = np.diagonal(array, axis1=1, axis2=2)
        of = bytes([Entry.COMPLEX]) * size
        return numbered(num_wires, (Op((), tuple(1 << w for w in wires), when, of, 2, "diagonal"),), entries)
    of = np.where(zero, int(Entry.ZERO), int(Entry.COMPLEX)).astype(np.uint8).tobytes()
    return numbered(num_wires, (Op(tuple(wires), (), when, of, 2, "unitary"),), array.reshape(rows, -1))


def _unitary(matrices: NDArray[np.complex128]) -> None:
    """Raise `MatrixError` unless all matrices [rows, d, d] are finite and unitary."""
    if len(bad := np.flatnonzero(~np.isfinite(matrices).all(axis=(1, 2)))):
        raise MatrixError(
            f"unitary: expected finite entries, got NaN or infinity in the matrix of {check.rows(bad)}; check how it "
            "was computed."
        )
    off = np.abs(matrices.conj().swapaxes(1, 2) @ matrices - np.eye(matrices.shape[1])).max(axis=(1, 2))
    if len(bad := np.flatnonzero(off > check.UNITARY_TOLERANCE)):
        raise MatrixError(
            f"unitary: expected a unitary matrix for every state, got one for {check.rows(bad)} whose U†U differs from "
            f"1 by {off.max():.2g} (limit {check.UNITARY_TOLERANCE:.2g}); check its entries."
        )


def numbered(num_wires: int, ops: tuple[Op, ...], entries: NDArray[np.generic]) -> tuple[Circuit, Operands]:
    """Return a circuit of operations whose entries [rows, all of them] are consecutive from operand 2 on."""
    operands = np.zeros((len(entries), 2 + entries.shape[1]), dtype=np.complex128)
    operands[:, ONE_AT] = 1
    operands[:, 2:] = entries
    return Circuit(num_wires, 0, ops, operands[:1]), operands


def on_wires(
    num_wires: int, wires: Sequence[int], of: Pattern, matrices: NDArray[np.generic]
) -> tuple[Circuit, Operands]:
    """Return any matrices [rows, wires, 4], one on each of some wires of each state; of: classes of their entries."""
    ops = tuple(Op((wire,), (), ALWAYS, of, 2 + 4 * k, "matrix", unitary=False) for k, wire in enumerate(wires))
    return numbered(num_wires, ops, matrices.reshape(len(matrices), -1))
