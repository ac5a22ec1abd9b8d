"""Cirq's dynamic circuits: a slice of the campaign, and its oracle, which follows every way through a circuit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.planted import on_the_cpu

from tools.fuzz.kinds import drawn
from tools.fuzz.run import outcome_of

cirq = pytest.importorskip("cirq")

WORDS = ("until=", "repetitions=2", "use_repetition_ids=False", "qubit_map", "with_classical_controls", "in part(qc1")


@pytest.fixture(autouse=True)
def _on_the_cpu() -> Iterator[None]:
    with on_the_cpu():
        yield


def test_records_come_from_every_way_through_a_circuit() -> None:
    """Subcircuits that repeat, in one another and until a key says so, have the records that their definition gives."""
    cases = [drawn(seed, ("cirq-loops",)) for seed in range(3000, 3030)]
    text = "\n".join(case.source for case in cases)
    for word in WORDS:
        assert word in text
    assert [outcome.trouble for case in cases if (outcome := outcome_of(case)).trouble] == []


def test_the_ways_through_a_loop() -> None:
    """A coin that is thrown until it is 1 has a record for each number of throws, half as likely as the one before."""
    from tools.fuzz.cirq_loops import part, ways_through

    circuit, (qubit,) = cirq.Circuit(), cirq.LineQubit.range(1)
    for _ in part(circuit, [qubit], until=("coin", 1)):
        pass
    ways = ways_through(circuit, [qubit])
    assert [way.weight for way in ways] == pytest.approx([0.5 ** (k + 1) for k in range(len(ways))])
    assert [len(next(iter(way.store.records.values()))) for way in ways] == list(range(1, len(ways) + 1))
    assert sum(way.weight for way in ways) > 0.998
