"""Memory of the CPU that other processes map, in huge pages, and trades in it."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.together import together

from qsim_ex.comm.descriptors import fetched
from qsim_ex.devices.cpu import shared
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.devices.memory import HUGE
from qsim_ex.errors import DeviceError
from qsim_ex.placement.exchange.schedule import Part
from qsim_ex.placement.ranks.ranks import Ranks
from qsim_ex.steps import Layout, Levels
from tools.loopback import Loopback


def possible() -> bool:
    """Whether this system makes huge pages for shared memory."""
    try:
        os.close(shared.make(1))
    except OSError:
        return False
    return True


only_where_possible = pytest.mark.skipif(not possible(), reason="this system makes no huge pages for shared memory")

COUNT = 1 << 18
PARTS = {
    "one run": Part(3, 1, COUNT - 7, COUNT - 7),
    "one number": Part(5, 1, 1, 1),
    "narrow rows": Part(2, COUNT >> 3, 2, 8),
    "wide rows": Part(1 << 16, 2, 1 << 16, 1 << 17),
    "one narrow row in each half": Part(0, 2, 1, COUNT // 2),
}
"""Parts of `COUNT` amplitudes; those of several rows have gaps."""


def amplitudes(begin: float) -> np.ndarray:
    """Numbers that no other begin gives."""
    return np.arange(COUNT) + begin * 1j


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", PARTS)
def test_two_halves_are_a_swap(name: str, threads: int) -> None:
    """After both halves, each part holds what the other held, and all around it is untouched."""
    device, part = CpuDevice(threads), PARTS[name]
    mine, theirs = amplitudes(1), amplitudes(2)
    wanted_mine, wanted_theirs = amplitudes(1), amplitudes(2)
    part.of(wanted_mine)[...], part.of(wanted_theirs)[...] = part.of(amplitudes(2)), part.of(amplitudes(1))
    device.swap_half(part.of(mine), part.of(theirs), 0)
    assert not np.array_equal(mine, amplitudes(1))
    device.swap_half(part.of(theirs), part.of(mine), 1)
    assert np.array_equal(mine, wanted_mine)
    assert np.array_equal(theirs, wanted_theirs)
    device.pull(part.of(mine), part.of(amplitudes(7)))
    part.of(wanted_mine)[...] = part.of(amplitudes(7))
    assert np.array_equal(mine, wanted_mine)


def _other(pipe: Any, pid: int, descriptor: int) -> None:
    """Add 1 to memory of another process, and end."""
    (file,) = fetched(pid, [descriptor])
    found = CpuDevice(1).map_shared(file, COUNT, np.complex128)
    os.close(file)
    found += 1
    pipe.send(found[:3].copy())


@only_where_possible
def test_another_process_writes_to_it() -> None:
    """What another process writes is here, also after it has ended and the file is closed; the memory is aligned."""
    given = CpuDevice(2).allocate_shared(COUNT, np.complex128)
    assert isinstance(given.handle, int)
    assert (given.kind, given.why) == ("file descriptors", "")
    assert given.buffer.ctypes.data % HUGE == 0
    given.buffer[:] = amplitudes(1)
    context = get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_other, args=(theirs, os.getpid(), given.handle))
    process.start()
    try:
        assert np.array_equal(mine.recv(), amplitudes(1)[:3] + 1)
    except EOFError:
        pytest.skip("this system passes no descriptors to a child")
    finally:
        process.join(60)
        os.close(given.handle)
    assert np.array_equal(given.buffer, amplitudes(1) + 1)


@only_where_possible
def test_it_is_in_huge_pages_and_goes_with_the_last_array() -> None:
    """The system says that all of it is in huge pages, and nothing is left mapped once no array uses it."""

    def lines(word: str) -> list[str]:
        return [line for line in Path("/proc/self/smaps").read_text().splitlines() if word in line]

    before = len(lines("memfd:qsim-ex"))
    given = CpuDevice(1).allocate_shared(4 * COUNT, np.complex128)
    assert isinstance(given.handle, int)
    os.close(given.handle)
    view = given.buffer[5:]
    assert len(lines("memfd:qsim-ex")) == before + 1
    assert max(int(line.split()[1]) for line in lines("ShmemPmdMapped")) == 4 * COUNT * 16 >> 10
    del given
    assert len(lines("memfd:qsim-ex")) == before + 1
    del view
    assert len(lines("memfd:qsim-ex")) == before


@only_where_possible
def test_pages_of_others_do_not_stay() -> None:
    """What a trade has read of another memory is not resident afterwards, but still there."""
    device = CpuDevice(1)
    given = device.allocate_shared(4 * COUNT, np.complex128)
    assert isinstance(given.handle, int)
    theirs = device.map_shared(given.handle, 4 * COUNT, np.complex128)
    os.close(given.handle)
    given.buffer[:] = 3

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    mine = np.ones(4 * COUNT, np.complex128)
    device.swap_half(mine[:1], mine[1:2], 0)  # the library is loaded
    before = resident()
    device.swap_half(mine, theirs, 0)
    assert resident() < before + (1 << 21)
    assert np.array_equal(theirs, given.buffer)
    assert np.array_equal(np.unique(mine), [1, 3])
    before = resident()  # all of the other memory too, which was read just now
    device.pull(mine, theirs)
    assert resident() < before - theirs.nbytes // 2
    assert np.array_equal(mine, theirs)


@pytest.mark.parametrize(
    ("name", "fault", "why"),
    [
        ("_collapse", OSError(22, "no huge pages (Invalid argument)"), "no huge pages (Invalid argument)"),
        ("_map", OSError(12, "mmap: Cannot allocate memory"), "mmap: Cannot allocate memory"),
    ],
)
def test_private_memory_where_there_is_no_other(
    monkeypatch: pytest.MonkeyPatch, name: str, fault: OSError, why: str
) -> None:
    """Without huge pages, or without files in memory, memory is private, and says why; no descriptor stays open."""

    def refuse(*_: Any) -> Any:
        raise fault

    monkeypatch.setattr(shared, name, refuse)
    device, before = CpuDevice(1), len(list(Path("/proc/self/fd").iterdir()))
    given = device.allocate_shared(COUNT, np.complex128)
    assert (given.handle, given.kind, given.why) == (None, "", why)
    given.buffer[:] = 1
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    if name == "_map":
        with pytest.raises(DeviceError, match="Cannot allocate"):
            device.map_shared(0, COUNT, np.complex128)


def over_two(wires: int, work: Callable[[Ranks], Any]) -> list[Any]:
    """What two ranks find in a state of 2^wires amplitudes, each of which is its index; in threads."""

    def rank(end: Loopback) -> Any:
        state = Ranks(end, [CpuDevice(1)], wires, np.complex128, Levels(wires - 1, 1, 1))
        try:
            state.write(0, np.arange(1 << wires).astype(np.complex128))
            return work(state)
        finally:
            state.release()

    return together(2, rank)


@only_where_possible
@pytest.mark.parametrize(("wires", "mapped"), [(19, True), (18, False)])
def test_ranks_trade_in_it(wires: int, mapped: bool) -> None:
    """Large sub state vectors are mapped and say so, small ones are not; either way all amplitudes arrive."""
    order = list(range(wires))
    order[4], order[-1] = order[-1], order[4]

    def work(state: Ranks) -> Any:
        state.arrange(Layout(tuple(order)))
        return state.stored(0, 1 << wires), state.report().get("device_memory", "")

    index = np.arange(1 << wires)
    wanted = sum((index >> order[bit] & 1) << bit for bit in range(wires))
    for found in over_two(wires, work):
        assert not isinstance(found, Exception), found
        assert np.array_equal(found[0], wanted)
        assert found[1] == ("mapped by file descriptors from pidfd" if mapped else "")
