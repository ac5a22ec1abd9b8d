"""Outcomes of shots, as rows of packed bits: how often each integer was found."""

from __future__ import annotations

import numpy as np

from qsim_ex.placement.index_bits import SORTED, Packed, few_distinct, integers, ordered_counts, words


def counts_of(packed: Packed) -> dict[int, int]:
    """Return how often each value comes among rows of packed bits, uint8 [shots, bytes], in increasing order."""
    if not packed.size:
        return {0: len(packed)} if len(packed) else {}
    if (len(packed) > SORTED or packed.shape[1] > 8) and (few := few_distinct(packed)) is not None:
        return dict(sorted(zip(integers(few[0]), few[1], strict=True)))
    if packed.shape[1] <= 8:
        values, counts = ordered_counts(words(packed))
        return dict(zip(values.tolist(), counts.tolist(), strict=True))
    differ = np.flatnonzero((packed != packed[0]).any(axis=0))
    if len(differ) <= 8:  # wide registers often hold few bits that are not the same in all shots
        distinct, counts = ordered_counts(words(packed[:, differ]))
        rows = np.repeat(packed[:1], len(distinct), axis=0)
        rows[:, differ] = distinct.view(np.uint8).reshape(-1, 8)[:, : len(differ)]
        return dict(zip(integers(rows), counts.tolist(), strict=True))
    rows = np.ascontiguousarray(packed[:, ::-1])  # the most significant byte first sorts as the integers do
    keys = rows.view(np.dtype((np.void, rows.shape[1]))).ravel()
    distinct, counts = np.unique(keys, return_counts=True)
    found = np.frombuffer(distinct.tobytes(), dtype=np.uint8).reshape(len(distinct), -1)[:, ::-1]
    return dict(zip(integers(found), counts.tolist(), strict=True))
