"""Ranks trade in mapped memory, by messages between GPUs, or by messages from the host, and say which."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from support.sharing_cpu import SharingCpu
from support.states import random_state
from support.together import together

from qsim_ex.comm import descriptors, nccl
from qsim_ex.errors import CommunicationError, OutOfMemory
from qsim_ex.placement.exchange import mapped
from qsim_ex.placement.exchange.mapped import MappedMemory
from qsim_ex.placement.ranks.ranks import Ranks
from qsim_ex.steps import Layout, Levels
from tools.loopback import Loopback

WIRES = 7


def swapped(devices: list[SharingCpu], *, turns: int = 1, peers: int = 1) -> list[tuple[Any, dict[str, Any]]]:
    """Exchange wire 1 with the highest wire, over ranks with these devices; return amplitudes and reports."""
    psi = random_state(WIRES)
    order = list(range(WIRES))
    order[1], order[-1] = order[-1], order[1]

    def work(end: Loopback) -> Any:
        for _ in range(turns):
            levels = Levels(WIRES - peers, peers, 1)
            state = Ranks(end, [devices[end.rank]], WIRES, np.complex128, levels)
            state.write(0, psi)
            state.arrange(Layout(tuple(order)))
            found, told = state.stored(0, 1 << WIRES), state.report()
            state.release()
        return found, told

    results = together(len(devices), work)
    index = np.arange(1 << WIRES)
    wanted = psi[sum((index >> order[bit] & 1) << bit for bit in range(WIRES))]
    for one in results:
        assert not isinstance(one, Exception), one
        assert np.array_equal(one[0], wanted)
    return results


def test_in_mapped_memory() -> None:
    """Both ranks swap their halves, nothing is sent by messages, and the result says how."""
    devices = [SharingCpu(), SharingCpu()]
    for _, told in swapped(devices):
        assert told["device_memory"] == "mapped by files from pidfd; there is no GPU"
    assert all(device.swapped for device in devices)


def test_memory_is_kept_for_the_next_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state of the size of the last one gets its memory and its mappings, unless that is large."""
    made: list[int] = []
    allocate = SharingCpu.allocate_shared

    def counted(self: SharingCpu, count: int, dtype: Any) -> Any:
        made.append(count)
        return allocate(self, count, dtype)

    monkeypatch.setattr(SharingCpu, "allocate_shared", counted)
    swapped([SharingCpu(), SharingCpu()], turns=3)
    assert len(made) == 2
    monkeypatch.setattr(mapped, "KEPT_SHARE", 1 << 60)
    swapped([SharingCpu(), SharingCpu()], turns=3)
    assert len(made) == 2 + 6


def remade(lose: int | None = None, change: int | None = None) -> list[Any]:
    """Make a state again whose memory two ranks have kept and told each other.

    lose: a rank that has lost its own. change: a rank that uses another device now.
    Return for each rank whether it is in the same memory, and how often ranks gathered anything for it.
    """

    def work(end: Loopback) -> Any:
        device = SharingCpu()

        def made() -> Ranks:
            return Ranks(end, [device], WIRES, np.complex128, Levels(WIRES - 1, 1, 1))

        first = made()
        memory = first._mine[0].buffer
        first.release()
        if end.rank == lose:
            mapped._kept.pop(end)
        if end.rank == change:
            device = SharingCpu()
        MappedMemory.agree(end, end.allgather(MappedMemory.kept_token(end, (device,))))
        gathered = []
        allgather = end.allgather
        end.allgather = lambda value: gathered.append(value) or allgather(value)  # type: ignore[func-returns-value, method-assign]
        again = made()
        same = again._mine[0].buffer is memory
        again.release()
        return same, len(gathered)

    return together(2, work)


def test_memory_that_all_ranks_keep_is_agreed_on_before() -> None:
    """Ranks that have told each other what they keep gather nothing for the next state; else they make a new one."""
    assert remade() == [(True, 0)] * 2
    for (kept, asked), (other, also_asked) in (remade(lose=1), remade(change=1)):
        assert not kept
        assert not other
        assert asked == also_asked > 0


def staged_once(devices: Sequence[SharingCpu], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What two ranks come to that make two states; the second rank has memory for the staging pieces of one."""
    host_memory, left = devices[1].host_memory, iter(range(4))

    def full(count: int, dtype: Any) -> Any:
        if next(left, None) is None:
            raise OutOfMemory("no room for staging")
        return host_memory(count, dtype)

    monkeypatch.setattr(devices[1], "host_memory", full)

    def work(end: Loopback) -> Any:
        for _ in range(2):
            state = Ranks(end, [devices[end.rank]], WIRES, np.complex128, Levels(WIRES - 1, 1, 1))
            end.barrier()
            state.release()

    return together(2, work)


def test_a_rank_without_room_for_staging_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not all have mapped the memory that was kept, a rank without room for staging raises, as do the others."""
    first, second = staged_once([SharingCpu(), SharingCpu(deaf="no right to map")], monkeypatch)
    assert isinstance(second, OutOfMemory)
    assert isinstance(first, CommunicationError)


def test_where_all_memory_is_mapped_the_next_state_stages_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept memory that all ranks have mapped needs no staging pieces."""
    assert staged_once([SharingCpu(), SharingCpu()], monkeypatch) == [None, None]


def test_ranks_that_do_not_all_reach_each_other() -> None:
    """One rank that maps nothing sends messages, the others trade in place; all say which rank it is, and why."""
    devices = [SharingCpu(), SharingCpu(deaf="no right to map"), SharingCpu(), SharingCpu()]
    for _, told in swapped(devices, peers=2):
        assert told["device_memory"] == ("mapped by files from pidfd; rank 1 does not reach rank 0: no right to map")
    assert [bool(device.swapped) for device in devices] == [True, False, True, False]  # 1 and 3 are partners
    for _, told in swapped([SharingCpu(why="no handles"), SharingCpu(why="no handles")]):
        assert told["device_memory"] == "not mapped; rank 0 does not reach rank 1: no handles"


def test_a_rank_without_the_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither a process nor a socket gives descriptors, the result has both reasons."""

    def refuse(*_: Any) -> Any:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(descriptors, "fetched", refuse)
    monkeypatch.setattr(descriptors, "_send", refuse)
    for _, told in swapped([SharingCpu(), SharingCpu()]):
        assert told["device_memory"] == (
            "not mapped; rank 0 does not reach rank 1: pidfd_getfd: Operation not permitted, Unix socket: "
            "Operation not permitted"
        )


class OverLoopback:
    """Messages from GPU to GPU, over threads."""

    def __init__(self, end: Loopback, messages: list[int]) -> None:
        self._end, self._messages = end, messages

    def exchange(self, _queue: Any, other: int, sent: Any, received: Any) -> None:
        """Exchange at once."""
        self._messages.append(sent.size)
        self._end.exchange(other, sent, received)

    @contextlib.contextmanager
    def exchanging(self, _queue: Any, _ranks: Any) -> Iterator[None]:
        """Wait for nothing."""
        yield


def test_by_messages_between_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that map nothing use NCCL where they have it, in messages that fit into staging memory on the GPU."""
    messages: list[int] = []
    monkeypatch.setattr(nccl, "ranks_with_nccl", lambda end, _number: (OverLoopback(end, messages), "NCCL 2.28.9"))
    monkeypatch.setattr(SharingCpu, "kind", "gpu")
    monkeypatch.setattr(SharingCpu, "in_host_memory", False)
    devices = [SharingCpu(deaf="another host"), SharingCpu(deaf="another host")]
    for device in devices:
        device.name = "gpu:0"
    for _, told in swapped(devices):
        assert told["device_memory"].endswith("rank 0 does not reach rank 1: another host; otherwise by NCCL 2.28.9")
    assert set(messages) == {1}  # a 64th of the state
    assert len(messages) == 2 * (1 << WIRES - 2)
    assert not any(device.swapped for device in devices)
