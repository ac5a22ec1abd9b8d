"""From cotangents of a sweep's operands to derivatives with respect to its columns: the chain rule in the gate table.

A cotangent w of a number z says that a value changes by Re(w·dz). The numbers are entries of rows of the gate table,
whose column `derivative` has their derivatives; the parameters of a row's factors are affine in the row's own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.derivatives import add_at, slopes
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.parameters.sweep import Numbers, ParameterSweep, SweptGate, Values
from qsim_ex.circuit.placed_gate import operations_of

Complex = NDArray[np.complex128]


def wanted(sweep: ParameterSweep) -> NDArray[np.bool_]:
    """Return which operands of a sweep depend on its columns, bool [total]."""
    found = np.zeros(sweep.template.operands.shape[1], dtype=np.bool_)
    for one in sweep.swept:
        found[np.add.outer(one.offsets, np.arange(_width(one)))] = True
    return found


def _width(gates: SweptGate) -> int:
    """Return how many operands each gate has."""
    one = operations_of(gates.row, gates.numbers[:1], gates.of_factors)
    return sum(len(GATES[row].pattern) for row, _ in one)


def pulled(sweep: ParameterSweep, which: Numbers, cotangents: Complex) -> Values:
    """Return derivatives with respect to all columns of a sweep, float64 [rows, values, columns].

    which: the binding of each row. cotangents: of all operands, complex128 [rows, values, total].
    """
    assert sweep.columns is not None
    values = sweep.columns[which]
    found = np.zeros((*cotangents.shape[:2], sweep.columns.shape[1]))
    for one in sweep.swept:
        _add(found, one, one.parameters(values), cotangents)
    return found


def _add(found: Values, gates: SweptGate, parameters: Values, cotangents: Complex) -> None:
    """Add the derivatives with respect to the columns of some gates; parameters: [rows, gates, parameters]."""
    rows, count, width = parameters.shape
    flat = parameters.reshape(-1, width)
    own = np.zeros((*cotangents.shape[:2], count, width))
    begin = 0
    for factor in _factors(gates, flat):
        entries = GATES[factor.row].derivatives(factor.parameters).reshape(rows, count, factor.parameters.shape[1], -1)
        size = entries.shape[-1]
        places = np.add.outer(np.array(gates.offsets), np.arange(begin, begin + size))
        of_factor = np.einsum("rvge,rgpe->rvgp", cotangents[:, :, places], entries).real
        own += np.einsum("rvgp,rgpw->rvgw", of_factor, factor.slopes.reshape(rows, count, -1, width))
        begin += size
    add_at(found, gates.columns, gates.scale * own.reshape(*own.shape[:2], -1)[:, :, gates.at])


class _Factor(NamedTuple):
    """A row of the table with parameters [count, its own], and how these depend on others: [count, own, others]."""

    row: str
    parameters: Values
    slopes: Values


def _factors(gates: SweptGate, parameters: Values) -> list[_Factor]:
    """Return what gates with some parameters [count, parameters] consist of."""
    count, width = parameters.shape
    if not gates.of_factors or (factors := GATES[gates.row].factors) is None:
        return [_Factor(gates.row, parameters, np.broadcast_to(np.eye(width), (count, width, width)))]
    found = []
    for number, (row, given) in enumerate(operations_of(gates.row, parameters, of_factors=True)):
        changes = slopes(lambda *own, k=number: iter(factors(*own)[k].parameters), [*parameters.T])
        by = np.empty((count, given.shape[1], width))
        for w, column in enumerate(changes):
            for p, change in enumerate(column):
                by[:, p, w] = change
        found.append(_Factor(row, given, by))
    return found
