"""Thresholds of devices."""

from __future__ import annotations

from qsim_ex.native.thresholds import Table


class OfCpu(Table):
    """Those of the CPU.

    sum_block_bits: log2 of the amplitudes of a block of a sum, which are neighbours in memory; sum_unit_blocks: of the
        least blocks of a unit, which threads share.
    sum_alone: the most amplitudes of a state for whose sums threads are never worth it.
    sum_masks: the most Z-masks that share a pass: their totals of a block are 4 MiB.
    product_bytes: the bytes of each of the matrices of a product.
    large_bytes: the fewest bytes of a buffer that is kept (the C library does well with less), or that processes share.
    unasked_bytes: the bytes that every machine has; reading the free memory takes 40 of the 60 µs of a small state.
    chunk_bits: log2 of the amplitudes that one thread moves or adds between two checks for Ctrl-C.
    amplitudes_alone: the number of amplitudes below which waking a thread does not pay.
    """

    sum_block_bits: int = 10
    sum_unit_blocks: int = 6
    sum_alone: int = 1 << 12
    sum_masks: int = 256
    product_bytes: int = 32 << 20
    large_bytes: int = 1 << 22
    unasked_bytes: int = 1 << 24
    chunk_bits: int = 18
    amplitudes_alone: int = 1 << 15


class OfGpu(Table):
    """Those of the kernels of sweeps on a GPU.

    loaded_microseconds: what a sweep is predicted to be slower interpreted than compiled, from which on a first run
        takes its kernel from disk. On an H100 that cost it 0.7 ms, and gained 0.7 to 3 at 28 wires.
    """

    loaded_microseconds: int = 2000
