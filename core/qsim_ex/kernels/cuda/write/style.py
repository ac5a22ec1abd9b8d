"""Ways to write the same kernel, between which only a measurement can choose.

The engine uses `STYLE`. Others are for `benchmarks.sweeps`, which times them side by side on the GPU at hand; what was
measured is in docs/decisions.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelStyle:
    """One way to write kernels.

    more_blocks: how many blocks a multiprocessor shall hold beyond what `Precision.blocks` says.
    ahead: each block asks for the tile of the block that will take its place, so that memory works while it computes.
    near_lanes: tables lie in such an order that neighbouring threads read neighbouring entries.
    in_step: after about so many multiply-adds the warps of a block wait for one another, so that they meet the same
        instructions while these are in the nearest cache; 0 is never.
    streamed: amplitudes are loaded and stored as what will not be used again.
    """

    more_blocks: int = 0
    ahead: bool = False
    near_lanes: bool = True
    in_step: int = 0
    streamed: bool = False


STYLE = KernelStyle()
