"""Where a tile's amplitudes are in shared memory."""

from __future__ import annotations

from itertools import product

import pytest

from qsim_ex.kernels.cuda.write.register_layout import RegisterLayout, banks
from qsim_ex.kernels.cuda.write.slots import TileSlots
from qsim_ex.precision import PRECISIONS, SINGLE
from qsim_ex.steps.step import RegisterBlock


@pytest.mark.parametrize(
    ("precision", "padded", "size"), list(product(PRECISIONS.values(), (False, True), (4, 7, 11, 12)))
)
def test_each_amplitude_has_a_slot_of_its_own(precision, padded, size):
    """A thread's slot and a register's constant lead each position of a tile to a slot that no other one has."""
    slots = TileSlots(precision, padded)
    registers = (0, 2, 3, size - 1)[: 4 if size > 4 else 3]
    threads = [position for position in range(size) if position not in registers]
    constants = slots.registers(RegisterLayout(RegisterBlock((), ()), registers, tuple(threads)))
    found = set()
    for t in range(1 << len(threads)):
        p = sum(1 << position for k, position in enumerate(threads) if t >> k & 1)
        w = eval(slots.of("p", size), {"p": p})
        found |= {w + constant if padded else w ^ constant for constant in constants}
    assert len(found) == 1 << size
    assert max(found) < slots.count(size)


@pytest.mark.parametrize(("precision", "padded"), list(product(PRECISIONS.values(), (False, True))))
def test_lanes_with_other_bank_bits_use_other_banks(precision, padded):
    """Threads served together use all banks if their positions differ in the bank bits, wherever these are."""
    width, slots = banks(precision), TileSlots(precision, padded)
    for groups in product(range(3), repeat=width):
        lanes = [bank + width * group for bank, group in enumerate(groups)]
        met = set()
        for lane in range(1 << width):
            p = sum(1 << position for k, position in enumerate(lanes) if lane >> k & 1)
            met.add(eval(slots.of("p", 3 * width), {"p": p}) % (1 << width))
        assert len(met) == 1 << width


def test_gaps_are_few():
    """A tile of 12 bits has 7 % more slots than amplitudes, so that four of them are in a multiprocessor's memory."""
    assert TileSlots(SINGLE, padded=True).count(12) == 4096 + 255 + 15
