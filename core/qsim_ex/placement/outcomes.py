"""Outcomes of shots, as rows of packed bits: how often each was found, as an integer or as a text in binary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qsim_ex.native.library import address, function
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


def count_outcomes(packed: Packed, num_bits: int, ends: Sequence[int], into: dict[str, int]) -> None:
    """Set in a dictionary how often each row comes, by its text, in increasing order: core/native/readers/outcomes.cpp.

    packed: uint8 [shots, bytes], bit b of a row is bit b % 8 of byte b // 8. A text has the first `num_bits` bits, the
    highest first, and a space at the end of each part but the last; ends: where the parts end, the last with all bits.
    """
    often, packed = 0, np.ascontiguousarray(packed)
    if len(packed) > SORTED and (few := few_distinct(packed)) is not None:
        packed, counts = few[0], np.array(few[1], dtype=np.int64)
        often = address(counts)
    parts = np.array(ends, dtype=np.int64)
    function("outcomes_counted")(address(packed), often, *packed.shape, num_bits, address(parts), len(parts), into)
