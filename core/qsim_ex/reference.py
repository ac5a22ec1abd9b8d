"""A dense simulator written from the definition: the oracle of the tests, slow on purpose.

``new[i] = Σ_c M[block(i), row(i), c] · old[i with the mixed bits set to c]`` for every index i at which the
controls hold. Nothing is fused, reordered or relabelled.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Channel, Initialize, Measure, Op, Permutation, Reset, Save

Vector = NDArray[np.complex128]


def zero_state(num_qubits: int) -> Vector:
    """Return |0…0>, complex128 [2^n]."""
    psi = np.zeros(1 << num_qubits, dtype=np.complex128)
    psi[0] = 1
    return psi


def extract(indices: NDArray[np.int64], wires: tuple[int, ...]) -> NDArray[np.int64]:
    """Return, for each index, the number that its bits at `wires` make, ``wires[0]`` least significant."""
    out = np.zeros_like(indices)
    for k, wire in enumerate(wires):
        out |= (indices >> wire & 1) << k
    return out


def replace(indices: NDArray[np.int64], wires: tuple[int, ...], value: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each index with its bits at `wires` set to `value`."""
    out = indices.copy()
    for k, wire in enumerate(wires):
        out = out & ~np.int64(1 << wire) | (value >> k & 1) << wire
    return out


def apply_op(psi: Vector, op: Op, operands: Vector) -> Vector:
    """Apply one operation by its definition."""
    size = 1 << len(op.mixes)
    matrix = operands[op.operand : op.operand + len(op.pattern)].reshape(-1, size, size)
    index = np.arange(psi.size, dtype=np.int64)
    index = index[(index & op.when.mask) == op.when.value]
    block = np.zeros_like(index)
    for k, mask in enumerate(op.reads):
        block |= (np.bitwise_count(index & mask).astype(np.int64) & 1) << k
    row = extract(index, op.mixes)
    out = psi.copy()
    out[index] = sum(matrix[block, row, c] * psi[replace(index, op.mixes, c)] for c in range(size))
    return out


def apply_permutation(psi: Vector, wires: tuple[int, ...], indices: tuple[int, ...]) -> Vector:
    """Move the amplitude at value x of `wires` to value ``indices[x]``."""
    index = np.arange(psi.size, dtype=np.int64)
    moved = np.asarray(indices, dtype=np.int64)[extract(index, wires)]
    out = np.empty_like(psi)
    out[replace(index, wires, moved)] = psi
    return out


def apply_initialize(psi: Vector, wires: tuple[int, ...], amplitudes: Vector) -> Vector:
    """Put wires that are |0> into a state."""
    index = np.arange(psi.size, dtype=np.int64)
    return np.asarray(amplitudes[extract(index, wires)] * psi[replace(index, wires, 0)])


def simulate(circuit: Circuit, psi: Vector | None = None) -> Vector:
    """Return the final state, complex128 [2^n], index bit w = wire w; measurements and saves change nothing.

    Raises `ValueError` at a reset, which is not unitary.
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
            case Channel():
                raise ValueError("which of a channel's matrices is applied is left to chance")
            case Measure() | Save():
                pass
            case Reset():
                raise ValueError("a reset is not unitary")
            case _:
                assert_never(instruction)
    return psi
