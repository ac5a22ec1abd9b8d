"""The limits of a GPU, which plans for it keep."""

from __future__ import annotations

from functools import cache

from qsim_ex.kernels.cuda.write.register_layout import LANES, REGISTERS
from qsim_ex.precision import Precision
from qsim_ex.steps.layout import Shape

_BLOCK_MADE = 24
"""2^24 multiply-adds take 0.8 µs. The host needs 2 µs for a block's matrix, but beside other sweeps (one H200: 2^24 and
2^26 were compared at 24 wires)."""

_SEEN = 0.2
"""The share of the shorter time of a sweep, of memory and arithmetic, that is seen; as in `cost.Rates`."""

_START = 20
"""A launch takes about as long as a sweep over 2^20 amplitudes: 5 µs."""


@cache
def shape_of(precision: Precision, tensor: bool = False) -> Shape:
    """Return the limits of a GPU for amplitudes of a precision; tensor: whether blocks on tensor cores pay."""
    costs = precision.costs
    return Shape(
        tile=precision.geometry.tile_bits,
        registers=REGISTERS,
        low=LANES,
        edge=LANES,
        most_blocks=None,
        dense=REGISTERS,
        start=_START,
        balance=costs.pass_work,
        block=costs.block_work if tensor else None,
        block_made=_BLOCK_MADE,
        floats=True,
        linear=True,
        elsewhere=0.0,
        cx_ratio=1.0,  # adders, which gain, have 2.04
        cx_ratio_there=1.0,
        seen=_SEEN,
        transposed=costs.permuted_work,
        counted=costs.counted_work,
        exchanged=costs.exchange_work,
        fewer=costs.fewer_lows,
        scattered=costs.scattered,
        permute=costs.permute_work,
    )
