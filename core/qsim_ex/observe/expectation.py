"""Expectation values: sums of Pauli strings, and dense matrices on a few wires.

A Pauli string is i^(number of Y) · X-part · Z-part, and <ψ|X-part · Z-part|ψ> is one pass over memory that serves
all strings with the same X-part, whichever sum they stand in.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex import thresholds
from qsim_ex.circuit import check
from qsim_ex.circuit.observables import PauliString, PauliSum
from qsim_ex.devices.cpu import tile_sums
from qsim_ex.errors import NotSupported, WireError
from qsim_ex.placement.base import Placement, States

MATRIX_WIRES = 12
"""The most wires of a dense observable: its matrix has 4^12 entries, 256 MiB."""


def pauli_sums(placement: Placement, sums: Sequence[PauliSum]) -> NDArray[np.complex128]:
    """Return <ψ|H|ψ> for each sum H, complex128 [sums]; the state is not normalised first.

    Raises `WireError` for a string on wires that the state does not have.
    """
    fit(sums, placement.num_wires)
    values = _strings(placement, {(t.x, t.z) for one in sums for t in one.terms})
    return np.array([sum(t.coefficient * values[t.x, t.z] for t in one.terms) for one in sums], dtype=np.complex128)


def fit(sums: Sequence[PauliSum], num_wires: int) -> None:
    """Raise `WireError` unless the state has all wires that the sums act on."""
    for k, one in enumerate(sums):
        if one.num_wires() > num_wires:
            raise WireError(f"observable {k} acts on wire {one.num_wires() - 1}; expected at most {num_wires} wires.")


def _strings(placement: Placement, wanted: set[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """Return the expectation value of each Pauli string (x, z), a real number, in one request for all strings."""
    by_x: dict[int, list[int]] = {}
    for x, z in sorted(wanted):
        by_x.setdefault(x, []).append(z)
    most = thresholds.now.z_parts
    parts = [(x, zs[first:end]) for x, zs in by_x.items() for first, end in thresholds.pieces(len(zs), most)]
    values: dict[tuple[int, int], float] = {}
    for (x, zs), totals in zip(parts, placement.paulis(parts), strict=True):
        for z, total in zip(zs, totals.tolist(), strict=True):
            values[x, z] = float((1j ** PauliString(x, z).num_y * total).real)
    return values


def passes(sums: Sequence[PauliSum], num_wires: int, in_host_memory: bool) -> tuple[int, int]:
    """Return the number of distinct Pauli strings of some sums, and the passes over a state in which they are summed.

    in_host_memory: whether the state is on the CPU, where strings with several X-parts share passes.
    """
    by_x: dict[int, list[int]] = {}
    for x, z in sorted({(t.x, t.z) for one in sums for t in one.terms}):
        by_x.setdefault(x, []).append(z)
    parts = tuple([(x, tuple(zs)) for x, zs in by_x.items()])
    shared = tile_sums.passes(num_wires, parts) if in_host_memory and num_wires >= tile_sums.TILE_BITS else ()
    taken = {k for one in shared for k in one.parts}
    most = thresholds.now.sum_masks if in_host_memory else thresholds.now.z_parts
    alone = sum(-(-len(zs) // most) for k, (_, zs) in enumerate(parts) if k not in taken)
    return sum(len(zs) for _, zs in parts), len(shared) + alone


def in_rows(states: States, sums: Sequence[PauliSum]) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
    """Return <ψ|H|ψ> of each row for each sum H, complex128 [rows, sums], and the squared norms, float64 [rows]."""
    strings = _strings_of(tuple(sums))
    values = (states.paulis(strings.by_x) * strings.turns).real
    return values @ strings.coefficients, values[:, 0]


class _PauliStrings(NamedTuple):
    """The distinct strings of some sums.

    by_x: X-parts with the Z-parts of each, as states are asked for them; the first string is the identity. turns: a
    power of i for each string. coefficients: complex128 [strings, sums].
    """

    by_x: list[tuple[int, list[int]]]
    turns: NDArray[np.complex128]
    coefficients: NDArray[np.complex128]


@lru_cache(maxsize=4)
def _strings_of(sums: tuple[PauliSum, ...]) -> _PauliStrings:
    """Return the distinct strings of some sums; cached, since loops ask for the same sums again."""
    by_x: dict[int, list[int]] = {0: [0]}
    for x, z in sorted({(t.x, t.z) for one in sums for t in one.terms} - {(0, 0)}):
        by_x.setdefault(x, []).append(z)
    place = {(x, z): k for k, (x, z) in enumerate((x, z) for x, zs in by_x.items() for z in zs)}
    coefficients = np.zeros((len(place), len(sums)), dtype=np.complex128)
    for k, one in enumerate(sums):
        for t in one.terms:
            coefficients[place[t.x, t.z], k] += t.coefficient
    turns = np.array([1j ** PauliString(x, z).num_y for x, z in place])
    return _PauliStrings(list(by_x.items()), turns, coefficients)


def matrix(placement: Placement, observable: ArrayLike, wires: Sequence[int]) -> complex:
    """Return <ψ|M|ψ> for a matrix M [2^k, 2^k] on k wires, which need not be Hermitian.

    Raises `MatrixError`, `WireError`, and `NotSupported` above `MATRIX_WIRES` wires.
    """
    check.wires(wires, placement.num_wires, "expectation_matrix")
    if len(wires) > MATRIX_WIRES:
        raise NotSupported(
            f"expected a dense observable on at most {MATRIX_WIRES} wires, got {len(wires)}; use a PauliSum."
        )
    array = check.square(observable, len(wires), "expectation_matrix")
    return complex(np.sum(array * placement.density(wires).T))


def density_of(values: NDArray[np.complex128], num_wires: int) -> NDArray[np.complex128]:
    """Return reduced density matrices [rows, 2^k, 2^k] from the expectation values of X-part · Z-part, [rows, 4^k].

    values: for each x and each z of `strings_of`. ρ[v, v XOR x] = 2^−k Σ_z (−1)^parity(v & z) <x, z>.
    """
    size = 1 << num_wires
    v = np.arange(size)
    signs = 1 - 2.0 * (np.bitwise_count(v[:, None] & v) & 1)
    found = np.empty((len(values), size, size), dtype=np.complex128)
    for x in range(size):
        found[:, v, v ^ x] = values[:, x * size : (x + 1) * size] @ signs / size
    return found


def strings_of(wires: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Return all X-parts and Z-parts on some wires, as masks of wires, in the order of `density_of`."""
    masks = [sum(1 << wire for k, wire in enumerate(wires) if value >> k & 1) for value in range(1 << len(wires))]
    return [(x, masks) for x in masks]
