"""Matrices that threads select, or that stand under conditions of theirs."""

from __future__ import annotations

import numpy as np
import pytest
from support.cuda.sweeps import case, check

from qsim_ex.circuit.ops import ALWAYS, When, pattern
from qsim_ex.kernels.cuda.write.emit import source
from qsim_ex.steps import Mix, RegisterBlock, Slot, Sweep

TILE = (*range(4), *range(20, 28))
"""The bits of a tile of complex64: threads have all but those of a register block, a warp's first the lowest."""

IDENTITY, X, Z = "1001", "0110", "100-"


def text(item: Mix) -> str:
    """Return the text of a kernel for one item on registers."""
    numbers, tables = (0, item.slot.count) if item.reads else (item.slot.count, 0)
    return source(Sweep(TILE, (RegisterBlock((24, 25, 26, 27), (item,)),), numbers, tables))


def selected(reads: tuple[int, ...], *matrices: str) -> Mix:
    """Return an item whose parities select one of some matrices on bit 27."""
    return Mix((27,), reads, ALWAYS, pattern("".join(matrices)), Slot(0, 4 * len(matrices)))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("kind", ["selected", "controlled"])
@pytest.mark.parametrize("room", [32_764, 32])
def test_matrices_are_those_that_threads_select(dtype, kind, room):
    """Drawn matrices of which parities select one, the identity mostly, and under conditions, are their definition."""
    cases = [case(40 * k + 3, 8 + k % 4, 6 + k % 3, 1 + k % 3, 4, 3, kinds=(kind,)) for k in range(16)]
    check(cases, dtype, room)


def test_nothing_is_computed_where_all_matrices_are_the_identity():
    """Registers for which every thread has the identity are left alone, and no number of theirs is looked up."""
    reads = (1 << 26, 1 << 12)  # a register's, and one that a tile has alone
    assert text(selected(reads, IDENTITY, "rrrr", IDENTITY, "rrrr")).count(", m);") == 4
    assert text(selected(reads, *["rrrr"] * 4)).count(", m);") == 8
    assert "load(m" not in text(selected(reads, IDENTITY, Z, IDENTITY, IDENTITY))


def test_a_warp_goes_past_matrices_that_act_in_none_of_its_threads():
    """Where half of the values that a warp meets are the identity it asks first, once for all registers alike."""
    matrices = [IDENTITY, IDENTITY, IDENTITY, "rrrr"]
    assert text(selected((1 << 12, 1 << 13), *matrices)).count("u >> s & 1") == 1
    assert text(selected((1 << 0, 1 << 1), *matrices)).count("u >> s & 1") == 0  # lanes of one warp differ
    assert text(selected((1 << 12,), "rrrr", "rrrr")).count("u >> s & 1") == 0


def test_threads_of_a_warp_take_one_way():
    """Under a condition in which lanes differ each takes its own numbers; what a tile has alone is asked before."""

    def under(mask: int, entries: str = "rrrr") -> str:
        return text(Mix((27,), (), When(mask, mask), pattern(entries), Slot(0, 4)))

    assert "acts ? v[0] : 1, acts ? v[1] : 0" in under(1 << 1)
    assert "if (" not in under(1 << 1)
    assert "if (((unsigned)around & 0x1000) == 0x1000)" in under(1 << 12)
    both = under(1 << 12 | 1 << 1)
    assert "acts ?" in both
    assert "if (((unsigned)around & 0x1000) == 0x1000)" in both
    assert "acts" not in under(1 << 1, "0ii0")  # of whose entries no identity is made
