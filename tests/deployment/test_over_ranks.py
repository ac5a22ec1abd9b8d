"""Ranks decide together whether their parts lie on their devices or in the memories of their hosts."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from support.plain_device import PlainDevice
from support.together import together

from qsim_ex import CircuitBuilder, Simulator
from qsim_ex.comm.connection import connected
from qsim_ex.deployment.assign import assign
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices import discover
from qsim_ex.errors import CommunicationError, OptionError, OutOfMemory
from qsim_ex.options import Options
from tools.loopback import Loopback


class PlainGpu(PlainDevice):
    """A GPU as far as the choice can see, with its own free memory on each rank's thread."""

    kind: Any = "gpu"
    in_host_memory = False
    name = "gpu:0"

    def memory(self) -> tuple[int, int]:
        """The free and all bytes."""
        free = FREE[threading.current_thread()]
        return free, free


FREE: dict[threading.Thread, int] = {}


@pytest.fixture(autouse=True)
def _host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host with 64 GiB and a GPU."""
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: PlainDevice(free=64 << 30))
    monkeypatch.setattr(discover, "gpu_missing", lambda: None)
    monkeypatch.setattr(discover, "gpu", lambda _id=0: PlainGpu())
    monkeypatch.setattr(discover, "gpu_count", lambda: 1)
    monkeypatch.setattr(discover, "generation", lambda _id: "90")


def assigned(free: list[int], num_wires: int, each: Any = None, **options: Any) -> list[Any]:
    """What each of some ranks finds, with so many free bytes on its GPU; an error in place of an assignment.

    each: the options of each rank that differ.
    """

    def work(end: Loopback) -> Assignment:
        FREE[threading.current_thread()] = free[end.rank]
        own = {"device": "gpu", "network": "switch", **options, **(each[end.rank] if each else {})}
        with connected(end, this_thread=True):
            return assign(num_wires, Options(processes=len(free), **own))

    return together(len(free), work)


def again(change: Any, **second: Any) -> list[Any]:
    """What two ranks find for a second state of the size of the first; change: is called on rank 1 between them.

    second: options of rank 1 that are then others.
    """

    def work(end: Loopback) -> Assignment:
        FREE[threading.current_thread()] = 4 << 30
        options = Options(processes=2, device="gpu", network="switch")
        with connected(end, this_thread=True):
            assert assign(28, options).deployment.kind == "ranks"
            if end.rank == 1:
                change()
                options = options.with_(second)
            return assign(28, options)

    return together(2, work)


def test_a_second_state_of_a_size_is_told_what_is_free_now() -> None:
    """Windows are taken where a GPU has less memory free than before, or an option says so, on any rank."""
    for found in (again(lambda: FREE.update({threading.current_thread(): 1 << 30})), again(int, max_memory=1 << 30)):
        assert [where.deployment.kind for where in found] == ["ranks over host"] * 2
        assert found[0].deployment.levels == found[1].deployment.levels


def test_a_rank_that_fails_before_the_second_state_ends_the_others() -> None:
    """Nobody waits for a rank that cannot tell its memory: the others say which rank it is, and why."""
    first, second = again(lambda: FREE.pop(threading.current_thread()))
    assert isinstance(second, KeyError)
    assert isinstance(first, CommunicationError)
    assert "rank 1 of 2 has failed, and this rank with it: KeyError" in str(first)


def test_parts_that_fit_lie_on_devices() -> None:
    """Two parts of 2 GiB lie on GPUs of 4 GiB."""
    for where in assigned([4 << 30] * 2, 28):
        assert (where.deployment.kind, where.deployment.levels.peers) == ("ranks", 1)


def test_parts_that_do_not_fit_lie_on_hosts() -> None:
    """If one GPU has no room, all ranks take windows that fit into it, three at a time, and say why."""
    found = assigned([9 << 30, 4 << 30], 30)
    for where in found:
        assert where.deployment.kind == "ranks over host"
        assert where.deployment.levels == found[0].deployment.levels
        levels = where.deployment.levels
        assert (levels.local, levels.peers, levels.ranks) == (26, 0, 1)
        assert where.deployment.in_flight == 3
        assert "do not fit into the devices of each process" in where.reason
        assert (16 << 29) < where.deployment.host_bytes <= 1.01 * (16 << 29)


def test_what_fits_nowhere_is_refused_by_all() -> None:
    """Hosts without room for all parts are named, with the same error on all ranks."""
    for error in assigned([4 << 30] * 2, 33):
        assert isinstance(error, OutOfMemory)
        assert "its ranks need more than the" in str(error)


def test_devices_of_two_kinds_are_refused_by_all() -> None:
    """A rank on a CPU beside one whose GPU has no room for its part is the same error on both, and none waits."""
    first, second = assigned([4 << 30] * 2, 30, [{"device": "cpu"}, {}])
    assert isinstance(first, CommunicationError)
    assert str(first) == str(second)
    assert "devices of one kind, got rank 0 on a cpu and rank 1 on a gpu" in str(first)


@pytest.mark.parametrize("limits", [(3 << 30, 1 << 30), (3 << 30, None)])
def test_limits_of_one_rank_are_those_of_all(limits: tuple[int, int | None]) -> None:
    """Ranks whose `max_memory` differ take the same windows, which have room where there is least."""
    first, second = assigned([4 << 30] * 2, 30, [{"max_memory": most} for most in limits])
    assert first.deployment.levels == second.deployment.levels
    assert first.deployment.in_flight == second.deployment.in_flight
    assert first.deployment.device_bytes <= min(most for most in limits if most)


def test_a_limit_of_one_rank_below_any_window_is_refused_by_all() -> None:
    """A rank whose `max_memory` no window fits into is named on both, with the same error."""
    first, second = assigned([4 << 30] * 2, 30, [{"max_memory": 1 << 18}, {}])
    assert isinstance(first, OutOfMemory)
    assert str(first) == str(second)


def test_options_alone_lead_to_host_memory() -> None:
    """`device_wires` leads there whatever is free; with too few wires for windows, the state lies on devices."""
    for where in assigned([64 << 30, 4 << 30], 28, device_wires=20):
        assert (where.deployment.kind, where.deployment.levels.local) == ("ranks over host", 20)
    for where in assigned([64 << 30] * 2, 28, device_wires=27):
        assert where.deployment.kind == "ranks"


def test_what_hosts_have_no_room_for_is_spread() -> None:
    """Where hosts lack room for all of the parts, or options say so, they hold what the devices do not."""
    for where in assigned([20 << 30] * 2, 32):
        assert (where.deployment.kind, where.deployment.host_memory) == ("ranks over host", "spread")
        slots, levels = where.deployment.in_flight, where.deployment.levels
        assert where.deployment.host_bytes < (16 << 31) - slots * (16 << levels.local) + (1 << 29)
        assert where.deployment.host_bytes + where.deployment.device_bytes < (16 << 31) + (1 << 29)
    for where in assigned([4 << 30] * 2, 30, host_memory="spread"):
        assert where.deployment.host_memory == "spread"
    for error in assigned([64 << 30] * 2, 28, device_wires=20, host_memory="spread", virtual_peers=2):
        assert isinstance(error, OptionError)
        assert "process for each device" in str(error)


def test_windows_lie_on_the_gpu_of_each_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a host has a GPU for each rank, windows lie on GPU 0 of rank 0 and on GPU 1 of rank 1."""
    monkeypatch.setattr(discover, "gpu_count", lambda: 2)
    for number, where in enumerate(assigned([64 << 30] * 2, 28, device_wires=20)):
        assert (where.deployment.kind, where.deployment.devices) == ("ranks over host", (number,))


def test_ranks_without_gpus_and_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that nobody has named is the CPU where there is no driver, and CuPy is not asked for."""
    monkeypatch.undo()
    if discover.gpu_missing() is None:
        pytest.skip("a GPU is present")

    def work(end: Loopback) -> Assignment:
        with connected(end, this_thread=True):
            return assign(5, Options(processes=2, network="switch"))

    for where in together(2, work):
        assert where.device.kind == "cpu", where
        assert where.deployment.kind == "ranks"


def test_it_is_explained() -> None:
    """`explain` tells the parts, the passes and what hosts exchange, without any process."""
    builder = CircuitBuilder(24)
    for wire in range(24):
        builder.gate("ry", [wire], 0.3).gate("cx", [wire, (wire + 7) % 24])
    for wire in range(24):
        builder.gate("ry", [wire], 0.3).gate("cx", [wire, (wire + 5) % 24])
    text = Simulator(device="cpu", processes=4, device_wires=18).explain(builder.build())
    assert "ranks over host: 64 sub state vectors of 18 wires" in text
    assert "at home on the hosts of 4 processes" in text
    assert "at home: " in text
    assert "between the hosts of processes: " in text


def test_fewer_wires_than_ranks_need_are_refused_in_words() -> None:
    """A state of one wire over eight sub state vectors is refused in words, before the network is measured for it."""

    def work(end: Loopback) -> Assignment:
        with connected(end, this_thread=True):
            return assign(1, Options(device="cpu", processes=4, virtual_peers=2))

    for error in together(4, work):
        assert isinstance(error, OptionError)
        assert "wires" in str(error)
