"""Ranks of one host get neighbouring device numbers, and the layers of the network follow from where ranks are."""

from __future__ import annotations

from typing import Any

import pytest
from support.together import together

from qsim_ex.comm import neighbours
from qsim_ex.comm.neighbours import Seats, layers_of_ranks, place, seated, seats_of
from tools.loopback import Loopback


def at(*places: str) -> list[tuple[str, str]]:
    """Places from ``host/rack``; a host without a rack is a rack of its own."""
    return [(one.split("/")[0], one.split("/")[-1]) for one in places]


@pytest.mark.parametrize(
    ("places", "used", "wanted"),
    [
        (at("a"), 1, Seats((0,), (0, 0, 0))),
        (at("a", "a", "a", "a"), 4, Seats((0, 1, 2, 3), (2, 0, 0))),
        (at("a", "b", "a", "b"), 4, Seats((0, 2, 1, 3), (1, 0, 1))),
        (at("a", "a", "a", "b", "b", "b"), 4, Seats((0, 1, 3, 4), (1, 0, 1))),
        (at("a", "a", "a", "b"), 4, Seats((0, 1, 2, 3), (0, 0, 2))),
        (at("a/r", "a/r", "b/s", "b/s", "c/r", "c/r", "d/s", "d/s"), 8, Seats((0, 1, 4, 5, 2, 3, 6, 7), (1, 1, 1))),
        (at("a/r", "a/r", "b/s", "b/s", "c/t", "c/t"), 4, Seats((0, 1, 2, 3), (1, 0, 1))),
        (at("a", "a", "b", "b", "b", "b", "b", "b"), 4, Seats((2, 3, 4, 5), (2, 0, 0))),
    ],
)
def test_seats(places: list[tuple[str, str]], used: int, wanted: Seats) -> None:
    """Ranks of one host, then of one rack, differ in the lowest bits, however a launcher has dealt them out."""
    assert seated(places, used) == wanted


def test_all_numbers_are_ranks() -> None:
    """For any hosts and numbers of ranks there are seats for a power of two of them, each with a rank of its own."""
    for counts in [(1, 2, 3), (5,), (3, 3, 3), (7, 1), (1, 1, 1, 1, 4)]:
        places = [(f"host {k}", f"host {k}") for k, count in enumerate(counts) for _ in range(count)]
        used = 1 << len(places).bit_length() - 1
        found = seated(places, used)
        assert len(set(found.ranks)) == used
        assert sum(found.bits) == used.bit_length() - 1
        for number, rank in enumerate(found.ranks):
            near = found.ranks[number ^ 1]
            assert found.bits[0] == 0 or places[rank] == places[near]


def test_racks_under_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm's topology names the switches above a host; without it each host is a rack of its own."""
    monkeypatch.delenv("SLURM_TOPOLOGY_ADDR", raising=False)
    host, rack = place()
    assert rack == host
    monkeypatch.setenv("SLURM_TOPOLOGY_ADDR", "s0.s4.node17")
    monkeypatch.setenv("SLURM_TOPOLOGY_ADDR_PATTERN", "switch.switch.node")
    assert place() == (host, "s0.s4")
    monkeypatch.setenv("SLURM_TOPOLOGY_ADDR_PATTERN", "node")
    assert place() == (host, host)


def test_layers_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of one process are one host; its bandwidth is measured over a connection once, the same for all ranks."""
    measured: list[int] = []
    rate = neighbours.on_hosts

    def counted(communicator: Any, seats: Seats, distance: int) -> tuple[float, str]:
        measured.append(communicator.rank)
        return rate(communicator, seats, distance)

    monkeypatch.setattr(neighbours, "on_hosts", counted)

    def work(end: Loopback) -> Any:
        assert seats_of(end, 2) == Seats((0, 1), (1, 0, 0))
        first = layers_of_ranks(end, 2)
        assert layers_of_ranks(end, 2) is first
        return first

    found = together(3, work)
    assert found == [found[0]] * 3
    assert sorted(measured) == [0, 1, 2]
    (layer,) = found[0]
    assert (layer.bits, layer.link) == (1, "host")
    assert layer.bytes_per_second > 1e6


def test_a_far_layer_is_no_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A farther link that seems faster, by chance, counts as fast as the nearer one."""
    monkeypatch.setattr(neighbours, "by_messages", lambda _end, _seats, distance: (1.234e9 * distance, ""))
    monkeypatch.setattr(neighbours, "seated", lambda _places, _used: Seats((0, 1, 2, 3), (1, 0, 1)))
    found = together(4, lambda end: layers_of_ranks(end, 4))
    assert [(one.link, one.bytes_per_second) for one in found[0]] == [("host", 1.2e9), ("network", 1.2e9)]
