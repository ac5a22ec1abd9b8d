"""A state over several devices is the state on one: exchanges, plans, visits and layouts, on devices that work late.

Where amplitudes are only moved, each is the number of its own index.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.hand_made_stages import (
    KINDS,
    by_value,
    exchanged,
    held,
    plan_of,
    quiet,
    some_mask,
    steps_of,
    swaps_of,
    traded,
    without,
    worked_on,
)
from support.held import Hold
from support.late_device import LateDevice, Machine
from support.plain_device import PlainDevice
from support.states import random_state
from support.strategies import layouts

from qsim_ex.devices.peering import link
from qsim_ex.errors import Cancelled, InvalidInput, NotSupported, OutOfMemory, PlanError
from qsim_ex.placement.peers import Peers
from qsim_ex.steps import (
    Exchange,
    Layout,
    Levels,
    Migration,
    Plan,
    Stage,
    Sweep,
    ZeroFill,
)

DTYPE = np.dtype(np.complex128)
REACH = {**KINDS, "real": link}


@st.composite
def all_levels(draw: st.DrawFn) -> Levels:
    """Two to eight devices with a few local bits."""
    peers, local = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    return Levels(local, peers, draw(st.integers(0, max(0, local - peers))), draw(st.sampled_from(["switch", "mesh"])))


@st.composite
def made(draw: st.DrawFn, levels: Levels) -> Peers:
    """A state on late devices, some of them perhaps shared, with links of some kind, staged in pieces of any size."""
    machine = Machine(draw(st.integers(0, 999)))
    shared = draw(st.sampled_from([1, 2])) if levels.peers else 1
    devices = [LateDevice(machine, f"late:{k}") for k in range((1 << levels.peers) // shared)]
    return Peers(
        [devices[k // shared] for k in range(1 << levels.peers)],
        levels.local + levels.peers,
        DTYPE,
        levels,
        piece_bytes=16 << draw(st.integers(0, 4)),
        reach=REACH[draw(st.sampled_from(sorted(REACH)))],
    )


def filled(state: Peers, psi: np.ndarray, fresh: int = 0) -> None:
    """Put amplitudes in, by index; where a fresh bit is 1 memory holds NaN."""
    index = np.arange(len(psi))
    stored = np.where(index & fresh, np.nan, psi).reshape(len(state._peer_buffers), -1)
    for peer, values in zip(state._peer_buffers, stored, strict=True):
        peer.device.write(peer.buffer, 0, values)
    state.fresh = fresh


def exchange_plan(state: Peers, swaps: tuple[tuple[int, int], ...]) -> Plan:
    """A plan that exchanges, behind work that writes NaN where nothing is, and before work that writes zeros there."""
    before = Stage((Sweep((), (), 0, 0, state.fresh),), None, state.fresh)
    stage = Stage((), Exchange(swaps), traded(state.fresh, swaps))
    inside = stage.fresh & (1 << state.levels.local) - 1
    cleared = Stage((ZeroFill(inside),), None, stage.fresh)
    return plan_of([before, stage, cleared], state, stage.fresh & ~inside)


def run(state: Peers, plan: Plan, numbers: list[Any] | None = None, tick: Callable[[], None] = quiet) -> None:
    """Run a plan with the same numbers on each device."""
    given_numbers = [np.zeros(0, dtype=np.complex128)] * len(plan.steps) if numbers is None else numbers
    state.run(plan, [(None, given_numbers)] * len(state._peer_buffers), tick)


# --- exchanges ---------------------------------------------------------------------------------------------------


@given(st.data())
def test_exchange(data: st.DataObject) -> None:
    """Copies wait for what they need, reach their places, and are counted."""
    levels = data.draw(all_levels())
    state = data.draw(made(levels))
    machine = state.devices[0].machine
    psi = np.arange(1.0, 1 + (1 << state.num_wires))
    for _ in range(data.draw(st.integers(1, 3))):
        fresh = some_mask(data.draw, state.num_wires)
        filled(state, psi, fresh)
        swaps = data.draw(swaps_of(levels))
        machine.copied.clear()
        planned, before = state.schedule(swaps).sent(), dict(state.sent)
        run(state, exchange_plan(state, swaps))
        counted = {pair: (state.sent[pair] - before.get(pair, 0)) // 16 for pair in state.sent}
        assert {pair: count for pair, count in counted.items() if count} == planned
        assert between_devices(state) == by_names(state, planned)
        assert np.array_equal(held(state), exchanged(without(psi, fresh), swaps))


def between_devices(state: Peers) -> dict[tuple[str, str], int]:
    """Amplitudes that were copied out of one device's memory towards another device."""
    found: dict[tuple[str, str], int] = {}
    for (source, to), count in state.devices[0].machine.copied.items():
        target = to.removeprefix("host of ")
        if source != target and not source.startswith("host"):
            found[source, target] = found.get((source, target), 0) + count
    return found


def by_names(state: Peers, sent: dict[tuple[int, int], int]) -> dict[tuple[str, str], int]:
    """Amplitudes sent, by names of devices; none from a device to itself."""
    found: dict[tuple[str, str], int] = {}
    for (d, e), count in sent.items():
        names = state.devices[d].name, state.devices[e].name
        if names[0] != names[1]:
            found[names] = found.get(names, 0) + count
    return found


FAULTS = {
    "dropped": lambda _to, _source: lambda: None,
    "swapped": lambda to, source: lambda: np.copyto(to, source.reshape(-1)[::-1].reshape(source.shape)),
    "wrong sign": lambda to, source: lambda: np.copyto(to, -source),
    "zeros": lambda to, _source: lambda: np.copyto(to, 0),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("reach", ["peer", "host"])
@given(data=st.data())
@settings(max_examples=20)
def test_spoiled_copies_are_noticed(fault: str, reach: str, data: st.DataObject) -> None:
    """The check of `test_exchange` notices a copy that is lost, in another order, or of the other sign."""
    machine = Machine(data.draw(st.integers(0, 999)))
    devices = [LateDevice(machine, f"late:{k}") for k in range(4)]
    state = Peers(devices, 6, DTYPE, Levels(4, 2), piece_bytes=64, reach=KINDS[reach])
    psi = np.arange(1.0, 65)
    filled(state, psi)
    swaps = data.draw(swaps_of(state.levels))
    copies = 4 * len(state.schedule(swaps).trades)
    spoiled = data.draw(st.integers(0, copies - 1))
    machine.spoil = lambda number, to, source: FAULTS[fault](to, source) if number == spoiled else None
    run(state, exchange_plan(state, swaps))
    found = held(state)
    assert machine.copies == copies
    assert not np.array_equal(found, exchanged(psi, swaps))


def test_what_is_zero_is_not_sent() -> None:
    """Amplitudes known to be zero are not sent, and a one-way copy needs no staging memory."""
    for fresh, amplitudes, copies in [
        (0, 16, 8), (1 << 4, 8, 2), (1 << 3, 8, 2), (1 << 3 | 1 << 4, 0, 0), (1 << 2, 8, 4)
    ]:  # fmt: skip
        machine = Machine()
        devices = [LateDevice(machine, f"late:{k}") for k in range(2)]
        state = Peers(devices, 5, DTYPE, Levels(4, 1), piece_bytes=64, reach=KINDS["peer"])
        filled(state, np.arange(32.0), fresh)
        run(state, exchange_plan(state, ((3, 4),)))
        assert (sum(state.sent.values()) // 16, machine.copies) == (amplitudes, copies), fresh
        assert np.array_equal(held(state), exchanged(without(np.arange(32.0), fresh), ((3, 4),)))


# --- plans -------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.data())
def test_run(data: st.DataObject) -> None:
    """A plan in stages gives the state of its steps and swaps on the whole array, and keeps fresh bits fresh."""
    levels = data.draw(all_levels())
    state = data.draw(made(levels))
    n = state.num_wires
    psi = np.zeros(1 << n, dtype=np.complex128)
    psi[0] = 1
    if data.draw(st.booleans()):
        psi = random_state(n, 1)
        filled(state, psi)
    fresh, stages, numbers = state.fresh, [], []
    for _ in range(data.draw(st.integers(1, 4))):
        motion = Exchange(data.draw(swaps_of(levels))) if data.draw(st.booleans()) else None
        if motion is not None:
            fresh, psi = traded(fresh, motion.swaps), exchanged(psi, motion.swaps)
        steps, packed, after = data.draw(steps_of(levels, fresh, n))
        stages.append(Stage(tuple(steps), motion, fresh))
        psi = worked_on(psi, steps, packed)
        fresh, numbers = after, numbers + packed
    inside = fresh & (1 << levels.local) - 1
    stages.append(Stage((ZeroFill(inside),) if inside else (), None, fresh))
    numbers += [np.zeros(0, dtype=np.complex128)] if inside else []
    plan = plan_of(stages, state, fresh & ~inside)
    ticks = []
    run(state, plan, numbers, lambda: ticks.append(1))
    assert len(ticks) >= len(plan.steps)
    assert state.fresh == plan.left
    assert np.allclose(held(state), psi, atol=1e-12)


def test_plans_of_other_states_are_refused() -> None:
    """A plan for other levels, another layout, other fresh bits, or with a migration is refused."""
    levels = Levels(3, 1)
    state = Peers([LateDevice(Machine())] * 2, 4, DTYPE, levels)
    everything = state.fresh
    good = plan_of([Stage((), None, everything)], state, everything)
    run(state, good)
    for change in ({"levels": Levels(2, 2)}, {"start": Layout((1, 0, 2, 3))}, {"fresh": 0}, {"left": 0}):
        with pytest.raises(PlanError):
            run(state, changed(good, **change))
    for stage in (Stage((), None, 0), Stage((), Migration((0, 1, 2, 3)), everything), Stage((), Exchange(((0, 1),)))):
        with pytest.raises(PlanError):
            run(state, changed(good, stages=(stage,)))


def changed(plan: Plan, **fields: Any) -> Plan:
    """A plan with other fields."""
    return replace(plan, **fields)


# --- visits and layouts ------------------------------------------------------------------------------------------


@given(st.data())
def test_visit(data: st.DataObject) -> None:
    """A visit has the chosen wires local, shows every amplitude, and skips what is known to be zero."""
    levels = data.draw(all_levels())
    state = data.draw(made(levels))
    n = state.num_wires
    state.layout = data.draw(layouts(n))
    fresh = some_mask(data.draw, n)
    psi = random_state(n)
    filled(state, psi, fresh)
    values = without(psi, fresh)[[state.layout.index(value) for value in range(1 << n)]]
    near = data.draw(st.permutations(range(n)))[: data.draw(st.integers(0, levels.local - levels.slice))]
    below = [wire for wire in near if state.layout.address[wire] >= levels.local]
    room = [w for w in range(n) if levels.slice <= state.layout.address[w] < levels.local and w not in near]
    if len(below) > len(room):
        with pytest.raises(InvalidInput, match="cannot be local at once"):
            list(state.visit(near))
        return
    found = np.zeros(1 << n, dtype=np.complex128)
    for device, buffer, layout, high in state.visit(near):
        assert all(layout.address[wire] < levels.local for wire in near)
        assert not high << levels.local & state.fresh
        found[high * len(buffer) : (high + 1) * len(buffer)] = device.read(buffer, 0, len(buffer))
    assert np.array_equal(found[[state.layout.index(value) for value in range(1 << n)]], values)


@given(st.data())
def test_arrange(data: st.DataObject) -> None:
    """Every amplitude is where a new layout says, and flipped fresh bits are zero."""
    levels = data.draw(all_levels())
    state = data.draw(made(levels))
    n = state.num_wires
    state.layout = data.draw(layouts(n))
    fresh = some_mask(data.draw, n)
    psi = random_state(n)
    filled(state, psi, fresh)
    values = without(psi, fresh)[[state.layout.index(value) for value in range(1 << n)]]
    for _ in range(2):
        layout = data.draw(layouts(n))
        state.arrange(layout)
        assert state.layout == layout
        if data.draw(st.booleans()):
            assert np.array_equal(by_value(state), values)
    assert np.array_equal(by_value(state), values)
    assert sorted(peer.place for peer in state._peer_buffers) == list(range(1 << levels.peers))


def test_device_bits_are_renamed_not_moved() -> None:
    """Permuting and flipping device bits copies no amplitude."""
    machine = Machine()
    state = Peers([LateDevice(machine, f"late:{k}") for k in range(4)], 5, DTYPE, Levels(3, 2))
    psi = random_state(5)
    filled(state, psi)
    state.arrange(Layout((0, 1, 2, 4, 3), 0b01000))
    assert np.array_equal(by_value(state), psi)
    assert machine.copies == 0
    assert state.places == (2, 0, 3, 1)
    assert [near.device.name for near in state.visit()] == ["late:2", "late:0", "late:3", "late:1"]
    filled(state, psi)
    run(state, exchange_plan(state, ((2, 3),)))  # the work of a device goes with it
    assert np.array_equal(held(state), exchanged(psi, ((2, 3),)))


# --- memory ------------------------------------------------------------------------------------------------------


class Short(LateDevice):
    """A device that refuses its third allocation, and knows what it has given."""

    given: list[Any] = []  # noqa: RUF012  (of all of them)

    def allocate(self, num_amplitudes: int, dtype: Any) -> Any:
        """Two, then none."""
        self.given[:] = [ref for ref in self.given if ref() is not None]
        if len(self.given) == 5:
            raise OutOfMemory("no more.")
        buffer = super().allocate(num_amplitudes, dtype)
        self.given.append(weakref.ref(buffer))
        return buffer


def test_all_or_nothing() -> None:
    """After an allocation that failed halfway no memory is held, and the message has the sum."""
    Short.given.clear()
    devices = [Short(Machine(), f"late:{k}") for k in range(4)]
    with pytest.raises(OutOfMemory, match=r"12 wires in complex128 on 4 devices need 16 KiB on each and 16 KiB of"):
        Peers(devices, 12, DTYPE, Levels(10, 2), reach=KINDS["peer"])
    gc.collect()
    assert [ref() for ref in Short.given if ref() is not None] == []


def test_memory_is_asked_for_before_it_is_touched() -> None:
    """Devices with too little memory are refused, virtual peers share theirs, and a limit is heeded."""
    need = (16 << 10) + 2 * (16 << 9)

    def made_with(names: str, free: int, **options: Any) -> Peers:
        devices = [LateDevice(Machine(), name, free) for name in names]
        return Peers(devices, 11, DTYPE, Levels(10, 1), **options)

    def peer(*_: Any) -> Any:
        return "peer"

    assert made_with("ab", need, reach=peer).memory == (need, need)
    with pytest.raises(OutOfMemory, match=r"64 KiB on a, which has 32 KiB free"):
        made_with("aa", need)
    with pytest.raises(OutOfMemory, match="which has 1000 bytes free"):
        made_with("ab", need, limit=1000)
    assert made_with("ab", 0, limit=need, reach=peer).memory == (need, need)
    alike = made_with("aa", 2 * need)
    assert (set(alike.links.values()), alike.host_memory, alike.memory) == ({"same device"}, 0, (need, need))
    with pytest.raises(OutOfMemory, match=r"48 KiB on a"):  # links through the host are staged there
        made_with("ab", need)
    apart = made_with("ab", 2 * need)
    assert set(apart.links.values()) == {"through the host"}
    assert (apart.host_memory, apart.memory) == (2 * 2 * (16 << 9), (16 << 10, 16 << 10))


def test_another() -> None:
    """A state of other wires on the same devices has their levels, or is refused where it cannot be made."""
    state = Peers([LateDevice(Machine(), f"late:{k}") for k in range(4)], 5, DTYPE, Levels(3, 2, 2, "mesh"), limit=4096)
    wider, narrower = state.another(7), state.another(3)
    assert (wider.levels, narrower.levels) == (Levels(5, 2, 2, "mesh"), Levels(1, 2, 0, "mesh"))
    assert np.array_equal(held(wider), [1] + [0] * 127)
    with pytest.raises(OutOfMemory):
        state.another(12)
    with pytest.raises(NotSupported, match="2 wires on 4 devices"):
        state.another(2)


def test_what_cannot_be_meant() -> None:
    """Too few devices, wires that do not add up, and a device without channels are refused."""
    device = LateDevice(Machine())
    for devices, wires in (([device] * 3, 5), ([device], 5), ([device] * 4, 6)):
        with pytest.raises(InvalidInput, match="a device for each value"):
            Peers(devices, wires, DTYPE, Levels(3, 2))
    with pytest.raises(NotSupported, match="no copy queues"):
        Peers([PlainDevice()] * 2, 4, DTYPE, Levels(3, 1))


@pytest.mark.parametrize("where", ["in an exchange", "after it"])
def test_cancel_and_release(where: str, hold: Hold) -> None:
    """After a run that is cancelled halfway, even inside an exchange, work ends before its memory is released."""
    machine = Machine()
    if where == "in an exchange":
        hold(linked_bytes=64)
    state = Peers([LateDevice(machine, f"late:{k}") for k in range(2)], 6, DTYPE, Levels(5, 1), piece_bytes=64)
    filled(state, random_state(6))
    buffers = [weakref.ref(peer.buffer) for peer in state._peer_buffers]

    ticks = []

    def tick() -> None:
        ticks.append(machine.idle())
        if len(ticks) == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        run(state, exchange_plan(state, ((4, 5),)), tick=tick)
    assert machine.idle() == (where == "in an exchange")
    state.release()
    assert machine.idle()
    machine.queues.clear()
    gc.collect()
    assert [ref() for ref in buffers] == [None, None]
    state.release()
