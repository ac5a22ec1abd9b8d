"""Outcomes are written as Qiskit writes them."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from qiskit.result import Counts

from qsim_ex_provider.bit_strings import MOST_SHARED, BitStrings


@pytest.mark.parametrize("slots", [1, 2, 8, MOST_SHARED, MOST_SHARED + 1, 28, 63, 64, 65, 127, 200])
@pytest.mark.parametrize("registers", [0, 1, 2, 5])
def test_strings_are_those_of_qiskit(slots: int, registers: int) -> None:
    """Values of any width, in no, one or several registers, of which some are empty, are Qiskit's strings in order."""
    random = Random(slots * 10 + registers)
    cuts = sorted([0, slots, *(random.randint(0, slots) for _ in range(registers - 1))])
    ends = pairwise(cuts)
    sizes = [[f"r{k}", end - begin] for k, (begin, end) in enumerate(ends)] if registers else []
    values = sorted({0, (1 << slots) - 1, *(random.getrandbits(slots) for _ in range(40))})
    strings = BitStrings(slots, sizes)
    for some in (values, values[::-1], values[:1], []):
        counts = dict.fromkeys(some, 1)
        assert strings.of(some) == [*Counts(counts, creg_sizes=sizes, memory_slots=slots)]
