"""The schedule of an exchange is the permutation that swaps index bits, whatever is known to be zero.

Every amplitude of the tests is the number of its own index, so one that is lost, doubled or misplaced shows.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hand_made_stages import exchanged, traded

from qsim_ex.errors import PlanError
from qsim_ex.placement.exchange.schedule import Schedule, Trade, amplitudes_sent, lanes, schedule
from qsim_ex.precision import SINGLE
from qsim_ex.steps import Levels


class Case(NamedTuple):
    """The arguments of a schedule."""

    levels: Levels
    swaps: tuple[tuple[int, int], ...]
    fresh: int
    piece: int

    @property
    def num_bits(self) -> int:
        """Index bits of the whole state."""
        return self.levels.local + self.levels.peers

    def schedule(self) -> Schedule:
        """The schedule under test."""
        return schedule(*self)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any levels of up to 8 devices, any disjoint pairs, anything fresh, pieces of any size."""
    local, peers = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    count = draw(st.integers(1, min(local, peers)))
    inner = draw(st.permutations(range(local)))[:count]
    outer = draw(st.permutations(range(local, local + peers)))[:count]
    levels = Levels(local, peers, draw(st.integers(0, local)), draw(st.sampled_from(["switch", "mesh"])))
    fresh = draw(st.integers(0, (1 << local + peers) - 1)) & draw(st.integers(0, (1 << local + peers) - 1))
    return Case(levels, tuple(zip(inner, outer, strict=True)), fresh, 1 << draw(st.integers(0, local)))


def numbered(case: Case) -> np.ndarray:
    """Sub state vectors [devices, 2^local] whose amplitudes are their own indices; −1 where nothing was written."""
    index = np.arange(1 << case.num_bits)
    return np.where(index & case.fresh, -1, index).reshape(-1, 1 << case.levels.local)


def wanted(case: Case) -> np.ndarray:
    """The state after the exchange, by definition; −1 where it is known to be zero."""
    return exchanged(numbered(case).reshape(-1), case.swaps)


def carried_out(case: Case, trades: tuple[Trade, ...]) -> np.ndarray:
    """Return the state after some trades, one after the other."""
    state = numbered(case)
    for trade in trades:
        (d, e), (left, right) = trade.devices, trade.parts
        gives = left.of(state[d]).copy(), right.of(state[e]).copy()
        if trade.sent[1]:
            left.of(state[d])[...] = gives[1]
        if trade.sent[0]:
            right.of(state[e])[...] = gives[0]
    return state.reshape(-1)


def right(case: Case, found: np.ndarray) -> bool:
    """Whether all amplitudes that are not known to be zero are where they belong."""
    want = wanted(case)
    return bool(np.all((found == want) | (want == -1)))


@given(cases())
def test_exchange_is_the_permutation(case: Case) -> None:
    """After the trades of a schedule every amplitude is where its index says."""
    assert right(case, carried_out(case, case.schedule().trades))


@given(cases(), st.data())
def test_some_devices_list_their_own_trades(case: Case, data: st.DataObject) -> None:
    """A schedule of some devices has their trades of the whole one, in their order; what all send needs no list."""
    whole = case.schedule()
    every = range(1 << case.levels.peers)
    some = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    for devices in [*((device,) for device in every), tuple(some)]:
        own = schedule(*case, devices)
        assert own.trades == tuple(trade for trade in whole.trades if not set(devices).isdisjoint(trade.devices))
    assert amplitudes_sent(*case[:3]) == whole.sent().total()


@given(cases(), st.data())
def test_spoiled_schedules_are_noticed(case: Case, data: st.DataObject) -> None:
    """The check above notices a trade that is missing, done twice, or done with the wrong part."""
    trades = case.schedule().trades
    state = numbered(case)
    some = [k for k, trade in enumerate(trades) for give in (0, 1)
            if trade.sent[give] and np.any(trade.parts[give].of(state[trade.devices[give]]) != -1)]  # fmt: skip
    if not some:
        return
    k = data.draw(st.sampled_from(some))
    trade = trades[k]
    assert not right(case, carried_out(case, trades[:k] + trades[k + 1 :]))
    if all(trade.sent):
        assert not right(case, carried_out(case, (*trades, trade)))
    crossed = replace(trade, parts=trade.parts[::-1])
    assert not right(case, carried_out(case, (*trades[:k], crossed, *trades[k + 1 :])))


@given(cases())
def test_bytes_are_counted_by_definition(case: Case) -> None:
    """The bytes from one device to another are those of the amplitudes that have to go there."""
    below = (1 << case.levels.slice) - 1 & ~sum(1 << a for a, _ in case.swaps)
    new = np.arange(1 << case.num_bits)
    old = traded(new, case.swaps)
    there, here = new >> case.levels.local, old >> case.levels.local
    goes = (there != here) & (old & case.fresh & ~below == 0)
    count = {}
    for pair in zip(here[goes].tolist(), there[goes].tolist(), strict=True):
        count[pair] = count.get(pair, 0) + 1
    made = case.schedule()
    assert made.sent() == count
    assert all(part.size <= case.piece for trade in made.trades for part in trade.parts)
    assert made.describe(SINGLE.storage).startswith("devices trade" if count else "nothing moves")


@given(cases())
def test_partners(case: Case) -> None:
    """Over a switch a device meets one partner after the other, in a mesh each partner has its lane, and the two pieces
    of staging memory take turns.
    """
    made = case.schedule()
    for d in range(1 << case.levels.peers):
        own = [trade for trade in made.trades if d in trade.devices]
        partners = [sum(trade.devices) - d for trade in own]
        of_lane: dict[int, list[int]] = {}
        for trade, partner in zip(own, partners, strict=True):
            of_lane.setdefault(trade.lane, []).append(partner)
        assert all(lane < lanes(case.levels) for lane in of_lane)
        if case.levels.network == "mesh":
            assert all(len(set(met)) == 1 for met in of_lane.values())
            assert len(of_lane) == len(set(partners))
        else:
            assert set(of_lane) <= {0}
            changes = sum(a != b for a, b in pairwise(partners))
            assert changes == max(len(set(partners)) - 1, 0)
        if not case.fresh:
            for lane in of_lane:
                slots = [trade.slot for trade in own if trade.lane == lane]
                assert slots == [k % 2 for k in range(len(slots))]


@pytest.mark.parametrize("network", ["switch", "mesh"])
@pytest.mark.parametrize("fresh", [0, 0b1010101 << 18])
@pytest.mark.parametrize("swaps", [((29, 30),), ((18, 31),), ((18, 30), (27, 32)), ((20, 30), (21, 31), (29, 32))])
def test_large_states_go_in_few_long_pieces(network: str, fresh: int, swaps: tuple[tuple[int, int], ...]) -> None:
    """A state of 2^33 amplitudes is sent in few copies of long rows, within a copy's pitch."""
    made = schedule(Levels(30, 3, 18, network), swaps, fresh, 1 << 24)
    parts = {part for trade in made.trades for part in trade.parts}
    assert min(part.width for part in parts) >= 1 << 18
    assert (
        max(part.stride * 16 for part in parts if part.rows > 1) < 1 << 31 if any(p.rows > 1 for p in parts) else True
    )
    assert len(made.trades) <= 4096


@pytest.mark.parametrize(
    "swaps", [(), ((4, 4),), ((3, 2),), ((0, 6),), ((-1, 4),), ((0, 4), (0, 5)), ((0, 4), (1, 4))], ids=str
)
def test_what_is_no_exchange(swaps: tuple[tuple[int, int], ...]) -> None:
    """Swaps that are not disjoint pairs of a local position and a device bit are refused."""
    with pytest.raises(PlanError, match="disjoint pairs"):
        schedule(Levels(4, 2), swaps, 0, 4)


def test_description() -> None:
    """The description says how devices meet and how much they send."""
    pairs = schedule(Levels(20, 2), ((19, 20),), 0, 1 << 16).describe(SINGLE.storage)
    assert pairs == "devices trade in pairs; 16 MiB in all, at most 4 MiB from one to another"
    rounds = schedule(Levels(20, 2), ((19, 20), (18, 21)), 0, 1 << 16).describe(SINGLE.storage)
    assert rounds.startswith("devices trade in 3 rounds, in each of which every device meets one partner; 24 MiB")
    mesh = schedule(Levels(20, 2, 0, "mesh"), ((19, 20), (18, 21)), 0, 1 << 16).describe(SINGLE.storage)
    assert mesh.startswith("devices trade each with 3 partners at the same time; 24 MiB in all")
    assert (
        schedule(Levels(20, 2), ((19, 20),), 1 << 20 | 1 << 19, 4).describe(SINGLE.storage).startswith("nothing moves")
    )
