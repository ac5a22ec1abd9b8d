"""A sweep by its definition, in NumPy: what the CUDA kernels are compared with."""

from __future__ import annotations

import numpy as np
from support.directions import in_memory

from qsim_ex.circuit.ops import Entry
from qsim_ex.steps.step import NUMBERED, Diagonal, Permute

CONSTANT = {Entry.ZERO: 0, Entry.ONE: 1, Entry.MINUS_ONE: -1}


def entries(item, numbers):
    """All entries of an item, constants included."""
    if item.reads:
        return numbers[item.slot.at : item.slot.at + len(item.pattern)]
    out, at = [], item.slot.at
    for entry in item.pattern:
        if entry in NUMBERED:
            out.append(numbers[at])
            at += 1
        else:
            out.append(CONSTANT[Entry(entry)])
    return np.array(out)


def block_of(index, reads):
    """The number that the parities under the masks make."""
    block = np.zeros_like(index)
    for k, mask in enumerate(reads):
        block |= (np.bitwise_count(index & mask).astype(np.int64) & 1) << k
    return block


def value_of(index, bits):
    """The number that some bits make."""
    return sum(((index >> bit & 1) << k for k, bit in enumerate(bits)), np.zeros_like(index))


def replaced(index, bits, value):
    """Each index with some bits set to a value."""
    for k, bit in enumerate(bits):
        index = index & ~(1 << bit) | (value >> k & 1) << bit
    return index


def run_sweep(psi, num_bits, sweep, numbers, high=0):
    """Return the state after the items of a sweep, one after another, in complex128; unvisited amplitudes stay."""
    before = np.array(psi, dtype=np.complex128)
    everywhere = np.arange(1 << num_bits, dtype=np.int64)
    psi = np.where(everywhere & sweep.fresh == 0, before, 0)[in_memory(everywhere, sweep.loads)]
    for block in sweep.register_blocks:
        for item in block.items:
            index = everywhere | high << num_bits
            local = everywhere[(index & item.when.mask) == item.when.value]
            out = psi.copy()
            if isinstance(item, Permute):
                to = np.array(item.to, dtype=np.int64)[value_of(local, item.bits)]
                out[replaced(local, item.bits, to)] = psi[local]
            else:
                block = block_of(local | high << num_bits, item.reads)
                if isinstance(item, Diagonal):
                    out[local] = entries(item, numbers)[block] * psi[local]
                else:
                    size = 1 << len(item.bits)
                    matrix = entries(item, numbers).reshape(-1, size, size)
                    row = value_of(local, item.bits)
                    out[local] = sum(matrix[block, row, c] * psi[replaced(local, item.bits, c)] for c in range(size))
            psi = out
    visited = everywhere & sweep.fresh & ~sum(1 << bit for bit in sweep.tile) == 0
    moved = np.empty_like(psi)
    moved[in_memory(everywhere, sweep.stores)] = psi
    return np.where(visited, moved, before)


def error_of(got, want, psi):
    """The distance of what a sweep makes of a state from the definition, relative to the larger of both norms.

    Matrices that are drawn may take all of a state away; what rounding leaves then has no digits that agree.
    """
    return np.linalg.norm(got - want) / max(np.linalg.norm(want), np.linalg.norm(psi))
