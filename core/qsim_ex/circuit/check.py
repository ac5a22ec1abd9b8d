"""Checks of a caller's arguments; each raises an error that says what was expected, what was given, and what to do."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex.errors import (
    CircuitError,
    MatrixError,
    MeasurementError,
    NoiseError,
    ShotsError,
    StateError,
    WireError,
)

UNITARY_TOLERANCE = 1e-7
"""Largest entry of U†U − 1 that is taken for rounding; single-precision matrices pass."""

CHANNEL_WIRES = 4
"""Most wires of a channel: a general one on k wires has 4^k matrices with 4^k entries each."""

ROUNDING = 1e-12
"""Largest modulus that is taken for zero after some arithmetic in double precision."""

NOTHING = 1e-7
"""Largest entry of a Kraus matrix that is left out: it would be chosen once in 10^14 times, which is rounding."""

NORM_TOLERANCE = 1e-6
"""Largest |‖ψ‖ − 1| that is taken for rounding; see `norm_tolerance` for amplitudes of single precision."""

_ROUNDINGS = 1 << 13
"""The most units of rounding by which a norm may be off, for states that went through thousands of gates."""


def count(value: object, name: str) -> int:
    """Return `value` as an integer >= 0; raises `CircuitError`."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise CircuitError(f"expected {name} to be a whole number >= 0, got {value!r}; pass an integer.") from None
    if number < 0:
        raise CircuitError(f"expected {name} >= 0, got {number}; pass an integer that is not negative.")
    return number


def rows(numbers: Sequence[int] | NDArray[np.integer]) -> str:
    """Return the numbers of some states of a batch in words; of more than 5, the first 5."""
    named = ", ".join(str(number) for number in numbers[:5])
    if len(numbers) == 1:
        return f"state {named}"
    return f"states {named}" + (f", … ({len(numbers)} in all)" if len(numbers) > 5 else "")


def shots(value: object, name: str = "shots") -> int:
    """Return the number of shots as an integer >= 1; raises `ShotsError`. name: what the caller calls them."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ShotsError(f"expected {name} to be a whole number >= 1, got {value!r}; pass {name}=1000.") from None
    if number < 1:
        raise ShotsError(f"expected {name} to be a whole number >= 1, got {number}; pass {name}=1000.")
    return number


def wire(value: object, num_qubits: int, name: str) -> int:
    """Return a wire as an integer from 0 to num_qubits − 1; raises `WireError`."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise WireError(f"{name}: expected a wire as a whole number, got {value!r}; number wires from 0.") from None
    if not 0 <= number < num_qubits:
        raise WireError(
            f"{name}: expected wires 0 <= w < {num_qubits}, got wire {number}, which is out of range; number wires "
            "from 0, or use more wires."
        )
    return number


def wires(values: Sequence[object], num_qubits: int, name: str) -> tuple[int, ...]:
    """Return wires as plain integers if they are in range and none is given twice; raises `WireError`."""
    try:  # all at once, which is faster
        numbers = tuple(map(operator.index, values))  # type: ignore[arg-type]
        ordered = sorted(numbers)
        fit = not numbers or 0 <= ordered[0] <= ordered[-1] < num_qubits
    except TypeError:
        fit = False
    if not fit:  # one by one, which finds the wire that is wrong
        numbers = tuple([wire(value, num_qubits, name) for value in values])
    if len(set(numbers)) != len(numbers):
        twice = next(w for w in numbers if numbers.count(w) > 1)
        raise WireError(f"{name}: expected distinct wires, got wire {twice} twice in {list(numbers)}; name it once.")
    return numbers


def clbits(values: Sequence[int], num_wires: int, num_clbits: int) -> tuple[int, ...]:
    """Return the classical bits of a measurement as plain integers; raises `MeasurementError`."""
    if len(values) != num_wires:
        raise MeasurementError(
            f"measure: expected {num_wires} classical bits, one for each wire, got {len(values)}; pass as many bits as "
            "wires."
        )
    ordered = sorted(values)
    if ordered and not 0 <= ordered[0] <= ordered[-1] < num_clbits:
        bad = next(c for c in values if not 0 <= c < num_clbits)
        raise MeasurementError(
            f"measure: expected classical bits 0 <= c < {num_clbits}, got bit {bad}, which is out of range; give "
            "the circuit more classical bits."
        )
    if len(set(values)) != len(values):
        raise MeasurementError(
            f"measure: expected distinct classical bits, got a bit twice in {list(values)}; name each bit once."
        )
    return tuple(map(int, values))


def condition(clbits: Sequence[int], values: Iterable[int], num_clbits: int) -> tuple[int, ...]:
    """Return the values of a classical condition, ascending; raises `CircuitError`."""
    for clbit in clbits:
        if not 0 <= clbit < num_clbits:
            raise CircuitError(
                f"condition: expected classical bits 0 <= c < {num_clbits}, got bit {clbit}, which is out of range; "
                "give the circuit more classical bits."
            )
    wanted = tuple(sorted(set(values)))
    if any(not 0 <= value < 1 << len(clbits) for value in wanted):
        raise CircuitError(
            f"condition: expected values from 0 to {(1 << len(clbits)) - 1}, which {len(clbits)} bits hold, got "
            f"{list(wanted)}; leave the others out."
        )
    return wanted


def label(value: str, taken: Iterable[str]) -> None:
    """Check that a label of a saved state is new; raises `CircuitError`."""
    if value in set(taken):
        raise CircuitError(
            f"expected a new label for the saved state, got {value!r}, under which a state is saved already; choose "
            "another label."
        )


def _finite(array: NDArray[np.complex128], name: str) -> None:
    if not np.isfinite(array).all():
        raise MatrixError(f"{name}: expected finite entries, got NaN or infinity; check how the matrix was computed.")


def square(matrix: ArrayLike, num_wires: int, name: str) -> NDArray[np.complex128]:
    """Return a finite complex128 matrix [2^k, 2^k] for k wires; raises `MatrixError`."""
    array = np.asarray(matrix, dtype=np.complex128)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise MatrixError(
            f"{name}: expected a square matrix, got shape {array.shape}; pass {1 << num_wires} rows and columns for "
            f"{num_wires} wires."
        )
    size = array.shape[0]
    if size < 1 or size & (size - 1):
        raise MatrixError(
            f"{name}: expected a matrix whose number of rows is a power of two, got {size} rows; pass "
            f"{1 << num_wires} rows for {num_wires} wires."
        )
    if size != 1 << num_wires:
        raise MatrixError(
            f"{name}: expected a matrix of {1 << num_wires} rows for {num_wires} wires, got {size} rows; pass another "
            "matrix or other wires."
        )
    _finite(array, name)
    return array


def unitary(matrix: ArrayLike, num_wires: int, name: str, tolerance: float | None) -> NDArray[np.complex128]:
    """Return a complex128 matrix [2^k, 2^k] that is unitary within `tolerance` (entries of U†U − 1).

    Raises `MatrixError`.
    """
    array = square(matrix, num_wires, name)
    limit = UNITARY_TOLERANCE if tolerance is None else tolerance
    off = float(np.abs(array.conj().T @ array - np.eye(len(array))).max())
    if off > limit:
        raise MatrixError(
            f"{name}: expected a unitary matrix, got one whose U†U differs from 1 by {off:.2g} (limit {limit:.2g}); "
            "check its entries."
        )
    return array


def kraus(
    matrices: ArrayLike, num_wires: int, name: str, tolerance: float | None, most: int = CHANNEL_WIRES
) -> NDArray[np.complex128]:
    """Return finite complex128 Kraus matrices [count, 2^k, 2^k], none of them zero, with Σ K†K = 1.

    tolerance: the largest entry of Σ K†K − 1 that is taken for rounding. most: of wires. Raises `MatrixError` for a
    wrong shape and for NaN, `NoiseError` for a sum that is not 1 and for too many wires.
    """
    if num_wires > most:
        raise NoiseError(
            f"{name}: expected a channel on at most {most} wires, got {num_wires} wires; use channels on fewer wires."
        )
    try:
        array = np.asarray(matrices, dtype=np.complex128)
    except (TypeError, ValueError) as error:
        raise MatrixError(
            f"{name}: expected Kraus matrices of one shape, got others ({error}); pass an array [count, 2^k, 2^k]."
        ) from None
    size = 1 << num_wires
    if array.ndim != 3 or array.shape[1:] != (size, size):
        raise MatrixError(
            f"{name}: expected Kraus matrices of shape [count, {size}, {size}] for {num_wires} wires, got "
            f"{array.shape}; pass other matrices or other wires."
        )
    if not len(array):
        raise NoiseError(f"{name}: expected one Kraus matrix or more, got none; pass matrices with Σ K†K = 1.")
    _finite(array, name)
    limit = UNITARY_TOLERANCE if tolerance is None else tolerance
    off = float(np.abs((array.conj().swapaxes(1, 2) @ array).sum(0) - np.eye(size)).max())
    if off > limit:
        raise NoiseError(
            f"{name}: expected Kraus matrices that keep the trace, got Σ K†K that differs from 1 by {off:.2g} (limit "
            f"{limit:.2g}); check their weights."
        )
    kept: NDArray[np.complex128] = array[np.abs(array).max((1, 2)) > NOTHING]
    return kept


def diagonal(entries: ArrayLike, num_wires: int, name: str) -> NDArray[np.complex128]:
    """Return 2^k finite complex128 entries of modulus 1; raises `MatrixError`."""
    array = np.asarray(entries, dtype=np.complex128)
    if array.shape != (1 << num_wires,):
        raise MatrixError(
            f"{name}: expected {1 << num_wires} entries for {num_wires} wires, got shape {array.shape}; pass one entry "
            "for each value of the wires."
        )
    _finite(array, name)
    off = float(np.abs(np.abs(array) - 1).max())
    if off > UNITARY_TOLERANCE:
        raise MatrixError(
            f"{name}: expected a unitary diagonal, got an entry whose modulus differs from 1 by {off:.2g} (limit "
            f"{UNITARY_TOLERANCE:.2g}); check its entries."
        )
    return array


def state(amplitudes: ArrayLike, num_wires: int) -> NDArray[np.complex128]:
    """Return 2^k finite complex128 amplitudes of norm 1; raises `StateError`.

    Amplitudes of single precision, which thousands of gates may have rounded, are divided by their norm.
    """
    given = np.asarray(amplitudes)
    array = np.asarray(given, dtype=np.complex128, order="C").reshape(-1)
    if array.size != 1 << num_wires:
        raise StateError(
            f"expected {1 << num_wires} amplitudes for {num_wires} wires, got {array.size}; pass 2^wires amplitudes."
        )
    found = norm(array)
    if not abs(found - 1) <= norm_tolerance(given.dtype):  # NaN is not within any bound
        if not np.isfinite(array).all():
            raise StateError("expected finite amplitudes, got NaN or infinity; check how they were computed.")
        raise StateError(f"expected a state of norm 1, got one of norm {found:.9g}; divide it by its norm.")
    return array if abs(found - 1) <= NORM_TOLERANCE else array / found


def norm(amplitudes: NDArray[np.complexfloating]) -> float:
    """Return the norm of an array of contiguous amplitudes, whose squares are summed in float64."""
    parts = amplitudes.view(amplitudes.real.dtype)  # by one thread: those of BLAS take 15 ms for 0.07 on busy cores
    return math.sqrt(np.einsum("i,i->", parts, parts, dtype=np.float64))


def norm_tolerance(dtype: np.dtype[Any]) -> float:
    """Return how far the norm of a state may be from 1, given the dtype in which it was computed."""
    if dtype.kind not in "fc":
        return NORM_TOLERANCE
    return max(NORM_TOLERANCE, _ROUNDINGS * float(np.finfo(dtype).eps))


def permutation(indices: Sequence[int], num_wires: int) -> tuple[int, ...]:
    """Return a permutation of 0 … 2^k − 1 as plain integers; raises `MatrixError`."""
    moved = tuple(int(i) for i in indices)
    if sorted(moved) != list(range(1 << num_wires)):
        raise MatrixError(
            f"permutation: expected every number from 0 to {(1 << num_wires) - 1} exactly once, got numbers that begin "
            f"with {list(moved[:16])}; pass 2^wires distinct numbers."
        )
    return moved


def paulis(text: str, wires: Sequence[int]) -> None:
    """Check that a string has one letter of I, X, Y and Z for each wire; raises `CircuitError`."""
    if len(text) != len(wires) or set(text) - set("IXYZ"):
        raise CircuitError(
            f"expected one letter of IXYZ for each of {len(wires)} wires, got {text!r}; pass {len(wires)} letters."
        )
