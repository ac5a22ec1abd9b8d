"""Outcomes are counted and written as Qiskit writes them."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from qiskit.result import Counts

from qsim_ex import thresholds
from qsim_ex.placement.index_bits import SORTED
from qsim_ex_provider.results import LazyCounts


def packed_of(values: list[int], slots: int) -> np.ndarray:
    """Return values as packed rows."""
    width = -(-slots // 8)
    joined = b"".join(value.to_bytes(width, "little") for value in values)
    return np.frombuffer(joined, dtype=np.uint8).reshape(len(values), width)


@pytest.mark.parametrize("slots", [1, 2, 8, 16, 17, 28, 63, 64, 65, 127, 200])
@pytest.mark.parametrize("registers", [0, 1, 2, 5])
@pytest.mark.parametrize("shots", [1, 100, SORTED + 1])
def test_counts_are_those_of_qiskit(slots: int, registers: int, shots: int) -> None:
    """Outcomes of any width, in no, one or several registers, of which some are empty, few or many, are Qiskit's."""
    random = Random(slots * 10 + registers)
    cuts = sorted([0, slots, *(random.randint(0, slots) for _ in range(registers - 1))])
    sizes = [[f"r{k}", end - begin] for k, (begin, end) in enumerate(pairwise(cuts))] if registers else []
    some = [0, (1 << slots) - 1, *(random.getrandbits(slots) for _ in range(40))]
    shown = [random.choice(some) for _ in range(shots)]
    integers: dict[int, int] = {}
    for value in sorted(shown):
        integers[value] = integers.get(value, 0) + 1
    found = LazyCounts(packed_of(shown, slots), sizes, slots)
    expected = Counts(integers, creg_sizes=sizes, memory_slots=slots)
    assert list(found.items()) == list(expected.items())
    assert found.int_outcomes() == expected.int_outcomes()


def test_many_distinct_outcomes_are_counted_without_looking_for_few() -> None:
    """More outcomes than are looked for as few ones are all found, in increasing order."""
    distinct = thresholds.now.distinct_rows + SORTED
    values = [7 * k % (1 << 20) for k in range(distinct)]
    found = LazyCounts(packed_of(values, 20), [], 20)
    assert list(found) == [f"{value:020b}" for value in sorted(set(values))]
    assert set(found.values()) == {1}


def test_copies_are_plain() -> None:
    """Copies and pickles have the integers, which are made when they are read, and are Qiskit's own class."""
    found = LazyCounts(packed_of([2, 1, 2], 2), [["c", 2]], 2)
    assert "int_raw" not in vars(found)
    for again in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert type(again) is Counts
        assert again == {"01": 1, "10": 2} == found
        assert again.int_raw == {1: 1, 2: 2}
