"""Operations of a circuit as Clifford gates on their wires, and channels as Pauli noise; each is looked at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.bits import gathered, spread
from qsim_ex.circuit.ops import ALWAYS, Channel, Op, Permutation, When, mask_of, wires_of
from qsim_ex.stabilizer.cliffords import MOST_WIRES, Images, Matrix, Pauli, images_of, pauli_channel

Wires = tuple[int, ...]


class OnWires(NamedTuple):
    """A Clifford gate on some wires; images: None if the operation is not Clifford or too wide to be looked at.

    folded: wires whose parity is brought into the last of them by CX gates before, and taken out again after.
    """

    wires: Wires
    images: Images | None
    folded: Wires = ()


class Recogniser:
    """Looks at the operations of one circuit; equal ones are looked at once.

    operands: the circuit's numbers, complex128 [total].
    """

    def __init__(self, operands: NDArray[np.complex128]) -> None:
        self._operands = operands
        self._placed: dict[object, Images | None] = {}  # by what tells operations apart beside their wires
        self._matrices: dict[tuple[int, bytes], Images | None] = {}
        self._channels: dict[tuple[int, int], tuple[tuple[Pauli, float], ...] | None] = {}

    def operation(self, op: Op) -> OnWires:
        """Return an operation as a gate."""
        mixes, reads, (mask, value), _, operand, _, _ = op
        key: object
        if not reads and not mask:
            wires, key = mixes, (operand, len(mixes))
        elif not reads and not mask & mask - 1:
            wires, key = (*mixes, mask.bit_length() - 1), (operand, len(mixes), value != 0)
        else:
            others = mask
            for read in reads:
                others |= read
            if others.bit_count() + len(mixes) > MOST_WIRES:
                return self._folded(op)
            wires = (*mixes, *wires_of(others))
            local = _local(op, wires)
            key = (operand, local.mixes, local.reads, local.when)
        if key not in self._placed:
            self._placed[key] = self._images(op, wires)
        return OnWires(wires, self._placed[key])

    def permutation(self, instruction: Permutation) -> OnWires:
        """Return a permutation of basis values as a gate."""
        wires = instruction.wires
        if len(wires) > MOST_WIRES:
            return OnWires(wires, None)
        matrix = np.zeros((1 << len(wires),) * 2, dtype=np.complex128)
        matrix[list(instruction.indices), np.arange(len(matrix))] = 1
        return OnWires(wires, self._of(matrix))

    def channel(self, channel: Channel) -> tuple[tuple[Pauli, float], ...] | None:
        """Return the Pauli products that a channel chooses among, with their probabilities; None for another one."""
        key = channel.operand, channel.count
        if key not in self._channels:
            size = 1 << len(channel.wires)
            entries = self._operands[channel.operand : channel.operand + channel.count * size * size]
            too_wide = len(channel.wires) > MOST_WIRES
            self._channels[key] = None if too_wide else pauli_channel(entries.reshape(channel.count, size, size))
        return self._channels[key]

    def _folded(self, op: Op) -> OnWires:
        """Return an operation that reads one parity of many wires as one that reads a wire which holds it."""
        if len(op.reads) != 1 or op.reads[0] & op.when.mask:
            return OnWires((*op.mixes, *wires_of(op.when.mask)), None)
        folded = wires_of(op.reads[0])
        found = self.operation(op._replace(reads=(1 << folded[-1],)))
        return found if found.folded else found._replace(folded=folded)

    def _images(self, op: Op, wires: Wires) -> Images | None:
        if not op.unitary or len(wires) > MOST_WIRES:
            return None
        return self._of(_matrix(_local(op, wires), len(wires), self._operands))

    def _of(self, matrix: Matrix) -> Images | None:
        key = len(matrix), matrix.tobytes()
        if key not in self._matrices:
            self._matrices[key] = images_of(matrix)
        return self._matrices[key]


def _local(op: Op, wires: Wires) -> Op:
    """Return an operation whose wire ``wires[k]`` is called k."""
    number = {wire: k for k, wire in enumerate(wires)}

    def on(mask: int) -> int:
        return mask_of(tuple([number[wire] for wire in wires_of(mask)]))

    when = ALWAYS if not op.when.mask else When(on(op.when.mask), on(op.when.value))
    return op._replace(mixes=tuple([number[wire] for wire in op.mixes]), reads=tuple(map(on, op.reads)), when=when)


def _matrix(op: Op, wires: int, operands: NDArray[np.complex128]) -> Matrix:
    """Return the matrix [2^k, 2^k] of an operation on wires 0 to k − 1."""
    size = 1 << len(op.mixes)
    entries = operands[op.operand : op.operand + len(op.pattern)].reshape(-1, size, size)
    found = np.eye(1 << wires, dtype=np.complex128)
    for row in range(1 << wires):
        if row & op.when.mask != op.when.value:
            continue
        block = sum(((row & read).bit_count() & 1) << k for k, read in enumerate(op.reads))
        of_mixes = gathered(row, op.mixes)
        kept = row & ~mask_of(op.mixes)
        for column in range(size):
            at = kept | spread(column, op.mixes)
            found[row, at] = entries[block, of_mixes, column]
    return found
