"""Alternative ways to write the same kernel, which only a measurement can compare.

The engine uses `STYLE`. Others are for `benchmarks.sweeps`, which times them side by side on the GPU at hand; the
measurements are in docs/decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class KernelStyle:
    """One way to write kernels.

    more_blocks: the blocks that a multiprocessor must hold beyond `Precision.blocks`; this limits the registers.
    ahead: each block prefetches the tile of the block that will follow it, so that memory works while it computes.
    near_lanes: tables are ordered so that neighbouring threads read neighbouring entries.
    in_step: the multiply-adds after which the warps of a block wait for one another, so that they use the same
        instructions while these are in the nearest cache; 0 is never.
    streamed: amplitudes are loaded and stored with the hint that they will not be used again.
    pivots: which rotations take half of the multiply-adds: "none", "pairs" or "all"; see `pivots`.
    padded: in which kernels slots of shared memory have gaps: "none", those with pairs that are pivoted ("pairs") or
        "all" that may; see `slots`.
    frames: in which sweeps CX moves no amplitude within a phase: "none", those over subspaces ("maps") or "all"; see
        `phase_frame`.
    """

    more_blocks: int = 0
    ahead: bool = False
    near_lanes: bool = True
    in_step: int = 0
    streamed: bool = False
    pivots: Literal["none", "pairs", "all"] = "pairs"
    padded: Literal["none", "pairs", "all"] = "pairs"
    frames: Literal["none", "maps", "all"] = "all"


STYLE = KernelStyle()
