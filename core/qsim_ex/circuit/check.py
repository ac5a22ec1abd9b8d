"""Checks of what a caller gives; each raises an error that says what was given, what was wanted, and what to do."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex.errors import (
    CircuitError,
    MatrixError,
    MeasurementError,
    NoiseError,
    NotSupported,
    ShotsError,
    StateError,
    WireError,
)

UNITARY_TOLERANCE = 1e-7
"""Largest entry of U†U − 1 that is taken for rounding; single-precision matrices pass."""

CHANNEL_WIRES = 4
"""Most wires of a channel: a general one on k wires has 4^k matrices with 4^k entries each."""

CONDITION_BITS = 10
"""Most classical bits of a condition: all values at which it holds are listed."""

ROUNDING = 1e-12
"""What is left of a zero after some arithmetic in double precision."""

NOTHING = 1e-7
"""Entries of a Kraus matrix that is left out: it would be chosen once in 10^14 times, which is rounding."""

NORM_TOLERANCE = 1e-6
"""Largest |‖ψ‖ − 1| that is taken for rounding; single-precision states pass."""


def count(value: object, name: str) -> int:
    """Return a whole number from 0 up."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise CircuitError(f"{name} must be a whole number, got {value!r}.") from None
    if number < 0:
        raise CircuitError(f"{name} must not be negative, got {number}.")
    return number


def rows(numbers: Sequence[int] | NDArray[np.integer]) -> str:
    """Some states of a batch by their numbers, in words; of many, the first few."""
    named = ", ".join(str(number) for number in numbers[:5])
    if len(numbers) == 1:
        return f"state {named}"
    return f"states {named}" + (f", … ({len(numbers)} in all)" if len(numbers) > 5 else "")


def shots(value: object) -> int:
    """Return a positive whole number of shots; raises `ShotsError`."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ShotsError(f"shots must be a whole number from 1 up, got {value!r}.") from None
    if number < 1:
        raise ShotsError(f"shots must be a whole number from 1 up, got {number}.")
    return number


def wire(value: object, num_qubits: int, name: str) -> int:
    """Return a wire's number if it is one of `num_qubits`."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise WireError(f"{name}: a wire is a whole number, got {value!r}.") from None
    if not 0 <= number < num_qubits:
        raise WireError(f"{name}: wire {number} is out of range, the circuit has {num_qubits} wires from 0.")
    return number


def wires(values: Sequence[object], num_qubits: int, name: str) -> tuple[int, ...]:
    """Return wires as plain integers if they are in range and none is given twice; raises `WireError`."""
    numbers = tuple([wire(value, num_qubits, name) for value in values])
    if len(set(numbers)) != len(numbers):
        twice = next(w for w in numbers if numbers.count(w) > 1)
        raise WireError(f"{name}: wire {twice} is given twice in {list(numbers)}.")
    return numbers


def clbits(values: Sequence[int], num_wires: int, num_clbits: int) -> tuple[int, ...]:
    """Return the classical bits of a measurement as plain integers; raises `MeasurementError`."""
    if len(values) != num_wires:
        raise MeasurementError(f"measure: {num_wires} wires need as many classical bits, got {len(values)}.")
    bad = [c for c in values if not 0 <= c < num_clbits]
    if bad:
        raise MeasurementError(f"measure: classical bit {bad[0]} is out of range, the circuit has {num_clbits}.")
    if len(set(values)) != len(values):
        raise MeasurementError(f"measure: a classical bit is given twice in {list(values)}.")
    return tuple(map(int, values))


def condition(clbits: Sequence[int], values: Iterable[int], num_clbits: int) -> tuple[int, ...]:
    """Return the values of a classical condition, ascending; raises `CircuitError`, `NotSupported`."""
    if len(clbits) > CONDITION_BITS:
        raise NotSupported(f"a condition on {len(clbits)} classical bits; at most {CONDITION_BITS} are supported.")
    for clbit in clbits:
        if not 0 <= clbit < num_clbits:
            raise CircuitError(f"condition: classical bit {clbit} is out of range for {num_clbits} classical bits.")
    wanted = tuple(sorted(set(values)))
    if any(not 0 <= value < 1 << len(clbits) for value in wanted):
        raise CircuitError(f"condition: {len(clbits)} bits hold 0 to {(1 << len(clbits)) - 1}, got {list(wanted)}.")
    return wanted


def label(value: str, taken: Iterable[str]) -> None:
    """Check that a label of a saved state is new."""
    if value in set(taken):
        raise CircuitError(f"a state is saved under the label {value!r} already; give this one another label.")


def _finite(array: NDArray[np.complex128], name: str) -> None:
    if not np.isfinite(array).all():
        raise MatrixError(f"{name}: the matrix holds NaN or infinity.")


def square(matrix: ArrayLike, num_wires: int, name: str) -> NDArray[np.complex128]:
    """Return a finite complex128 matrix [2^k, 2^k] for k wires."""
    array = np.asarray(matrix, dtype=np.complex128)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise MatrixError(f"{name}: a square matrix is wanted, got one of shape {array.shape}.")
    size = array.shape[0]
    if size < 1 or size & (size - 1):
        raise MatrixError(f"{name}: the matrix has {size} rows, which is not a power of two.")
    if size != 1 << num_wires:
        raise MatrixError(f"{name}: {num_wires} wires need {1 << num_wires} rows, the matrix has {size}.")
    _finite(array, name)
    return array


def unitary(matrix: ArrayLike, num_wires: int, name: str, tolerance: float | None) -> NDArray[np.complex128]:
    """Return a complex128 matrix [2^k, 2^k] that is unitary within `tolerance` (entries of U†U − 1)."""
    array = square(matrix, num_wires, name)
    limit = UNITARY_TOLERANCE if tolerance is None else tolerance
    off = float(np.abs(array.conj().T @ array - np.eye(len(array))).max())
    if off > limit:
        raise MatrixError(f"{name}: the matrix is not unitary, U†U differs from 1 by {off:.1e} (limit {limit:.1e}).")
    return array


def kraus(matrices: ArrayLike, num_wires: int, name: str, tolerance: float | None) -> NDArray[np.complex128]:
    """Return finite complex128 Kraus matrices [count, 2^k, 2^k], none of them zero, with Σ K†K = 1.

    tolerance: the largest entry of Σ K†K − 1 that is taken for rounding. Raises `MatrixError` for a wrong shape and
    for NaN, `NoiseError` for a sum that is not 1 and for too many wires.
    """
    if num_wires > CHANNEL_WIRES:
        raise NoiseError(f"{name}: a channel acts on at most {CHANNEL_WIRES} wires, {num_wires} were given.")
    try:
        array = np.asarray(matrices, dtype=np.complex128)
    except (TypeError, ValueError) as error:
        raise MatrixError(f"{name}: Kraus matrices of one shape are wanted: {error}") from None
    size = 1 << num_wires
    if array.ndim != 3 or array.shape[1:] != (size, size):
        raise MatrixError(
            f"{name}: {num_wires} wires need Kraus matrices of shape [count, {size}, {size}], got {array.shape}."
        )
    if not len(array):
        raise NoiseError(f"{name}: a channel has one Kraus matrix or more, none was given.")
    _finite(array, name)
    limit = UNITARY_TOLERANCE if tolerance is None else tolerance
    off = float(np.abs((array.conj().swapaxes(1, 2) @ array).sum(0) - np.eye(size)).max())
    if off > limit:
        raise NoiseError(
            f"{name}: the Kraus matrices do not keep the trace, Σ K†K differs from 1 by {off:.1e} (limit {limit:.1e})."
        )
    kept: NDArray[np.complex128] = array[np.abs(array).max((1, 2)) > NOTHING]
    return kept


def are_scaled_unitaries(matrices: NDArray[np.complex128]) -> bool:
    """Whether every matrix of [count, d, d] is a multiple of a unitary one: K†K is a multiple of the identity."""
    products = matrices.conj().swapaxes(1, 2) @ matrices
    weights = np.trace(products, axis1=1, axis2=2) / matrices.shape[-1]
    return bool(np.abs(products - weights[:, None, None] * np.eye(matrices.shape[-1])).max() <= ROUNDING)


def are_products(matrices: NDArray[np.complex128]) -> bool:
    """Whether every matrix of [count, 2^k, 2^k] is a Kronecker product of 2×2 matrices, one for each bit."""
    for matrix in matrices:
        rest = matrix
        for first in factors(matrix)[:-1]:
            blocks = blocks_of(rest)
            of = np.einsum("rcij,ij->rc", blocks, first.conj())
            if np.abs(blocks - of[:, :, None, None] * first).max() > ROUNDING:
                return False
            rest = of
    return True


def factors(matrix: NDArray[np.complex128]) -> list[NDArray[np.complex128]]:
    """2×2 matrices, that of the least significant bit first, whose Kronecker product is a matrix [2^k, 2^k].

    Where a matrix is a product, every 2×2 block is a multiple of the first factor: the largest block is taken for it.
    """
    found = []
    while len(matrix) > 2:
        blocks = blocks_of(matrix)
        sizes = np.linalg.norm(blocks, axis=(2, 3))
        row, column = np.unravel_index(np.argmax(sizes), sizes.shape)
        found.append(blocks[row, column] / sizes[row, column])
        matrix = np.einsum("rcij,ij->rc", blocks, found[-1].conj())
    return [*found, matrix]


def blocks_of(matrix: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """The 2×2 blocks of a matrix [2^k, 2^k], [2^(k−1), 2^(k−1), 2, 2]: rows and columns that share all higher bits."""
    half = len(matrix) // 2
    return matrix.reshape(half, 2, half, 2).transpose(0, 2, 1, 3)


def diagonal(entries: ArrayLike, num_wires: int, name: str) -> NDArray[np.complex128]:
    """Return 2^k finite complex128 entries of modulus 1."""
    array = np.asarray(entries, dtype=np.complex128)
    if array.shape != (1 << num_wires,):
        raise MatrixError(f"{name}: {num_wires} wires need {1 << num_wires} entries, got shape {array.shape}.")
    _finite(array, name)
    off = float(np.abs(np.abs(array) - 1).max())
    if off > UNITARY_TOLERANCE:
        raise MatrixError(f"{name}: the diagonal is not unitary, a modulus differs from 1 by {off:.1e}.")
    return array


def state(amplitudes: ArrayLike, num_wires: int) -> NDArray[np.complex128]:
    """Return 2^k finite complex128 amplitudes of norm 1; raises `StateError`."""
    array = np.asarray(amplitudes, dtype=np.complex128).reshape(-1)
    if array.size != 1 << num_wires:
        raise StateError(f"a state of {num_wires} wires has {1 << num_wires} amplitudes, got {array.size}.")
    if not np.isfinite(array).all():
        raise StateError("the state holds NaN or infinity.")
    norm = float(np.linalg.norm(array))
    if abs(norm - 1) > NORM_TOLERANCE:
        raise StateError(f"the state is not normalised: its norm is {norm:.9g}. Divide it by its norm.")
    return array


def permutation(indices: Sequence[int], num_wires: int) -> tuple[int, ...]:
    """Return a permutation of 0 … 2^k − 1 as plain integers."""
    moved = tuple(int(i) for i in indices)
    if sorted(moved) != list(range(1 << num_wires)):
        raise MatrixError(f"permutation: every number from 0 to {(1 << num_wires) - 1} is wanted exactly once.")
    return moved


def paulis(text: str, wires: Sequence[int]) -> None:
    """Check a string of I, X, Y and Z with a letter for each wire."""
    if len(text) != len(wires) or set(text) - set("IXYZ"):
        raise CircuitError(f"one letter of IXYZ for each of {len(wires)} wires is wanted, got {text!r}.")
