"""Operations on columns of the CPU device's buffers: rows are values of some bits, columns are all other bits.

These operations need a matrix product, or move amplitudes one by one. Columns are named by their *bases*, as in
`kernels.cpu.blocks`; as many are processed at a time as the workspace allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import ALWAYS, When, mask_of
from qsim_ex.devices.cpu.sums import offsets_of
from qsim_ex.kernels.cpu import blocks
from qsim_ex.precision import STORAGE, Amplitudes
from qsim_ex.steps.step import BasisPermutation, DenseMatrix, InitialAmplitudes

Places = NDArray[np.int64]


def wide(buffer: Amplitudes, num_bits: int, step: DenseMatrix, numbers: Any, high: int, threads: int) -> None:
    """Apply a matrix by one product for every chunk of columns, or one for each block that reads select there."""
    size = 1 << len(step.bits)
    matrices = numbers.reshape(-1, size, size).astype(buffer.dtype)
    inside = (1 << num_bits) - 1
    if high << num_bits & step.when.mask != step.when.value & ~inside:
        return
    when = When(step.when.mask & inside, step.when.value & inside)
    offsets = offsets_of(step.bits)

    def work(columns: Places) -> None:
        block = np.zeros(len(columns), dtype=np.int64)
        for k, mask in enumerate(step.reads):
            outside = (high << num_bits & mask).bit_count()
            block |= (np.bitwise_count(columns & (mask & inside)).astype(np.int64) + outside & 1) << k
        for selected in np.unique(block):
            chosen = columns[block == selected]
            values = blocks.gather(buffer, offsets, chosen, threads)
            blocks.scatter(buffer, offsets, chosen, matrices[selected] @ values, threads)

    _columns(buffer, num_bits, step.bits, when, work)


def shuffle(buffer: Amplitudes, num_bits: int, step: BasisPermutation, threads: int) -> None:
    """Gather, and scatter to other rows. A permutation of all bits needs a second copy of the state."""
    offsets = offsets_of(step.bits)
    targets = offsets[np.array(step.to, dtype=np.int64)]

    def work(columns: Places) -> None:
        blocks.scatter(buffer, targets, columns, blocks.gather(buffer, offsets, columns, threads), threads)

    _columns(buffer, num_bits, step.bits, ALWAYS, work)


def spread(buffer: Amplitudes, num_bits: int, step: InitialAmplitudes, numbers: Any, threads: int) -> None:
    """Apply an outer product, in place."""
    offsets = offsets_of(step.bits)
    amplitudes = numbers.astype(buffer.dtype)

    def work(columns: Places) -> None:
        blocks.spread(buffer, offsets, step.held, columns, amplitudes, threads)

    _columns(buffer, num_bits, step.bits, ALWAYS, work)


def density(buffer: Amplitudes, num_bits: int, bits: Sequence[int], threads: int) -> NDArray[np.complex128]:
    """Return the reduced density matrix of some bits: a matrix product for every chunk of columns, in complex128."""
    offsets = offsets_of(bits)
    out = np.zeros((len(offsets), len(offsets)), dtype=np.complex128)

    def work(columns: Places) -> None:
        values = blocks.gather(buffer, offsets, columns, threads).astype(np.complex128)
        out[...] += values @ values.conj().T

    _columns(buffer, num_bits, bits, ALWAYS, work)
    return out


def move(buffer: Amplitudes, num_bits: int, when: When, to: int, threads: int) -> None:
    """Exchange the amplitudes at which bits under `when.mask` are `when.value` with those where they are `to`."""
    if to == when.value:
        return
    bits = tuple(bit for bit in range(num_bits) if when.mask >> bit & 1)

    def work(columns: Places) -> None:
        blocks.exchange(buffer, columns, when.value, to, threads)

    _columns(buffer, num_bits, bits, ALWAYS, work, rows=2)


def _columns(
    buffer: Amplitudes,
    num_bits: int,
    bits: Sequence[int],
    when: When,
    work: Callable[[Places], object],
    rows: int = 0,
) -> None:
    """Call `work` with the bases of all columns at which `when` holds, as many at a time as the workspace allows."""
    free = ((1 << num_bits) - 1) & ~mask_of(tuple(bits)) & ~when.mask
    total = 1 << free.bit_count()
    rows = rows or 1 << len(bits)
    step = max(1, min(total, STORAGE[buffer.dtype].count(thresholds.now.product_bytes // rows)))
    for first in range(0, total, step):
        work(blocks.bases(free, when.value, first, min(step, total - first)))
