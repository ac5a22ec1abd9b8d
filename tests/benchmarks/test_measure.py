"""A wrong, broken or absent peer shows in the result, and never has a time in the table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.check import check
from benchmarks.dense import simulate
from benchmarks.gates import Gate
from benchmarks.measure import ROUNDS, Case, Cell, able, measure
from benchmarks.peers import PeerMissing, load
from benchmarks.peers.base import Amplitudes, CannotDivide, Precision, Setup, Timing
from benchmarks.table import blocks, geometric_mean, markdown


class OracleSession:
    """The oracle as a session; `stale` never looks at a second circuit."""

    def __init__(self, setup: Setup, seconds: float, stale: bool) -> None:
        self.setup, self.seconds, self.stale = setup, seconds, stale
        self.gates: Sequence[Gate] | None = None

    def load(self, gates: Sequence[Gate]) -> None:
        """Take the circuit, or keep the first one."""
        if self.gates is None or not self.stale:
            self.gates = gates

    def run(self) -> Timing:
        """Take the time that was given."""
        return Timing(self.seconds, {"queue": 2 * self.seconds})

    def facts(self) -> dict[str, Any]:
        """Say how the state is divided, as if it were."""
        return {"device_wires": self.setup.local} if self.setup.divided else {}

    def amplitudes(self) -> Amplitudes:
        """Ask the oracle."""
        assert self.gates is not None
        return simulate(self.gates, self.setup.n)[list(self.setup.watch)]

    def close(self) -> None:
        """Nothing to free."""


class OraclePeer:
    """A peer whose times are given."""

    version, note = "1", "a note"
    precisions: tuple[Precision, ...] = ("single", "double")

    def __init__(
        self, name: str, seconds: float, *, stale: bool = False, broken: bool = False, most_migration: int = 9
    ) -> None:
        self.name = name
        self.seconds, self.stale, self.broken = seconds, stale, broken
        self.most_migration = most_migration

    def variants(self, setup: Setup) -> tuple[str, ...]:
        """One, but for states that are divided too far."""
        if setup.migration > self.most_migration:
            raise CannotDivide(f"{self.name}: too far")
        return ("default",)

    def open(self, setup: Setup, variant: str) -> OracleSession:
        """Open, or fail as a peer without memory does."""
        assert variant in self.variants(setup)
        if self.broken:
            raise MemoryError("no room")
        return OracleSession(setup, self.seconds, self.stale)


CASE = Case("qv", 6, "double")


def cells(*peers: OraclePeer, case: Case = CASE, memory: int = 1 << 40) -> list[Cell]:
    """Measure one case, three repetitions after one warm-up."""
    return measure(case, peers, threads=1, repeat=3, warmup=1, memory=memory)


def document(found: list[Cell]) -> dict[str, Any]:
    """A result as run.py writes it, as far as the table reads it."""
    return {
        "kind": "warm",
        "device": "cpu",
        "threads": 1,
        "repeat": 3,
        "commit": "c",
        "machine": {"gpu": None, "cpu": "a cpu", "date": "today"},
        "peers": {c.peer: {"version": "1", "note": "a note"} for c in found},
        "missing": {"aer": "aer: not here"},
        "cells": [c.to_json() for c in found],
    }


def test_right_peers_have_their_medians_and_ratio() -> None:
    """All runs of three repetitions count, extras are kept apart, and the ratio is peer over ours."""
    found = cells(OraclePeer("ours", 0.5), OraclePeer("peer", 2.0))
    assert [c.seconds for c in found] == [[0.5] * 3 * ROUNDS, [2.0] * 3 * ROUNDS]
    assert found[1].extras == {"queue": 4.0}
    assert all(c.correct and c.interleaved for c in found)
    assert blocks(document(found))[0].best_ratio("qv") == pytest.approx(4)


def test_a_stale_peer_is_wrong_and_has_no_time() -> None:
    """A peer that keeps the numbers of the first circuit is found out and left out of the table."""
    found = cells(OraclePeer("ours", 0.5), OraclePeer("peer", 0.001, stale=True))
    assert [c.correct for c in found] == [True, False]
    assert "peer" not in blocks(document(found))[0].rows["qv"]
    assert "WRONG: qv n=6 double, peer/default" in markdown(document(found))


def test_above_the_oracle_peers_judge_each_other() -> None:
    """At 13 qubits a deviation from the peer is held against ours."""
    case = Case("six", 13, "double")
    found = cells(OraclePeer("ours", 1, stale=True), OraclePeer("peer", 1), case=case)
    assert [c.correct for c in found] == [False, True]


def test_a_broken_peer_is_reported_and_stops_nobody() -> None:
    """An error while opening becomes a cell with its text; the others are measured."""
    found = cells(OraclePeer("ours", 1, broken=True), OraclePeer("peer", 1))
    assert found[0].error == "MemoryError: no room"
    assert found[0].median is None
    assert found[1].correct
    assert "FAILED" in markdown(document(found))


def test_missing_peers_stand_under_the_table() -> None:
    """Peers that were not measured stand under the table."""
    assert "not measured: aer: not here" in markdown(document(cells(OraclePeer("ours", 1))))


def test_little_memory_means_one_after_the_other() -> None:
    """Where the states do not fit side by side, the cells say that the peers did not take turns."""
    found = cells(OraclePeer("ours", 1), OraclePeer("peer", 1), memory=CASE.state_bytes())
    assert not any(c.interleaved for c in found)
    assert all(c.correct for c in found)


def test_a_peer_that_cannot_divide_is_refused_with_its_reason() -> None:
    """A peer that cannot hold a divided state is listed as missing, with its own reason."""
    case = Case("qv", 6, "double", device_wires=4)
    peers = [OraclePeer("ours", 1), OraclePeer("peer", 1, most_migration=1)]
    here, refused = able(case, peers)
    assert here == peers[:1]
    assert refused == {"peer": "peer: too far"}
    assert able(CASE, peers) == (peers, {})


def test_cells_keep_what_a_session_says_of_a_divided_state() -> None:
    """The facts of a session reach the JSON."""
    found = cells(OraclePeer("ours", 1), case=Case("qv", 6, "double", device_wires=4))
    assert found[0].to_json()["facts"] == {"device_wires": 4}


def test_host_memory_decides_who_takes_turns() -> None:
    """States that fit on the devices side by side, but not on the host, are measured one after the other."""
    case = Case("qv", 6, "double", device_wires=2)
    peers = [OraclePeer("ours", 1), OraclePeer("peer", 1)]
    room = 2 * case.state_bytes()
    for host, expected in ((room, False), (2 * room, True)):
        found = measure(case, peers, threads=1, repeat=1, warmup=0, memory=1 << 40, host_memory=host)
        assert all(c.interleaved is expected for c in found)


def test_check_tells_right_from_stale() -> None:
    """The check of whole states passes the oracle and names the error of a stale peer."""
    assert check(OraclePeer("peer", 1), "default", CASE) is None
    assert "relative error" in str(check(OraclePeer("peer", 1, stale=True), "default", CASE))


def test_geometric_mean() -> None:
    """The mean of 2 and 8 is 4; what is not there does not count."""
    assert geometric_mean([2, None, 8]) == pytest.approx(4)
    assert geometric_mean([None]) is None


@pytest.mark.parametrize("name", ["qsim", "aer", "lightning"])
def test_cpu_peers_are_right(name: str) -> None:
    """Every CPU peer that is installed agrees with the oracle on every family."""
    from benchmarks.families import EXTRA, FAMILIES

    try:
        peer = load(name, "cpu")
    except PeerMissing as error:
        pytest.skip(str(error))
    for family in FAMILIES | EXTRA:
        for precision in peer.precisions:
            for variant in peer.variants(CASE.setup(1, (0,))):
                assert check(peer, variant, Case(family, 11, precision)) is None


def test_custatevec_without_a_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder is an error that names the wheel and the variable."""
    monkeypatch.setenv("QSIM_EX_CUSTATEVEC", str(tmp_path))
    with pytest.raises(PeerMissing, match=r"custatevec-cu13 and set QSIM_EX_CUSTATEVEC"):
        load("custatevec_ex", "gpu")
