"""Linear maps of index bits for tests."""

from __future__ import annotations

import numpy as np

from qsim_ex.steps.algebra import Map


def random_map(num_bits: int, seed: int) -> Map:
    """A random invertible map."""
    rng = np.random.default_rng(seed)
    columns = [1 << bit for bit in rng.permutation(num_bits).tolist()]
    for _ in range(3 * num_bits):
        one, other = rng.permutation(num_bits)[:2].tolist()
        columns[one] ^= columns[other]
    return tuple(columns)
