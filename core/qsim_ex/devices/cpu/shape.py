"""The limits of a CPU, which plans for it keep."""

from __future__ import annotations

from functools import cache

from qsim_ex.precision import STORAGE, AmplitudeDtype
from qsim_ex.steps.layout import Shape

_TILE_BYTES = 1 << 15
"""Of a tile: an L1 cache, or two thirds of one. The same on every processor, so that its plans are."""

_PIECE_BYTES = 256
"""What a sweep reads and writes in one piece, at least: four cache lines."""


@cache
def shape_of(dtype: AmplitudeDtype) -> Shape:
    """Return the limits of sweeps; a tile fills `_TILE_BYTES`.

    All bits of a tile are register bits, since the encoder arranges the lanes.

    Tiles: every item passes over the tile, so it should be in the L1 cache. Measured on 16 cores with 48 KB of L1
    each, complex64, seven families, geometric means with tiles of 12 bits and of 15 (the L2 cache): 0.93 and 1.52
    ms at 20 wires, 10.7 and 13.7 at 24, 171 and 220 at 28; one thread at 20 wires 6.0 and 8.3. Dense matrices need
    the L1 cache least: brick takes 0.79 to 1.1 times, quantum volume 0.80 to 0.97 times as long. Tiles of 11 bits
    were as fast, but have more sweeps.
    Tables: making an entry and looking it up takes 10 ns and more, multiplying an amplitude 0.1 ns. One complex
    matrix is cheaper than a rotation and its phases: at 20 wires the random grid took 6.8 ms instead of 9.7, SU2
    2.1 instead of 2.2, the other families the same (one thread, complex64).
    Lowest bits that change: from a full state at 22 wires, complex64, one thread, 18 families took 0.91 of their
    time (Heisenberg 0.86, none more than 1.01); from |0…0⟩ at 21 wires 0.97, complex128 at 22 wires 0.96.
    Subspaces: circuits full of CX took 0.43 to 0.74 of their time at 20 to 23 wires (decision 0023), and 0.45 to
    0.58 of it on a state that was there before (decision 0039).
    """
    storage = STORAGE[dtype]
    tile, low = [size.bit_length() - 1 for size in map(storage.count, (_TILE_BYTES, _PIECE_BYTES))]
    return Shape(
        tile=tile,
        registers=tile,
        low=low,
        edge=0,
        most_blocks=3,
        dense=5,
        thin=7,
        item_work=2.0,
        floats=True,
        linear=True,
    )
