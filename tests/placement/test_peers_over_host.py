"""A state at home in host memory with windows on several devices is the state on one, on devices that work late."""

from __future__ import annotations

import gc
import weakref
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
from support.late_device import LateDevice, Machine
from support.states import random_state
from support.strategies import layouts

from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.errors import Cancelled, InvalidInput, NotSupported, OutOfMemory, PlanError
from qsim_ex.placement.peers_over_host import PeersOverHost
from qsim_ex.placement.windows.carry import carried
from qsim_ex.steps import Exchange, Layout, Levels, Migration, Stage, ZeroFill

DTYPE = np.dtype(np.complex128)


@st.composite
def made(draw: st.DrawFn, fewest: int = 0) -> PeersOverHost:
    """A state of up to 4 devices and 3 migration bits, with up to 3 windows on late devices, copied in pieces."""
    peers, local = draw(st.integers(0, 2)), draw(st.integers(2, 4))
    network: Any = draw(st.sampled_from(["switch", "mesh"]))
    levels = Levels(local, peers, draw(st.integers(0, local - 2)), network)
    machine = Machine(draw(st.integers(0, 999)))
    return PeersOverHost(
        [LateDevice(machine, f"late:{k}") for k in range(1 << peers)],
        local + peers + draw(st.integers(fewest, 3)),
        DTYPE,
        levels,
        frames=draw(st.integers(1, 3)),
        piece_bytes=16 << draw(st.integers(0, 3)),
        carried_bytes=16 << draw(st.integers(0, 4)),
        reach=KINDS[draw(st.sampled_from(sorted(KINDS)))],
    )


def hold(state: PeersOverHost, psi: np.ndarray, fresh: int = 0) -> None:
    """Put amplitudes at home; where a fresh bit is 1 memory holds NaN."""
    state._windows.synchronize()
    state._home[:] = np.where(np.arange(len(psi)) & fresh, np.nan, psi)
    state.fresh = fresh


def migrated(psi: np.ndarray, bits: tuple[int, ...]) -> np.ndarray:
    """The amplitudes as they lie when position p of an index is index bit ``bits[p]``."""
    position = np.arange(len(psi))
    home = np.zeros_like(position)
    for p, bit in enumerate(bits):
        home |= (position >> p & 1) << bit
    return psi[home]


def carried_mask(mask: int, bits: tuple[int, ...]) -> int:
    """A mask of index bits as one of positions."""
    return sum((mask >> bit & 1) << p for p, bit in enumerate(bits))


@settings(deadline=None)
@given(st.data())
def test_run(data: st.DataObject) -> None:
    """Passes with exchanges inside give the state of the same steps on the whole array."""
    state = data.draw(made(1))
    levels, n = state.levels, state.num_wires
    psi = np.zeros(1 << n, dtype=np.complex128)
    psi[0] = 1
    if data.draw(st.booleans()):
        fresh = some_mask(data.draw, n)
        psi = without(random_state(n, 1), fresh)
        hold(state, psi, fresh)
    fresh, stages, numbers = state.fresh, [], []
    for _ in range(data.draw(st.integers(1, 3))):
        low = range(levels.slice)
        bits = (*low, *data.draw(st.permutations(range(levels.slice, n))))
        psi, fresh = migrated(psi, bits), carried_mask(fresh, bits)
        motion: Any = Migration(bits)
        for _ in range(data.draw(st.integers(1, 2))):
            steps, packed, after = data.draw(steps_of(levels, fresh, n))
            stages.append(Stage(tuple(steps), motion, fresh))
            psi, fresh, numbers = worked_on(psi, steps, packed), after, numbers + packed
            motion = None
            if levels.peers and data.draw(st.booleans()):
                motion = Exchange(data.draw(swaps_of(levels)))
                psi, fresh = exchanged(psi, motion.swaps), traded(fresh, motion.swaps)
                bits = tuple(exchanged_bits(bits, motion))
        if motion is not None:
            stages.append(Stage((), motion, fresh))
        if fresh & (1 << levels.local) - 1:
            inside = fresh & (1 << levels.local) - 1
            stages.append(Stage((ZeroFill(inside),), None, fresh))
            numbers, fresh = [*numbers, np.zeros(0, dtype=np.complex128)], fresh & ~inside
        back = tuple(bits.index(bit) for bit in range(n))
        psi, fresh = migrated(psi, back), carried_mask(fresh, back)
    plan = plan_of(stages, state, fresh)
    state.run(plan, [(None, numbers)] * len(state.devices), quiet)
    assert state.fresh == plan.left
    assert np.allclose(held(state), psi, atol=1e-12)


def exchanged_bits(bits: tuple[int, ...], motion: Exchange) -> list[int]:
    """The index bit at home of each position, after an exchange."""
    out = list(bits)
    for a, b in motion.swaps:
        out[a], out[b] = out[b], out[a]
    return out


@given(st.data())
def test_carried(data: st.DataObject) -> None:
    """Copies between host and device carry each amplitude once to its place, in pieces of limited size."""
    local = data.draw(st.integers(0, 6))
    bits = tuple(data.draw(st.permutations(range(local + 2)))[:local])
    if data.draw(st.booleans()):
        bits = (*range(local // 2), *data.draw(st.permutations(range(local // 2, local + 2)))[: local - local // 2])
    spared = some_mask(data.draw, local)
    piece = 1 << data.draw(st.integers(0, 6))
    start = sum(1 << bit for bit in range(local + 2) if bit not in bits and data.draw(st.booleans()))
    home = np.arange(1 << local + 2)
    found = np.full(1 << local, -1)
    for near, far in carried(bits, spared, piece):
        assert near.size <= piece
        assert np.all(near.of(found) == -1)
        near.of(found)[...] = far.at(start).of(home)
    index = np.arange(1 << local)
    want = start + sum((index >> p & 1) << bit for p, bit in enumerate(bits))
    assert np.array_equal(found, np.where(index & spared, -1, want))


@given(st.data())
def test_visit(data: st.DataObject) -> None:
    """A visit has the chosen wires local, shows every amplitude, and keeps what it writes."""
    state = data.draw(made())
    n, levels = state.num_wires, state.levels
    state.layout = data.draw(layouts(n))
    fresh = some_mask(data.draw, n)
    psi = random_state(n)
    hold(state, psi, fresh)
    values = without(psi, fresh)[[state.layout.index(value) for value in range(1 << n)]]
    near = data.draw(st.permutations(range(n)))[: data.draw(st.integers(0, levels.local - levels.slice))]
    write, stop = data.draw(st.booleans()), data.draw(st.sampled_from([None, 1]))
    found = np.zeros(1 << n, dtype=np.complex128)
    layout = state.layout
    for count, (device, buffer, layout, high) in enumerate(state.visit(near, write=write)):
        if not write and count == stop:
            break
        assert all(layout.address[wire] < levels.local for wire in near)
        found[high * len(buffer) : (high + 1) * len(buffer)] = device.read(buffer, 0, len(buffer))
        if write:
            device.write(buffer, 0, 2 * device.read(buffer, 0, len(buffer)))
        else:  # work on it that has not begun when the next one comes
            device.run(buffer, levels.local, ZeroFill(1), np.zeros(0))
    else:
        assert np.array_equal(found[[layout.index(value) for value in range(1 << n)]], values)
    assert np.array_equal(by_value(state), 2 * values if write else values)
    if write:
        assert not any(state.fresh >> state.layout.address[wire] & 1 for wire in near)


@given(st.data())
def test_arrange_and_settle(data: st.DataObject) -> None:
    """Every amplitude is where a new layout says, and zeros are written when they are asked for."""
    state = data.draw(made())
    n = state.num_wires
    state.layout = data.draw(layouts(n))
    fresh = some_mask(data.draw, n)
    psi = random_state(n)
    hold(state, psi, fresh)
    values = without(psi, fresh)[[state.layout.index(value) for value in range(1 << n)]]
    layout = data.draw(layouts(n))
    state.arrange(layout)
    assert state.layout == layout
    assert np.array_equal(by_value(state), values)
    state.write_zeros()
    assert state.fresh == 0
    assert np.array_equal(state._home[[layout.index(value) for value in range(1 << n)]], values)


def test_what_is_zero_is_not_copied() -> None:
    """Of a growing state only what is not known to be zero is copied, and the counts are what is copied."""
    machine = Machine()
    state = PeersOverHost(
        [LateDevice(machine, f"late:{k}") for k in range(2)], 8, DTYPE, Levels(4, 1, 2), carried_bytes=64
    )
    steps, bits = (ZeroFill(0b1111),), tuple(range(8))
    plan = plan_of([Stage(steps, Migration(bits), state.fresh)], state, 0b11110000)
    state.run(plan, [(None, [np.zeros(0, dtype=np.complex128)])] * 2, quiet)
    state._windows.synchronize()
    assert (state.bytes_in, state.bytes_out) == ([4 * 16, 0], [16 * 16, 0])
    assert machine.copied == {("host of late:0", "late:0"): 4, ("late:0", "host of late:0"): 16}


def test_plans_of_other_states_are_refused() -> None:
    """A plan for other fresh bits, or a migration that would tear slices apart, is refused."""
    state = PeersOverHost([LateDevice(Machine())], 4, DTYPE, Levels(3, 0, 1))
    everything = state.fresh
    for stage in (Stage((), Migration((1, 0, 2, 3)), everything), Stage((), Migration((0, 1, 2, 3)), 0)):
        with pytest.raises(PlanError):
            state.run(plan_of([stage], state, everything), [(None, [])], quiet)
    good = plan_of([Stage((), Migration((0, 3, 2, 1)), everything)], state, everything)
    state.run(good, [(None, [])], quiet)
    state.fresh = 0
    with pytest.raises(PlanError):
        state.run(good, [(None, [])], quiet)


def test_memory() -> None:
    """Too little memory is refused with the sum, and nothing is held after a release."""
    machine = Machine()

    def made_with(limit: tuple[int, int]) -> PeersOverHost:
        devices = [LateDevice(machine, f"late:{k}") for k in range(2)]
        return PeersOverHost(devices, 14, DTYPE, Levels(10, 1), frames=2, limit=limit, reach=KINDS["peer"])

    need, home = 2 * (16 << 10) + 2 * (16 << 9), 16 << 14
    state = made_with((need, home))
    assert (state.memory, state.host_memory) == ((need, need), home)
    with pytest.raises(OutOfMemory, match=r"14 wires in complex128 need 256 KiB of host memory and 48 KiB on each"):
        made_with((need - 1, home))
    with pytest.raises(OutOfMemory, match=r"on the host, which has 255 KiB free"):
        made_with((need, home - 1024))
    with pytest.raises(InvalidInput):
        PeersOverHost([LateDevice(machine)] * 2, 5, DTYPE, Levels(5, 1))
    with pytest.raises(NotSupported):
        state.another(1)
    assert state.another(13).levels == Levels(10, 1)
    assert state.another(3).levels == Levels(2, 1)
    memory = [weakref.ref(state._home), *(weakref.ref(peer.buffer) for peer in state._windows.frames[0].peer_buffers)]
    hold(state, random_state(14))
    ticks = []

    def tick() -> None:
        ticks.append(machine.idle())
        if len(ticks) == 3:
            raise Cancelled

    plan = plan_of([Stage((ZeroFill(1),), Migration(tuple(range(14))))], state, 0)
    with pytest.raises(Cancelled):
        state.run(plan, [(None, [np.zeros(0)])] * 2, tick)
    assert not machine.idle()
    state.release()
    assert machine.idle()
    machine.queues.clear()
    del state
    gc.collect()
    assert [ref() for ref in memory] == [None, None, None]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_on_a_cpu(dtype: Any) -> None:
    """Virtual peers of a real CPU return the amplitudes that they were given, in any layout."""
    state = PeersOverHost([CpuDevice(2)] * 4, 12, dtype, Levels(7, 2, 3))
    psi = random_state(12).astype(dtype)
    state.write_zeros()
    for near in state.visit(write=True):
        near.device.write(near.buffer, 0, psi[near.high << 7 : near.high + 1 << 7])
    rng = np.random.default_rng(0)
    for layout in (Layout(tuple(rng.permutation(12).tolist()), 1234), Layout.identity(12)):
        state.arrange(layout)
        assert np.array_equal(by_value(state).astype(dtype), psi)
    assert abs(sum(float(near.device.norms(near.buffer, 1)[0]) for near in state.visit([11, 0])) - 1) < 1e-5
