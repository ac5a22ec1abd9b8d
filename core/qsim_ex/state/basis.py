"""Basis values as users write them: integers, or strings of 0s and 1s."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.ops import When, mask_of
from qsim_ex.errors import CircuitError, WireError


def value(number: object, num_wires: int, name: str) -> int:
    """Return a basis value of some wires as a plain integer; raises `CircuitError` if it is out of range."""
    try:
        found = operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        raise CircuitError(f"{name}: expected a basis value that is a whole number, got {number!r}.") from None
    if not 0 <= found < 1 << num_wires:
        raise CircuitError(
            f"{name}: expected a basis value of {num_wires} wires (0 to 2^{num_wires} - 1), got {found}."
        )
    return found


def values(given: Sequence[int | str] | ArrayLike, num_wires: int) -> NDArray[np.int64]:
    """Return basis values as int64; in a string the leftmost character is the last wire, and every wire has one.

    Raises `CircuitError`.
    """
    if isinstance(given, np.ndarray) and given.dtype.kind in "iu":
        array = given.astype(np.int64).reshape(-1)
        bad = array[(array < 0) | (array >= 1 << num_wires)]
        if bad.size:
            value(int(bad[0]), num_wires, "amplitudes")
        return array
    if isinstance(given, str | bytes) or not isinstance(given, Sequence | np.ndarray):
        raise CircuitError(
            f"amplitudes: expected a sequence of basis values, got {given!r}; pass a list, such as [0, 3]."
        )
    return np.array([_one(item, num_wires) for item in given], dtype=np.int64)


def _one(item: int | str, num_wires: int) -> int:
    if not isinstance(item, str):
        return value(item, num_wires, "amplitudes")
    if len(item) != num_wires or set(item) - {"0", "1"}:
        raise CircuitError(f"amplitudes: expected a string of {num_wires} characters 0 or 1, got {item!r}.")
    return int(item, 2) if item else 0


def bits(given: int | Sequence[int], num_wires: int, name: str) -> int:
    """Return the value of some wires from an integer, or from a 0 or 1 for each wire; raises `CircuitError`."""
    if not isinstance(given, Sequence):
        return value(given, num_wires, name)
    if len(given) != num_wires or any(bit not in (0, 1) for bit in given):
        raise CircuitError(f"{name}: expected a 0 or 1 for each of {num_wires} wires, got {given!r}.")
    return sum(int(bit) << k for k, bit in enumerate(given))


def condition(where: Mapping[int, int] | None, wires: Sequence[int], num_wires: int) -> When:
    """Return the condition that wires hold values, none of them among `wires`; raises `WireError`, `CircuitError`."""
    wanted = dict(where or {})
    check.wires(tuple(wanted), num_wires, "where")
    if both := set(wanted) & set(wires):
        raise WireError(f"where: wire {min(both)} is asked for and held at a value; leave it out of one of them.")
    bad = [bit for bit in wanted.values() if bit not in (0, 1)]
    if bad:
        raise CircuitError(f"where: expected the value 0 or 1 for a wire, got {bad[0]!r}.")
    return When(mask_of(tuple(wanted)), mask_of(tuple(wire for wire, bit in wanted.items() if bit)))


def order(wires: Sequence[int] | None, num_wires: int, name: str, *, all_wires: bool = False) -> tuple[int, ...]:
    """Return checked wires, all in their order if None; `all_wires`: each wire must be given. Raises `WireError`."""
    if wires is None:
        return tuple(range(num_wires))
    check.wires(wires, num_wires, name)
    if all_wires and len(wires) != num_wires:
        raise WireError(f"{name}: expected an order of all {num_wires} wires, got {len(wires)} wires.")
    return tuple(operator.index(wire) for wire in wires)
