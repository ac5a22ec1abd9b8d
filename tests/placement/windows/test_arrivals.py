"""Before a pass ranks trade the part of one window while their devices work on the windows before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.hand_made_stages import exchanged, plan_of, quiet, some_mask, steps_of, traded, without, worked_on
from support.late_device import LateDevice, Machine
from support.sharing_cpu import SharingCpu
from support.states import random_state
from support.together import together

from qsim_ex.circuit.ops import ALWAYS
from qsim_ex.errors import Cancelled, CommunicationError
from qsim_ex.placement.ranks.over_host import RanksOverHost
from qsim_ex.placement.windows.arrivals import Arrivals
from qsim_ex.steps import DenseMatrix, Layout, Levels, Migration, Stage
from tools.loopback import Loopback

DTYPE = np.dtype(np.complex128)
NOT = np.array([0, 1, 1, 0], dtype=np.complex128)


def over_ranks(end: Any, levels: Levels, n: int, frames: int = 2, seed: int = 0) -> RanksOverHost:
    """|0…0> over all ranks, with windows on late devices."""
    machine = Machine(seed + end.rank)
    devices = [LateDevice(machine, f"late:{k}") for k in range(1 << levels.peers)]
    return RanksOverHost(end, devices, n, DTYPE, levels, frames=frames, carried_bytes=64, reach=lambda *_: "peer")


def hold(state: RanksOverHost, psi: np.ndarray, fresh: int = 0) -> None:
    """Put this rank's amplitudes at home; where a fresh bit is 1 memory holds NaN."""
    size, above = 1 << state.levels.local, state.communicator.rank << state.levels.local
    index = np.arange(above, above + size)
    state._mine[0].device.synchronize()
    state._mine[0].buffer[:] = np.where(index & fresh, np.nan, psi[above : above + size])
    state.fresh = fresh


def test_each_part_is_made_once_and_in_order() -> None:
    """A window waits for its own part and all before it; parts that no window needed are made at the end."""
    made: list[int] = []
    arrivals = Arrivals([0, 4, 16, 20], 4 | 16, made.append)
    arrivals.until(1)
    arrivals.until(8 | 4)
    assert made == [0, 4]
    arrivals.until(2)
    assert made == [0, 4]
    arrivals.rest()
    arrivals.until(20)
    assert made == [0, 4, 16, 20]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_passes_after_trades(data: st.DataObject) -> None:
    """Passes with trades before them give the state of the same steps on the whole array, however late devices are."""
    ranks, peers, local = data.draw(st.integers(1, 2)), data.draw(st.integers(0, 1)), data.draw(st.integers(2, 3))
    levels = Levels(local, peers, data.draw(st.integers(0, local - 2)), ranks=ranks)
    parts = local + peers + data.draw(st.integers(1, 3))
    n, frames, seed = parts + ranks, data.draw(st.integers(1, 3)), data.draw(st.integers(0, 999))
    fresh = some_mask(data.draw, n)
    psi = given_psi = without(random_state(n, 1), fresh)
    given_fresh, stages, numbers = fresh, [], []
    for _ in range(data.draw(st.integers(1, 3))):
        near = data.draw(st.permutations(range(levels.slice, parts)))
        window = local + peers - levels.slice
        bits = (*range(levels.slice), *near[:window], *sorted(near[window:]), *range(parts, n))
        count = data.draw(st.integers(0, ranks))
        inner = data.draw(st.permutations(range(parts)))[:count]
        swaps = tuple(zip(inner, data.draw(st.permutations(range(parts, n)))[:count], strict=True))
        psi, fresh = exchanged(psi, swaps), traded(fresh, swaps)
        position = np.arange(1 << n)
        to = sum((position >> p & 1) << bit for p, bit in enumerate(bits))
        at = sum((fresh >> bit & 1) << p for p, bit in enumerate(bits))
        steps, packed, left = data.draw(steps_of(levels, at, n))
        stages.append(Stage(tuple(steps), Migration(bits, swaps), at))
        after = worked_on(psi[to], steps, packed)
        psi = np.empty_like(psi)
        psi[to] = after
        fresh, numbers = sum((left >> p & 1) << bit for p, bit in enumerate(bits)), numbers + packed

    def work(end: Loopback) -> Any:
        state = over_ranks(end, levels, n, frames, seed)
        hold(state, given_psi, given_fresh)
        plan = replace(plan_of(stages, state, fresh), levels=levels)
        state.run(plan, [(None, numbers)] * len(state.devices), quiet)
        assert state.fresh == fresh
        found, moved = state._mine[0].buffer.copy(), state._bytes_moved
        sent = sum(state.traffic().values())
        state.release()
        return found, moved, sent

    answers = together(1 << ranks, work)
    found = without(np.concatenate([home for home, _, _ in answers]), fresh)
    assert np.allclose(found, without(psi, fresh), atol=1e-12)
    assert all(moved == sent for _, moved, sent in answers)


def test_homes_are_mapped() -> None:
    """Ranks whose host shares memory trade in each other's homes, and say so."""
    devices = SharingCpu(), SharingCpu()
    psi = random_state(7, 1)

    def work(end: Loopback) -> Any:
        state = RanksOverHost(end, [devices[end.rank]], 7, DTYPE, Levels(3, 0, 1, ranks=1))
        hold(state, psi)
        state.arrange(Layout((0, 1, 6, 3, 4, 5, 2)))
        found, told = state._mine[0].buffer.copy(), state.report()
        state.release()
        return found, told

    (low, told), (high, _) = together(2, work)
    assert told["device_memory"].startswith("mapped by files")
    assert told["host_memory_kind"] == "plain"
    assert all(device.swapped for device in devices)
    assert np.array_equal(np.concatenate([low, high]), exchanged(psi, ((2, 6),)))


def traded_and_worked(end: Any, happened: list[str], tick: Any = quiet) -> RanksOverHost:
    """A pass of four windows after a trade; `happened` tells the order of trades and of work."""
    state = over_ranks(end, Levels(2, 0, 0, ranks=1), 5, frames=3)
    hold(state, random_state(5, 1))
    links, device = state._links, state.devices[0]
    exchange, run = links.exchange, device.run

    def trade(*given: Any) -> None:
        happened.append("trade")
        exchange(*given)

    def step(*given: Any, **named: Any) -> None:
        happened.append("work")
        run(*given, **named)

    links.exchange, device.run = trade, step  # type: ignore[method-assign]
    motion = Migration((2, 3, 0, 1, 4), ((3, 4),))
    plan = replace(
        plan_of([Stage((DenseMatrix((0,), (), ALWAYS),), motion, 0)], state, 0), levels=state.planning_levels
    )
    try:
        state.run(plan, [(None, [NOT])], tick)
    finally:
        state.release()
    return state


def test_the_next_part_is_traded_while_a_window_is_worked_on() -> None:
    """The part of a window is traded when work on the window before is with the device, not before all work."""

    def work(end: Loopback) -> list[str]:
        happened: list[str] = []
        traded_and_worked(end, happened)
        return happened

    assert together(2, work) == [["trade", "work"] * 4] * 2


@pytest.mark.parametrize("ticks", [1, 4])
def test_a_run_is_cancelled_between_two_parts(ticks: int) -> None:
    """Cancelling on one rank in the middle of a trade ends both, and no further part is traded."""
    happened: dict[int, list[str]] = {0: [], 1: []}

    def work(end: Loopback) -> Any:
        left = iter(range(ticks))

        def tick() -> None:
            if end.rank == 1 and next(left, None) is None:
                raise Cancelled("enough")

        return traded_and_worked(end, happened[end.rank], tick)

    first, second = together(2, work)
    assert isinstance(first, CommunicationError)
    assert isinstance(second, Cancelled)
    assert happened[1].count("trade") < 4
    assert happened[0].count("trade") <= happened[1].count("trade") + 1
