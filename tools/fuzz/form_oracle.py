"""What a form does, by definition: e^{i phase} C … R₂ R₁, each factor applied to a state as its formula says.

Nothing of the engine but its dataclasses is used, and of an instruction its matrix.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliString
from qsim_ex.circuit.ops import Op, Permutation
from qsim_ex.planning.form import Clifford, DenseBlock, Form

Vector = np.ndarray


def apply_pauli(psi: Vector, pauli: PauliString) -> Vector:
    """Return P psi: of each wire X, Y or Z, all of them, and the coefficient."""
    index = np.arange(psi.size)
    flipped = psi[index ^ pauli.x]  # X^x; below, Z^z before it, and i for each Y = iXZ
    signs = 1 - 2 * (np.bitwise_count((index ^ pauli.x) & pauli.z) & 1).astype(float)
    return (1j ** (pauli.x & pauli.z).bit_count()) * pauli.coefficient * signs * flipped


def clifford_matrix(clifford: Clifford) -> np.ndarray:
    """Return the matrix of C from C†XC and C†ZC.

    ⟨0|C is the row vector that all C†ZC leave as it is, and ⟨x|C is ⟨0|C times the C†XC of the wires of x.
    """
    wires = len(clifford.x_images)
    size = 1 << wires
    first = np.random.default_rng(0).normal(size=size) + 1j  # a column: its adjoint is the row
    for image in clifford.z_images:
        first = (first + apply_pauli(first, image)) / 2
    first /= np.linalg.norm(first)
    columns = [first]
    for image in clifford.x_images:
        columns += [apply_pauli(column, image) for column in columns]
    matrix = np.array(columns).conj()
    start = matrix[:, 0]
    there = start[np.abs(start) > 1e-9][0]
    return np.asarray(matrix * (abs(there) / there))


def _block_matrix(circuit: Circuit, block: DenseBlock) -> tuple[np.ndarray, int]:
    """Return the matrix of an instruction on the wires that it mixes, then what it reads; and how many it mixes."""
    instruction = circuit.instructions[block.instruction]
    if isinstance(instruction, Permutation):
        matrix = np.zeros((len(instruction.indices),) * 2)
        matrix[list(instruction.indices), range(len(instruction.indices))] = 1
        return matrix, len(instruction.wires)
    assert isinstance(instruction, Op)
    mixes, reads = len(instruction.mixes), len(instruction.reads)
    controls = [wire for wire in range(64) if instruction.when.mask >> wire & 1]
    wanted = sum((instruction.when.value >> wire & 1) << place for place, wire in enumerate(controls))
    entries = circuit.operands[0][instruction.operand :][: len(instruction.pattern)].reshape(-1, 1 << mixes, 1 << mixes)
    matrix = np.eye(1 << mixes + reads + len(controls), dtype=complex)
    for which, own in enumerate(entries):
        at = (wanted << reads | which) << mixes
        matrix[at : at + len(own), at : at + len(own)] = own
    return matrix, mixes


def _apply_block(psi: Vector, circuit: Circuit, block: DenseBlock) -> Vector:
    """Apply the sum of Pauli strings that a matrix is, each with the images of its factors."""
    matrix, mixes = _block_matrix(circuit, block)
    wires = len(matrix).bit_length() - 1
    xs, zs = block.generators[:mixes], block.generators[mixes:]
    out, columns = np.zeros_like(psi), np.arange(1 << wires)
    for x, z in product(range(1 << mixes), range(1 << wires)):
        entries = (-1j) ** (x & z).bit_count() * (-1.0) ** np.bitwise_count(columns & z)  # of the string, conjugate
        coefficient = (entries * matrix[columns ^ x, columns]).sum() / (1 << wires)
        if abs(coefficient) < 1e-14:
            continue
        term = psi * 1j ** (x & z).bit_count()
        for wire in range(wires):
            term = apply_pauli(term, zs[wire]) if z >> wire & 1 else term
        for wire in range(mixes):
            term = apply_pauli(term, xs[wire]) if x >> wire & 1 else term
        out = out + coefficient * term
    return out


def apply_form(psi: Vector, form: Form, circuit: Circuit) -> Vector:
    """Return what a form makes of a state; circuit: where the instructions of its blocks are."""
    items = [*form.rotations, *form.blocks]
    for item in sorted(items, key=lambda item: item.layer):
        if isinstance(item, DenseBlock):
            psi = _apply_block(psi, circuit, item)
        else:
            half = item.angle / 2
            psi = np.cos(half) * psi - 1j * np.sin(half) * apply_pauli(psi, item.pauli)
    return np.asarray(np.exp(1j * form.phase) * (clifford_matrix(form.clifford) @ psi))
