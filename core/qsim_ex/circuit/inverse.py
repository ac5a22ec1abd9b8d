"""The inverse of straight unitary work: its instructions backwards, with the conjugates of its numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import ONE_AT, ZERO_AT
from qsim_ex.circuit.derivatives import add_at
from qsim_ex.circuit.ops import Instruction, Op, Permutation, conjugate
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.errors import NotSupported

Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False, slots=True)
class Inverse:
    """The inverse of the last instructions of some work, or their adjoint where they are not unitary.

    work: its instructions, whose operands are numbered anew. sources: of which operand each one is the conjugate, int
    [operands].
    """

    work: Structure
    sources: NDArray[np.int64]

    def operands(self, operands: Complex) -> Complex:
        """Return the operands of the inverse, complex128 [rows, own], for those of the work [rows, total]."""
        found: Complex = operands[:, self.sources].conj()
        return found

    def pulled(self, cotangents: Complex, total: int) -> Complex:
        """Return cotangents of the work's operands, [..., total], for those of the inverse, [..., own].

        A cotangent w of a number z says that a value changes by Re(w·dz).
        """
        found = np.zeros((*cotangents.shape[:-1], total), dtype=np.complex128)
        add_at(found, self.sources[: cotangents.shape[-1]], cotangents.conj())
        return found


def inverse(work: Structure, first: int = 0) -> Inverse:
    """Return the inverse of the instructions of straight work from number `first` on.

    Raises `NotSupported` for an instruction that has no inverse.
    """
    sources = _Sources()
    made: list[Instruction] = []
    for instruction in reversed(work.instructions[first:]):
        match instruction:
            case Op():
                made.append(sources.inverse_of(instruction))
            case Permutation(wires, indices):
                made.append(Permutation(wires, tuple(np.argsort(indices).tolist())))
            case _:
                raise NotSupported(
                    f"gradient: expected unitary gates behind the first parameter, got {type(instruction).__name__} "
                    f"({instruction}); put it in front of all gates with parameters."
                )
    return Inverse(structure_of(work.num_qubits, 0, tuple(made)), np.concatenate(sources.parts))


def adjoint(work: Structure) -> Inverse:
    """Return the adjoint of operations that need not be unitary, such as the maps of channels on density matrices.

    Raises `NotSupported` for an instruction that is no operation.
    """
    sources = _Sources(unitary=False)
    for instruction in work.instructions:
        if not isinstance(instruction, Op):
            raise NotSupported(
                f"gradient: expected gates and channels behind the first parameter, got {type(instruction).__name__}; "
                "put it in front of all gates with parameters."
            )
    made = tuple(sources.inverse_of(one) for one in reversed(work.instructions) if isinstance(one, Op))
    return Inverse(structure_of(work.num_qubits, 0, made), np.concatenate(sources.parts))


class _Sources:
    """The operands of an inverse. Operations that share their numbers share those of their inverses."""

    def __init__(self, *, unitary: bool = True) -> None:
        self._unitary = unitary
        self.parts: list[NDArray[np.int64]] = [np.array([ZERO_AT, ONE_AT])]
        self._size = 2
        self._known: dict[tuple[int, int, int], int] = {}

    def inverse_of(self, op: Op) -> Op:
        """Return the inverse of an operation: the transposes of its blocks, with the conjugates of its entries."""
        if self._unitary and not op.unitary:
            raise NotSupported(
                f"gradient: expected unitary gates, got {op.name!r}, which is not unitary; use gates, or parameter "
                "shifts with noise."
            )
        size = 1 << len(op.mixes)
        order = np.arange(len(op.pattern)).reshape(-1, size, size).swapaxes(1, 2).reshape(-1)
        key = op.operand, len(op.pattern), size
        place = self._known.get(key)
        if place is None:
            place = self._known[key] = self._size
            self.parts.append(op.operand + order)
            self._size += len(op.pattern)
        return op._replace(pattern=conjugate(bytes([op.pattern[k] for k in order])), operand=place)


def first_wanted(work: Structure, wanted: NDArray[np.bool_]) -> int:
    """Return the number of the first instruction with an operand that is needed; that of all if there is none."""
    for number, instruction in enumerate(work.instructions):
        if (
            isinstance(instruction, Op)
            and wanted[instruction.operand : instruction.operand + len(instruction.pattern)].any()
        ):
            return number
    return len(work.instructions)
