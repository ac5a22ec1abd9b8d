"""What is asked of density matrices: populations, traces with observables, and reduced density matrices.

Everything is a sum of single entries ⟨r|ρ|c⟩, which are amplitudes of the state of row, column and bit wires. Sums
over bit wires are sums over the values of classical bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.observables import PauliString, PauliSum
from qsim_ex.circuit.saves import SAVE_KINDS, Save, SaveValues, What
from qsim_ex.errors import NotSupported
from qsim_ex.placement.base import States
from qsim_ex.placement.index_bits import move_bits

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


class DensityRows:
    """The density matrices of some rows of states; bit wires stand behind row and column wires.

    num_wires: of each density matrix. bits: the number of bit wires.
    """

    def __init__(self, states: States, num_wires: int, bits: int) -> None:
        self._states = states
        self._n = num_wires
        self._bits = bits
        self._every = range(2 * num_wires + bits)

    def populations(self, wires: Sequence[int] | None = None) -> Floats:
        """Return the probability of each value of some wires, float64 [rows, 2^wires]; it adds up to the trace.

        wires: row wires, and bit wires by their number in the state; all row wires by default. ``wires[0]`` is the
        least significant bit of a value.
        """
        wires = range(self._n) if wires is None else wires
        kept = [wire if wire < self._n else wire - self._n for wire in wires]
        return np.ascontiguousarray(_marginal(self._strings(0).real, kept))

    def _strings(self, x: int) -> Complex:
        """Return ⟨s|ρ|s ⊕ x⟩ for each value s of the row wires and then the bit wires, [rows, 2^(n + bits)]."""
        n, size = self._n, 1 << self._n + self._bits
        found = np.empty((self._states.rows, size), dtype=np.complex128)
        for first, end in thresholds.pieces(size, thresholds.now.amplitudes_at_once):
            values = np.arange(first, end, dtype=np.int64)
            rows = values & (1 << n) - 1
            at = rows | (rows ^ x) << n | values >> n << 2 * n
            found[:, first:end] = self._states.gather(at, self._every)
        return found

    def expectations(self, sums: Sequence[PauliSum]) -> tuple[Complex, Floats]:
        """Return tr(Hρ) of each row for each sum H, complex128 [rows, sums], and the traces, float64 [rows].

        A string is i^(number of Y) · X-part · Z-part, so its trace is Σ_s (−1)^parity(s & z) ⟨s|ρ|s ⊕ x⟩: the strings
        with one X-part read 2^n entries together.
        """
        by_x: dict[int, list[int]] = {0: [0]}
        for x, z in sorted({(t.x, t.z) for one in sums for t in one.terms} - {(0, 0)}):
            by_x.setdefault(x, []).append(z)
        values: dict[tuple[int, int], Floats] = {}
        s = np.arange(1 << self._n)
        for x, zs in by_x.items():
            entries = _marginal(self._strings(x), range(self._n))
            for z in zs:
                signs = 1 - 2.0 * (np.bitwise_count(s & z) & 1)
                values[x, z] = (1j ** PauliString(x, z).num_y * (entries @ signs)).real
        found = np.zeros((self._states.rows, len(sums)), dtype=np.complex128)
        for k, one in enumerate(sums):
            for term in one.terms:
                found[:, k] += term.coefficient * values[term.x, term.z]
        return found, values[0, 0]

    def matrices(self, wires: Sequence[int], given: Sequence[int] = ()) -> Complex:
        """Return the reduced density matrices of some wires, complex128 [rows, 2^given, 2^k, 2^k].

        given: bit wires, for each value of which there is a matrix of its own; its trace is the value's probability.
        """
        n, k = self._n, len(wires)
        kept = [*wires, *(n + wire for wire in wires), *given]
        rest = [wire for wire in range(n) if wire not in {*wires}]
        others = [wire for wire in range(2 * n, 2 * n + self._bits) if wire not in {*given}]
        if not rest and not others and k == n and kept == [*self._every]:
            found = self._states.read_in_order().astype(np.complex128, copy=False)
        else:
            size, outside = 1 << len(kept), 1 << len(rest) + len(others)
            found = np.zeros((self._states.rows, size), dtype=np.complex128)
            inner = move_bits(np.arange(size, dtype=np.int64), kept)
            step = max(1, thresholds.now.amplitudes_at_once // size)
            for first in range(0, outside, step):
                values = np.arange(first, min(first + step, outside), dtype=np.int64)
                at = move_bits(values, [*rest, *others]) | move_bits(
                    values & (1 << len(rest)) - 1, [n + w for w in rest]
                )
                entries = self._states.gather((inner[:, None] | at).reshape(-1), self._every)
                found += entries.reshape(len(found), size, -1).sum(axis=2)
        return found.reshape(len(found), 1 << len(given), 1 << k, 1 << k).swapaxes(2, 3)


def read(rows: DensityRows, save: Save, num_wires: int, given: Sequence[int] = ()) -> SaveValues:
    """Return the value of a save for each row, and for each value of the bit wires `given`.

    [rows, 2^given, …]; NaN for a value of the bits that never occurs.
    """
    return _read(rows, save, save.depends_on(num_wires), given)


def _of_matrices(rows: DensityRows, wires: Sequence[int], given: Sequence[int]) -> Complex:
    found = rows.matrices(wires, given)
    if not given:
        return found
    weights = np.trace(found, axis1=2, axis2=3).real[:, :, None, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(weights > _NEVER, found / weights, np.nan)


_NEVER = 1e-14
"""The largest probability that is taken for zero."""


def _probabilities(rows: DensityRows, save: Save, wires: Sequence[int], given: Sequence[int]) -> Floats:  # noqa: ARG001
    found = rows.populations([*wires, *given])
    found = found.reshape(len(found), 1 << len(given), -1)
    if not given:
        return found
    weights = found.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(weights > _NEVER, found / weights, np.nan)


def _amplitudes_squared(rows: DensityRows, save: Save, wires: Sequence[int], given: Sequence[int]) -> Floats:
    return _probabilities(rows, save, wires, given)[:, :, list(save.values)]


def _expectation_value(rows: DensityRows, save: Save, wires: Sequence[int], given: Sequence[int]) -> Floats:
    assert save.observable is not None
    return _means(rows, [save.observable], wires, given)[0]


def _expectation_value_variance(rows: DensityRows, save: Save, wires: Sequence[int], given: Sequence[int]) -> Floats:
    assert save.observable is not None
    mean, square = _means(rows, [save.observable, save.observable.squared()], wires, given)
    return np.stack([mean, square - mean**2], axis=-1)


def _means(rows: DensityRows, sums: Sequence[PauliSum], wires: Sequence[int], given: Sequence[int]) -> list[Floats]:
    """Return the expectation value of each sum on some wires, [rows, 2^given] each."""
    if not given:
        found, _ = rows.expectations([one.on(wires) for one in sums])
        return [found.real[:, k : k + 1] for k in range(len(sums))]
    matrices = _of_matrices(rows, wires, given)
    s = np.arange(1 << len(wires))
    means = []
    for one in sums:
        total = np.zeros(matrices.shape[:2])
        for term in one.terms:
            signs = (1 - 2.0 * (np.bitwise_count(s & term.z) & 1)) * term.coefficient * 1j**term.num_y
            total = total + (matrices[:, :, s, s ^ term.x] @ signs).real
        means.append(total)
    return means


READERS: dict[What, Callable[[DensityRows, Save, Sequence[int], Sequence[int]], SaveValues]] = {
    "probabilities": _probabilities,
    "expectation_value": _expectation_value,
    "expectation_value_variance": _expectation_value_variance,
    "amplitudes_squared": _amplitudes_squared,
}
"""Readers of kinds of saved values that are read faster than from density matrices; they return [rows, 2^given, …]."""


def _read(rows: DensityRows, save: Save, wires: Sequence[int], given: Sequence[int]) -> SaveValues:
    """Return the value of a save for each row and each value of the given bits."""
    if (reader := READERS.get(save.what)) is not None:
        return reader(rows, save, wires, given)
    of_density, matrices = SAVE_KINDS[save.what].of_density, _of_matrices(rows, wires, given)
    assert of_density is not None
    found = of_density(save, matrices.reshape(-1, *matrices.shape[2:]))
    return found.reshape(*matrices.shape[:2], *found.shape[1:])


def moments(rows: DensityRows, save: Save, num_wires: int) -> Complex:
    """Return what adds up over the branches of a state for a save, complex128 [rows, count + 1]; the trace is last.

    `mean` makes the value of the save of it.
    """
    wires = save.depends_on(num_wires)
    if save.what == "expectation_value_variance":
        assert save.observable is not None
        found: SaveValues = np.stack(_means(rows, [save.observable, save.observable.squared()], wires, ()), axis=1)
    else:
        found = _read(rows, save, wires, ())
    return np.concatenate([found.reshape(len(found), -1), rows.populations(())], axis=1).astype(np.complex128)


def mean(save: Save, found: Complex) -> Complex:
    """Return the value of a save from its moments, [count], of a trace of 1."""
    if save.what != "expectation_value_variance":
        return found
    return np.array([found[0], found[1] - found[0] ** 2])


def _marginal(values: NDArray[np.generic], kept: Sequence[int]) -> SaveValues:
    """Return the sums of [rows, 2^m] over all bits of the second index but some, ``kept[0]`` least significant."""
    m = values.shape[1].bit_length() - 1
    if [*kept] == [*range(m)]:
        return values
    axes = [m - bit for bit in reversed(kept)]  # axis 1 is the highest bit
    rest = [axis for axis in range(1, m + 1) if axis not in {*axes}]
    tensor = values.reshape(len(values), *(2,) * m).transpose(0, *axes, *rest)
    found: SaveValues = tensor.reshape(len(values), 1 << len(axes), -1).sum(axis=2)
    return found


def check_mixed(save: Save) -> None:
    """Check that a mixed state has the value that is saved; raises `NotSupported`."""
    if not SAVE_KINDS[save.what].of_mixed:
        raise NotSupported(
            f"expected values that a mixed state has, got save {save.label!r} of the {save.what} with "
            "method='density_matrix'; save the density matrix, or leave method out."
        )
