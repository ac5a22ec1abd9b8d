"""What a GPU's kernels and plans are given for one precision: launches, tensor cores, and costs that were measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class LaunchGeometry:
    """How a sweep is shared out to thread blocks.

    tile_bits: a thread block works on a tile of 2^tile_bits amplitudes in its shared memory; at most 12, the number of
        bits that fixed_kernels/permute.cu can permute.
    threads: the threads of a thread block with such a tile.
    blocks: the number of these thread blocks that a multiprocessor must hold; this limits the registers of a thread.
    padded_blocks: the same of kernels that need fewer registers, since slots of shared memory have gaps.
    """

    tile_bits: int
    threads: int
    blocks: int
    padded_blocks: int


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class TensorCores:
    """How a dense block is written for the tensor cores.

    files: the files of kernels/cuda/write/tensor_kernels with the arithmetic.
    depth: the columns of the 16-row matrix whose numbers a warp loads at once, 16 bytes for each lane.
    loops: how often a warp reads eight columns before it multiplies them; the more, the more registers it needs.
    """

    files: tuple[str, ...]
    depth: int
    loops: int


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class FittedCosts:
    """What plans weigh against each other, fitted to measured times. Work is counted in multiply-adds per amplitude.

    pass_work: in the time in which a GPU reads and writes the state once.
    counted_work: the same where exchanges between register blocks are counted beside them; from the rates of
        `cost.Rates`.
    block_work: in the time that a dense block on four bits takes on the tensor cores.
    exchange_work: in the time in which a GPU exchanges a tile between two register blocks.
    permuted_work: in the time by which a GPU takes longer to write a tile back permuted.
    permute_work: in the time that a basis permutation within a tile takes.
    fewer_lows: so many lowest index bits do instead of four, if a plan gains by it; 0 if they do not.
    scattered: reading and writing takes so many times as long with them.
    """

    pass_work: float
    counted_work: float
    block_work: float
    exchange_work: float
    permuted_work: float
    permute_work: float
    fewer_lows: int
    scattered: float
