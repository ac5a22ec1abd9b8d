"""Readers of saves: for a row of `circuit.saves.SAVE_KINDS` the function that reads its values from states.

A unitary is of a circuit and not of a state; `run.unitary` computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.saves import SAVE_KINDS, Save, SaveValues, What
from qsim_ex.observe import expectation
from qsim_ex.observe.expectation import density_of, strings_of
from qsim_ex.placement.base import States
from qsim_ex.precision import Amplitudes

Wires = tuple[int, ...]


def read(states: States, saves: Sequence[Save], *, normalise: bool) -> list[SaveValues]:
    """Return the values of a save for each row of some states, [rows, …], or those of several expectation values.

    normalise: whether the states, whose norm is only near 1, are normalised first.
    """
    if len(saves) > 1:
        return [*_expectation_values(states, saves, normalise)]
    [save] = saves
    wires, reader = save.depends_on(states.num_wires), READERS.get(save.what)
    if reader is not None:
        return [reader(states, save, wires, normalise)]
    of_density = SAVE_KINDS[save.what].of_density
    assert of_density is not None
    return [of_density(save, _density_matrix(states, wires, normalise))]


def _statevector(states: States, save: Save, wires: Wires, normalise: bool) -> SaveValues:  # noqa: ARG001
    return _amplitudes_of(states, states.read_in_order(), normalise)


def _amplitudes(states: States, save: Save, wires: Wires, normalise: bool) -> SaveValues:
    return _amplitudes_of(states, states.gather(np.array(save.values, dtype=np.int64), wires), normalise)


def _amplitudes_squared(states: States, save: Save, wires: Wires, normalise: bool) -> SaveValues:
    found = _amplitudes(states, save, wires, normalise).astype(np.complex128, copy=False)
    return found.real**2 + found.imag**2


def _amplitudes_of(states: States, amplitudes: Amplitudes, normalise: bool) -> Amplitudes:
    if not normalise:
        return amplitudes
    _, norms = expectation.in_rows(states, ())
    return amplitudes / np.sqrt(norms)[:, None].astype(amplitudes.real.dtype)


def _probabilities(states: States, save: Save, wires: Wires, normalise: bool) -> SaveValues:  # noqa: ARG001
    found = states.marginals(wires)
    return found / found.sum(axis=1, keepdims=True) if normalise else found


def _expectation_value(states: States, save: Save, wires: Wires, normalise: bool) -> SaveValues:  # noqa: ARG001
    values: NDArray[np.float64]
    [values] = _expectation_values(states, [save], normalise)
    return values


def _expectation_values(states: States, saves: Sequence[Save], normalise: bool) -> NDArray[np.float64]:
    """Return the expectation values of the observables of saves, float64 [saves, rows]."""
    observables = [save.observable.on(save.depends_on(states.num_wires)) for save in saves if save.observable]
    values, norms = expectation.in_rows(states, observables)
    found: NDArray[np.float64] = values.real.T / (norms if normalise else 1)
    return found


def _expectation_value_variance(states: States, save: Save, wires: Wires, normalise: bool) -> SaveValues:
    assert save.observable is not None
    values, norms = expectation.in_rows(states, [one.on(wires) for one in _with_square(save.observable)])
    mean, square = (values.real / (norms[:, None] if normalise else 1)).T
    return np.stack([mean, square - mean**2], axis=1)


@lru_cache(maxsize=64)
def _with_square(observable: PauliSum) -> tuple[PauliSum, PauliSum]:
    return observable, observable.squared()


def _density_matrix(states: States, wires: Wires, normalise: bool) -> SaveValues:
    n, k = states.num_wires, len(wires)
    found: SaveValues
    if 2 * k >= n:  # then the matrix is no smaller than the state, which is read
        rest = [wire for wire in range(n) if wire not in wires]
        axes = [0, *(n - wire for wire in (*reversed(rest), *reversed(wires)))]  # axis 1 is the highest wire
        tensor = states.read_in_order().astype(np.complex128, copy=False).reshape(-1, *(2,) * n).transpose(axes)
        tensor = tensor.reshape(len(tensor), 1 << n - k, 1 << k)
        found = np.matmul(tensor.transpose(0, 2, 1), tensor.conj())
    elif k <= thresholds.now.density_by_strings:
        found = density_of(states.paulis(strings_of(wires)), k)
    else:
        found = np.array([states.row(row).density(wires) for row in range(states.rows)])
    if normalise:
        found /= np.trace(found, axis1=1, axis2=2)[:, None, None]
    return found


READERS: dict[What, Callable[[States, Save, Wires, bool], SaveValues]] = {
    "statevector": _statevector,
    "probabilities": _probabilities,
    "expectation_value": _expectation_value,
    "expectation_value_variance": _expectation_value_variance,
    "amplitudes": _amplitudes,
    "amplitudes_squared": _amplitudes_squared,
}
"""The reader of each kind that is no value of a density matrix, or is read faster than from one.

It is given the states, the save, its wires, and whether to normalise.
"""
