"""Ranks whose parts are on a device and on its host have the memory of both, and leave none behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.sharing_cpu import SharingCpu
from support.states import random_state
from support.together import together

from qsim_ex.errors import OutOfMemory
from qsim_ex.placement.exchange import mapped
from qsim_ex.placement.ranks.ranks import Ranks
from qsim_ex.placement.ranks.spread import RanksSpread
from qsim_ex.steps import Layout, Levels
from tools.loopback import Loopback

WIRES = 8
DTYPE = np.dtype(np.complex128)
LEVELS = Levels(4, 0, 2, ranks=1)


def test_kept_memory_is_let_go_of() -> None:
    """What ranks have kept of a state before counts as free, so it is gone when parts are spread."""

    def work(end: Loopback) -> tuple[bool, bool]:
        device = SharingCpu()
        Ranks(end, [device], WIRES, DTYPE, Levels(WIRES - 1, 1, 2)).release()
        before = end in mapped._kept
        RanksSpread(end, device, WIRES, DTYPE, LEVELS).release()
        return before, end in mapped._kept

    assert together(2, work) == [(True, False)] * 2


def test_a_rank_without_room_is_the_error_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank whose host has no room for staging raises `OutOfMemory` on all, and its part is released."""
    devices = SharingCpu(), SharingCpu()
    released: list[int] = []
    release = RanksSpread.release

    def full(*_: Any) -> Any:
        raise OutOfMemory("no room for staging")

    def counted(self: RanksSpread) -> None:
        release(self)
        assert self._part is None
        released.append(self.communicator.rank)

    monkeypatch.setattr(devices[1], "host_memory", full)
    monkeypatch.setattr(RanksSpread, "release", counted)
    found = together(2, lambda end: RanksSpread(end, devices[end.rank], WIRES, DTYPE, LEVELS))
    assert all(isinstance(error, OutOfMemory) and "rank 1 has no room" in str(error) for error in found)
    assert sorted(released) == [0, 1]


def test_parts_are_traded() -> None:
    """Amplitudes that were put in the order of the wires are the same after a wire has gone to another rank."""
    psi = random_state(WIRES, 1)

    def work(end: Loopback) -> Any:
        state = RanksSpread(end, SharingCpu(), WIRES, DTYPE, LEVELS, slots=1)
        state.write(0, psi)
        state.arrange(Layout((0, 1, 2, 7, 4, 5, 6, 3)))
        found, sent = state.read(0, 1 << WIRES, range(WIRES)), state.traffic()
        state.release()
        return found, sent

    for found, sent in together(2, work):
        assert np.array_equal(found, psi)
        assert sent == {(0, 1): 16 << WIRES - 2, (1, 0): 16 << WIRES - 2}
