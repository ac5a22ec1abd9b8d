"""Random sweeps that grow by bits which no item mixes: at the end CX put amplitudes where they belong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from support.cuda.random_sweeps import maps, random_sweep

from qsim_ex.circuit.ops import When
from qsim_ex.steps.step import Permute, RegisterBlock


def unmixed_sweep(seed, num_bits, tile_bits, num_blocks, num_items, high_bits=0, *, most=5, linear=False, **more):
    """A random sweep, and its packed numbers; one bit of its tile or two are mixed by nothing but CX at the end.

    most: of these CX.
    """
    sweep, numbers = random_sweep(seed, num_bits, tile_bits, num_blocks, num_items, high_bits, **more)
    rng = np.random.default_rng([seed, 4])
    bits = [int(bit) for bit in rng.permutation(sweep.tile[4:])[: int(rng.integers(1, 3))]]
    blocks = tuple(
        replace(block, items=tuple(item for item in block.items if not set(bits) & {*getattr(item, "bits", ())}))
        for block in sweep.register_blocks
    )
    others = [bit for bit in sweep.tile if bit not in bits]
    items = [cx(rng, others, bits) for _ in range(int(rng.integers(most + 1)))]
    ends = tuple(RegisterBlock((item.bits[0],), (item,)) for item in items)
    fresh = sweep.fresh | sum(1 << bit for bit in bits)
    store, load = maps(seed, sweep.tile, num_bits, fresh, 4) if linear else (sweep.store, sweep.load)
    return replace(sweep, register_blocks=(*blocks, *ends), fresh=fresh, store=store, load=load), numbers


def cx(rng, others, bits):
    """A CX from one of the other bits of the tile onto one of the bits, or onto another one of the others."""
    control, target = (int(bit) for bit in rng.permutation(others)[:2])
    if bits and rng.random() < 0.6:
        target = int(rng.choice(bits))
    return Permute((target,), When(1 << control, 1 << control), (1, 0), "cx")
