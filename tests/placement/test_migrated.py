"""A migrated state holds what a state in one piece would hold, however it is divided and in whatever order copies end.

The device starts copies and work in random order, as far as marks allow, and its memory is full of NaN at first.
"""

from __future__ import annotations

import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.late_device import LateDevice, Machine
from support.migrated_states import (
    MACHINE,
    Division,
    amplitudes,
    by_values,
    checksum,
    divisions,
    done,
    fill,
    random_filled,
    works,
)  # fmt: skip
from support.states import far, random_state
from support.strategies import layouts

from qsim_ex import thresholds
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.errors import Cancelled, InvalidInput, OutOfMemory, PlanError
from qsim_ex.placement import executor
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Coefficients, Layout, Levels, Migration, Plan, Stage

seeds = st.integers(0, 10_000)


def device(seed: int = 0) -> LateDevice:
    """A device that works in an order of its own."""
    return LateDevice(Machine(seed))


@given(divisions(), st.data(), seeds)
@settings(max_examples=30, deadline=None)
def test_run(division: Division, data: st.DataObject, seed: int) -> None:
    """A plan run window by window gives the state of the same steps on all amplitudes at once."""
    n = division.n
    work = data.draw(works(division, fresh=data.draw(st.sampled_from([0, (1 << n) - 1]))))
    state = division.state(device(seed), work.plan.start)
    psi = np.eye(1, 1 << n, dtype=np.complex128)[0]
    if not work.plan.fresh:
        psi = random_state(n, seed)
        fill(state, by_values(psi, Layout.identity(n)))
        state.layout = work.plan.start
    ticks: list[int] = []
    state.run(work.plan, [(None, iter(work.numbers))], lambda: ticks.append(1))
    assert (state.layout, state.fresh, len(ticks)) == (work.plan.end, work.plan.left, executor.ticks(state, work.plan))
    near = data.draw(st.permutations(range(n)))[: division.levels.local - division.levels.slice]
    assert far(amplitudes(state, near), by_values(done(psi, work), work.plan.end)) < 1e-12


@given(divisions(), st.data(), seeds)
@settings(max_examples=15, deadline=None)
def test_visits(division: Division, data: st.DataObject, seed: int) -> None:
    """A visit with some wires near shows the amplitudes of the state, and keeps what earlier visits wrote."""
    n, levels = division.n, division.levels
    state = division.state(device(seed))
    psi = random_filled(state, seed)
    for _ in range(3):
        near = data.draw(st.permutations(range(n)))[: levels.local - levels.slice]
        write = data.draw(st.booleans())
        stop = data.draw(st.sampled_from([None, None, 1]))
        for count, place in enumerate(state.visit(near, write=write)):
            assert all(place.layout.address[wire] < levels.local for wire in near)
            if write:
                place.device.queue.put(lambda buffer=place.buffer: buffer.__imul__(2))
            elif stop == count:
                break
        psi = 2 * psi if write else psi
        assert np.allclose(checksum(amplitudes(state), levels.slice), checksum(psi, levels.slice), rtol=1e-12)
        assert far(amplitudes(state), psi) < 1e-12


@given(divisions(), st.data(), seeds)
@settings(max_examples=30, deadline=None)
def test_arrange(division: Division, data: st.DataObject, seed: int) -> None:
    """Every basis value has its amplitude after the state was brought into another layout."""
    n = division.n
    first, second = data.draw(layouts(n)), data.draw(layouts(n))
    state = division.state(device(seed), first)
    psi = np.eye(1, 1 << n, dtype=np.complex128)[0]
    psi = by_values(psi, first)  # |0…0> by index bits, whose basis value is the layout's flips
    if data.draw(st.booleans()):
        psi = random_filled(state, seed)
    for layout in (second, Layout.identity(n)):
        state.arrange(layout)
        assert state.layout == layout
        assert far(amplitudes(state), psi) < 1e-12


@given(divisions(), st.data(), seeds)
@settings(max_examples=30, deadline=None)
def test_settle(division: Division, data: st.DataObject, seed: int) -> None:
    """Zeros that were not written are zero once they are asked for, and the amplitudes stay."""
    n = division.n
    work = data.draw(works(division, fresh=(1 << n) - 1))
    state = division.state(device(seed), work.plan.start)
    state.run(work.plan, [(None, work.numbers)], int)
    state.write_zeros()
    assert state.fresh == 0
    psi = np.eye(1, 1 << n, dtype=np.complex128)[0]
    assert far(amplitudes(state), by_values(done(psi, work), work.plan.end)) < 1e-12


@pytest.mark.parametrize("scenario", ["whole", "spread"])
@pytest.mark.parametrize("slots", [1, 2, 3])
def test_bytes(scenario: str, slots: int) -> None:
    """Amplitudes that stay on the device, and those known to be zero, are not copied."""
    division = Division(8, Levels(5, slice=2), slots, scenario, 4, 16 << 3)
    state = division.state(device())
    slot, whole = 16 << 5, 16 << 8
    assert amplitudes(state)[0] == 1
    assert (state.slots.pipe.bytes_in, state.slots.pipe.bytes_out, state.slots.pipe.bytes_within) == (0, 0, 0)
    random_filled(state)
    before = state.slots.pipe.bytes_in, state.slots.pipe.bytes_out
    amplitudes(state)
    moved = state.slots.pipe.bytes_in - before[0], state.slots.pipe.bytes_out - before[1]
    # Filling has left the last windows on the device. Reading begins with these, and fetches the others.
    # What goes out to make room for them: all that comes in, but in 'whole' only what was never written home.
    out = whole - slots * slot if scenario == "spread" else slots * slot
    assert moved == (whole - slots * slot, out)
    before = state.slots.pipe.bytes_in, state.slots.pipe.bytes_out
    amplitudes(state)
    moved = state.slots.pipe.bytes_in - before[0], state.slots.pipe.bytes_out - before[1]
    assert moved == (whole - slots * slot, out if scenario == "spread" else 0)
    assert state.slots.pipe.bytes_within == 0


def test_half_of_a_window_stays() -> None:
    """When one near bit gives way to a far one, half of the first window is copied."""
    division = Division(6, Levels(5, slice=2), 1, "spread", 2, 1 << 20)
    state = division.state(device())
    random_filled(state)
    before = state.slots.pipe.bytes_in, state.slots.pipe.bytes_out
    visit = state.visit([5])
    next(visit)
    assert (state.slots.pipe.bytes_in - before[0], state.slots.pipe.bytes_out - before[1]) == (16 << 4, 16 << 4)
    next(visit)
    assert (state.slots.pipe.bytes_in - before[0], state.slots.pipe.bytes_out - before[1]) == (16 * 48, 16 * 48)


@pytest.mark.parametrize("scenario", ["whole", "spread"])
def test_memory_is_what_was_stated(scenario: str) -> None:
    """A state takes the memory of the device and of the host that it states."""
    taken = {"device": 0, "host": 0}

    class Counting(LateDevice):
        def allocate(self, num_amplitudes: int, dtype: object) -> np.ndarray:
            taken["device"] += 16 * num_amplitudes
            return super().allocate(num_amplitudes, dtype)

        def host_memory(self, num_amplitudes: int, dtype: object) -> tuple[np.ndarray, str]:
            taken["host"] += 16 * num_amplitudes
            return super().host_memory(num_amplitudes, dtype)

    division = Division(8, Levels(5, slice=2), 2, scenario, 3, 16 << 3)
    state = division.state(Counting(Machine()))
    random_filled(state)
    state.arrange(Layout(tuple(reversed(range(8))), 0b1010))
    amplitudes(state, [0, 1, 2])
    assert taken == {"device": state.needed.device_bytes, "host": state.needed.host_bytes}
    assert state.needed.device_bytes == 16 * (2 * 32 + 8)
    assert state.needed.host_bytes == 16 * (256 if scenario == "whole" else 256 - 64 + 3 * 4)
    assert state.slots.kind == "pinned"


@pytest.mark.parametrize("fault", ["dropped", "swapped", "duplicated", "sign"])
@pytest.mark.parametrize("scenario", ["whole", "spread"])
def test_planted_faults_are_caught(fault: str, scenario: str) -> None:
    """The checksums used here notice a copy that drops, misplaces or repeats a slice, or turns its sign."""
    machine = Machine()
    division = Division(7, Levels(4, slice=2), 2, scenario, 2, 16 << 2)
    state = division.state(LateDevice(machine))
    psi = random_filled(state)
    arrived: list[tuple[np.ndarray, np.ndarray]] = []

    def spoil(_number: int, to: np.ndarray, source: np.ndarray):
        if machine.owner(to) != "late:0" or machine.owner(source) == "late:0":
            return None
        arrived.append((to, source))
        if len(arrived) != 2:
            return None
        neighbour = arrived[0][0]

        def swapped() -> None:
            to[:], neighbour[:] = neighbour.copy(), source

        return {
            "dropped": lambda: None,
            "swapped": swapped,
            "duplicated": lambda: (np.copyto(to, source), np.copyto(neighbour, source)),
            "sign": lambda: np.copyto(to, -source),
        }[fault]

    machine.spoil = spoil
    wrong = checksum(amplitudes(state), 2)
    assert len(arrived) >= 2
    wanted = checksum(psi, 2)
    assert not np.allclose(wrong, wanted, rtol=1e-9)


def test_cancel_and_release() -> None:
    """After a run that is cancelled in the middle no copy is under way, and the memory is released."""
    machine = Machine()
    division = Division(8, Levels(5, slice=2), 3, "whole", 4, 16 << 2)
    state = division.state(LateDevice(machine))
    random_filled(state)
    calls = 0

    def tick() -> None:
        nonlocal calls
        calls += 1
        if calls == 9:
            raise Cancelled("cancelled.")

    plan, numbers = _passes(division)
    with pytest.raises(Cancelled):
        state.run(plan, [(None, numbers)], tick)
    state.release()
    assert machine.idle()
    assert not hasattr(state, "_memory")
    other = division.state(LateDevice(machine))
    assert far(amplitudes(other), np.eye(1, 256)[0]) == 0


@pytest.mark.parametrize("scenario", ["whole", "spread"])
def test_an_exposed_state_has_arrived(scenario: str) -> None:
    """All slices of an exposed state have their amplitudes, and no copy is under way any more."""
    machine = Machine()
    division = Division(8, Levels(5, slice=2), 3, scenario, 4, 16 << 2)
    state = division.state(LateDevice(machine))
    psi = random_filled(state)
    state.expose()
    assert machine.idle()
    assert np.array_equal(np.concatenate([state.slice_at(number) for number in range(64)]), psi)


def _passes(division: Division):
    """Two passes with one sweep each."""
    builder = CircuitBuilder(division.n)
    builder.gate("h", [4])
    made = builder.build()
    part = make_plan(made.instructions, division.n, Layout.identity(division.n), MACHINE, 0)
    bits = ((0, 1, 2, 3, 4, 5, 6, 7), (0, 1, 6, 7, 5, 2, 3, 4))
    stages = tuple(Stage(part.steps, Migration(b)) for b in bits)
    identity = Layout.identity(division.n)
    plan = Plan(division.n, stages, identity, identity, Coefficients(0, (), ()), MACHINE, 0, (), division.levels)
    return plan, [*bind(part, made.operands)] * 2


def test_bad_input() -> None:
    """Impossible divisions, and divisions that do not fit, are refused before memory is touched."""
    good = Division(8, Levels(5, slice=2), 2, "whole", 3, 128)
    for bad in (
        good._replace(levels=Levels(5, peers=1, slice=2)),
        good._replace(levels=Levels(5, slice=5)),
        good._replace(levels=Levels(9, slice=2)),
        good._replace(slots=0),
        good._replace(spare=0),
        good._replace(scenario="half"),
    ):
        with pytest.raises(InvalidInput):
            bad.state(device())
    few = r"1\.1 KiB of late:0 .* and 4 KiB of host.*1 KiB and .* are free"
    with thresholds.instead(unasked_bytes=0), pytest.raises(OutOfMemory, match=few):
        good.state(LateDevice(Machine(), free=1 << 10))
    state = good.state(device())
    with pytest.raises(InvalidInput, match="4 wires cannot be near"):
        list(state.visit([2, 3, 4, 5]))
    plan, numbers = _passes(good)
    with pytest.raises(PlanError, match="fresh"):
        state.run(plan, [(None, numbers)], int)


def test_an_allocation_that_fails_halfway() -> None:
    """Memory allocated before an allocation failed is released, and the error has the sum."""
    kept = []

    class Small(LateDevice):
        def host_memory(self, num_amplitudes: int, dtype: object) -> tuple[np.ndarray, str]:
            if len(kept) == 5:
                raise OutOfMemory("no more.")
            memory, kind = super().host_memory(num_amplitudes, dtype)
            kept.append(weakref.ref(memory))
            return memory, kind

    with pytest.raises(OutOfMemory, match=r"4 KiB of host memory.*no more"):
        Division(8, Levels(5, slice=2), 2, "whole", 3, 128).state(Small(Machine()))
    assert len(kept) == 5
    assert not any(memory() is not None for memory in kept)
