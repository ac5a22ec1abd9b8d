"""A dense simulator written from the definition: the oracle of the tests, slow on purpose.

``new[i] = Σ_c M[block(i), row(i), c] · old[i with the mixed bits set to c]`` for every index i at which the
controls hold. Nothing is fused, reordered or relabelled. `density_matrix` is the average over all random outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.control import ControlFlow
from qsim_ex.circuit.ops import (
    ALWAYS,
    Begin,
    Channel,
    Conditional,
    Entry,
    Initialize,
    Instruction,
    Measure,
    Op,
    Permutation,
    Reset,
    Save,
    SetState,
)
from qsim_ex.later import later

if TYPE_CHECKING:
    from qsim_ex.circuit import ways
else:
    ways = later("qsim_ex.circuit.ways")

Vector = NDArray[np.complex128]
Matrix = NDArray[np.complex128]


def zero_state(num_qubits: int) -> Vector:
    """Return |0…0>, complex128 [2^n]."""
    psi = np.zeros(1 << num_qubits, dtype=np.complex128)
    psi[0] = 1
    return psi


def extract(indices: NDArray[np.int64], wires: tuple[int, ...]) -> NDArray[np.int64]:
    """Return for each index the number formed by its bits at `wires`, ``wires[0]`` least significant."""
    out = np.zeros_like(indices)
    for k, wire in enumerate(wires):
        out |= (indices >> wire & 1) << k
    return out


def replace(indices: NDArray[np.int64], wires: tuple[int, ...], value: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each index with its bits at `wires` set to `value`."""
    mask, bits = 0, 0 & value
    for k, wire in enumerate(wires):
        mask |= 1 << wire
        bits |= (value >> k & 1) << wire
    return indices & ~np.int64(mask) | bits


def apply_op(psi: Vector, op: Op, operands: Vector) -> Vector:
    """Apply one operation by its definition, to one state or to many [..., 2^n]."""
    size = 1 << len(op.mixes)
    matrix = operands[op.operand : op.operand + len(op.pattern)].reshape(-1, size, size)
    index = np.arange(psi.shape[-1], dtype=np.int64)
    index = index[(index & op.when.mask) == op.when.value]
    block = np.zeros_like(index)
    for k, mask in enumerate(op.reads):
        block |= (np.bitwise_count(index & mask).astype(np.int64) & 1) << k
    row = extract(index, op.mixes)
    out = psi.copy()
    out[..., index] = sum(matrix[block, row, c] * psi[..., replace(index, op.mixes, c)] for c in range(size))
    return out


def apply_permutation(psi: Vector, wires: tuple[int, ...], indices: tuple[int, ...]) -> Vector:
    """Move the amplitude at value x of `wires` to value ``indices[x]``, in one state or in many [..., 2^n]."""
    index = np.arange(psi.shape[-1], dtype=np.int64)
    moved = np.asarray(indices, dtype=np.int64)[extract(index, wires)]
    out = np.empty_like(psi)
    out[..., replace(index, wires, moved)] = psi
    return out


def apply_initialize(psi: Vector, wires: tuple[int, ...], amplitudes: Vector) -> Vector:
    """Put wires that are in |0> into a state of 2^k amplitudes, in one state or in many [..., 2^n]."""
    index = np.arange(psi.shape[-1], dtype=np.int64)
    return np.asarray(amplitudes[extract(index, wires)] * psi[..., replace(index, wires, 0)])


def set_state(wires: tuple[int, ...], amplitudes: Vector) -> Vector:
    """Return the state of 2^n amplitudes on all wires, ``wires[0]`` the least significant bit of their index."""
    return np.asarray(amplitudes[extract(np.arange(amplitudes.size, dtype=np.int64), wires)])


def simulate(circuit: Circuit, psi: Vector | None = None) -> Vector:
    """Return the final state, complex128 [2^n], index bit w = wire w; measurements and saves are ignored.

    Raises `ValueError` for a channel, a condition, and a reset.
    """
    psi = zero_state(circuit.num_qubits) if psi is None else np.array(psi, dtype=np.complex128)
    operands = circuit.operands[0]
    for instruction in circuit.instructions:
        match instruction:
            case Op():
                psi = apply_op(psi, instruction, operands)
            case Permutation(wires, indices):
                psi = apply_permutation(psi, wires, indices)
            case Initialize(wires, operand):
                psi = apply_initialize(psi, wires, operands[operand : operand + (1 << len(wires))])
            case SetState(wires, operand):
                psi = set_state(wires, operands[operand : operand + psi.size])
            case Channel():
                raise ValueError("expected a circuit with one final state, got a channel; use density_matrix.")
            case Conditional():
                raise ValueError("expected a circuit with one final state, got a condition; use density_matrix.")
            case Measure() | Save() | Begin():
                pass
            case Reset():
                raise ValueError("expected a circuit with one final state, got a reset; use density_matrix.")
            case ControlFlow():
                raise ValueError("expected a circuit with one final state, got a block or a loop; use density_matrix.")
            case _:
                assert_never(instruction)
    return psi


def density_matrix(circuit: Circuit, rho: Matrix | None = None) -> Matrix:
    """Return the final density matrix, complex128 [2^n, 2^n], the average over all random outcomes.

    Index bit w = wire w. ρ → Σ M ρ M†, where a gate has one matrix M, a channel its Kraus matrices, a reset |0⟩⟨v| and
    a measurement |v⟩⟨v| for each value v of its wires.
    """
    return np.asarray(np.sum(list(by_bits(circuit, rho).values()), axis=0))


def by_bits(circuit: Circuit, rho: Matrix | None = None) -> dict[int, Matrix]:
    """Return the density matrix for each value of the classical bits (bit c of a value = classical bit c).

    It is computed as in `density_matrix`, but a measurement leaves one matrix for each outcome. The matrices are not
    normalised: a trace is the probability of all outcomes so far. A classical bit holds the last value that was
    measured into it, at first 0.
    """
    n = circuit.num_qubits
    if rho is None:
        rho = np.zeros((1 << n, 1 << n), dtype=np.complex128)
        rho[0, 0] = 1
    operands = circuit.operands[0]
    if circuit.structure.has_control_flow:
        return ways.follow(circuit, rho, lambda instruction, bits, one: _after(n, instruction, operands, {bits: one}))
    found = {0: rho}
    for instruction in circuit.instructions:
        found = _after(n, instruction, operands, found)
    return found


def _after(
    n: int, instruction: Instruction, operands: NDArray[np.complex128], found: dict[int, Matrix]
) -> dict[int, Matrix]:
    """Return the density matrix for each value of the classical bits after an instruction that is no control flow."""
    match instruction:
        case Conditional(operation, clbits, values):
            maps = maps_of(n, operation, operands)
            acts = {bits: value_of(bits, clbits) in values for bits in found}
            return {bits: _average(one, maps) if acts[bits] else one for bits, one in found.items()}
        case Measure(wires, clbits):
            after: dict[int, Matrix] = {}
            for bits, one in found.items():
                for value in range(1 << len(wires)):
                    projected = _average(one, [embedded(n, wires, jump(len(wires), value, value))])
                    key = bits
                    for k, clbit in enumerate(clbits):
                        key = key & ~(1 << clbit) | (value >> k & 1) << clbit
                    after[key] = after.get(key, 0) + projected
            return after
        case Save() | Begin():
            return found
        case SetState(wires, operand):
            psi = set_state(wires, operands[operand : operand + (1 << n)])
            return {bits: np.trace(one) * np.outer(psi, psi.conj()) for bits, one in found.items()}
        case ControlFlow():
            raise AssertionError("control flow is followed by `circuit.ways`")
        case _:
            maps = maps_of(n, instruction, operands)
            return {bits: _average(one, maps) for bits, one in found.items()}


# --- matrices ---------------------------------------------------------------------------------------------------------


def value_of(bits: int, clbits: tuple[int, ...]) -> int:
    """Return the value of some classical bits, ``clbits[0]`` least significant."""
    return sum((bits >> clbit & 1) << k for k, clbit in enumerate(clbits))


def maps_of(
    n: int, instruction: Op | Permutation | Initialize | Channel | Reset, operands: NDArray[np.complex128]
) -> list[Matrix]:
    """Return the matrices M of ρ → Σ M ρ M†."""
    match instruction:
        case Op():
            return [_matrix(n, partial(apply_op, op=instruction, operands=operands))]
        case Permutation(wires, indices):
            return [_matrix(n, partial(apply_permutation, wires=wires, indices=indices))]
        case Initialize(wires, operand):
            amplitudes = operands[operand : operand + (1 << len(wires))]
            return [_matrix(n, partial(apply_initialize, wires=wires, amplitudes=amplitudes))]
        case Channel(wires, count, operand):
            size = 1 << len(wires)
            given = operands[operand : operand + count * size * size].reshape(count, size, size)
            return [embedded(n, wires, kraus) for kraus in given]
        case Reset(wires):
            return [embedded(n, wires, jump(len(wires), 0, value)) for value in range(1 << len(wires))]
        case _:
            assert_never(instruction)


def _average(rho: Matrix, maps: Iterable[Matrix]) -> Matrix:
    out = np.zeros_like(rho)
    for matrix in maps:
        out += matrix @ rho @ matrix.conj().T
    return out


def _matrix(num_qubits: int, apply: Callable[[Vector], Vector]) -> Matrix:
    """Return the matrix [2^n, 2^n] of a linear map: its columns are what becomes of the basis states."""
    return apply(np.eye(1 << num_qubits, dtype=np.complex128)).T


def embedded(num_qubits: int, wires: tuple[int, ...], matrix: Matrix) -> Matrix:
    """Return the matrix on all wires that acts as a given one on some wires."""
    op = Op(wires, (), ALWAYS, bytes([Entry.COMPLEX]) * matrix.size, 0, unitary=False)
    return _matrix(num_qubits, partial(apply_op, op=op, operands=matrix.reshape(-1)))


def jump(num_wires: int, to: int, value: int) -> Matrix:
    """Return |to⟩⟨value|."""
    matrix = np.zeros((1 << num_wires, 1 << num_wires), dtype=np.complex128)
    matrix[to, value] = 1
    return matrix
