"""Results that a user changes, as Qiskit's own functions on results do."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from qiskit import QuantumCircuit
from qiskit.result import Counts, Result, marginal_counts
from qiskit.result.models import ExperimentResult

from qsim_ex.planning.cost.summary import PlanSummary
from qsim_ex_provider import QsimExBackend


def one(name: str = "one") -> QuantumCircuit:
    """Qubit 1 of three is found at 1."""
    circuit = QuantumCircuit(3, name=name)
    circuit.x(1)
    circuit.measure_all()
    return circuit


@pytest.mark.parametrize("indices", [[1], [1, 2], [0]])
@pytest.mark.parametrize("memory", [False, True])
def test_counts_of_some_bits(indices: list[int], memory: bool) -> None:
    """A result that Qiskit has reduced to some bits has the counts of these, and the one before it is as it was."""
    result = QsimExBackend().run(one(), shots=5, memory=memory).result()
    bits = "".join("1" if bit == 1 else "0" for bit in reversed(indices))
    assert marginal_counts(result, indices).get_counts() == {bits: 5}
    assert result.get_counts() == {"010": 5}


def test_counts_that_were_replaced() -> None:
    """Counts that a user puts into a result are those that it returns, by number and by name."""
    result = QsimExBackend().run([one(), one("other")], shots=5).result()
    result.results[1].data.counts = {"0x7": 4}
    assert result.get_counts() == [{"010": 5}, {"111": 4}]
    assert result.get_counts("other") == {"111": 4}


def test_reading_changes_nothing() -> None:
    """Counts are the same before and after the experiments were read, and when they come from a dictionary."""
    result = QsimExBackend().run([one(), one("other")], shots=5).result()
    before = result.get_counts()
    assert [dict(experiment.data.counts) for experiment in result.results] == [{"0x2": 5}] * 2
    assert result.get_counts() == before == Result.from_dict(result.to_dict()).get_counts()


def test_metadata_are_made_when_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """An outcome is read without counting the costs of plans; copies, dictionaries and texts have the metadata."""
    asked: list[object] = []
    count = PlanSummary.to_json
    monkeypatch.setattr(PlanSummary, "to_json", lambda summary: (asked.append(summary), count(summary))[1])
    first, second = QsimExBackend().run([one(), one("other")], shots=5).result().results
    assert first.data.counts == second.data.counts == {"0x2": 5}
    assert not asked
    copies = [copy.deepcopy(first), pickle.loads(pickle.dumps(first)), ExperimentResult.from_dict(first.to_dict())]
    assert all(again.metadata == first.metadata for again in copies)
    assert "_make_metadata" not in vars(copies[0])
    assert first.metadata["plan"]["gates"] == 1
    assert "device_reason" in repr(second)
    assert len(asked) == 1  # both are of one task


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda counts: pickle.loads(pickle.dumps(counts))])
def test_copies_of_counts_are_qiskit_s(copied: Any) -> None:
    """Counts have the integers of their outcomes when these are read, and copies of them are Qiskit's own."""
    circuit = QuantumCircuit(4)
    circuit.h([0, 2])
    circuit.measure_all()
    counts = QsimExBackend(device="cpu").run(circuit, shots=200, seed_simulator=1).result().get_counts()
    again = copied(counts)
    wanted = {int(bits, 2): count for bits, count in counts.items()}
    assert (type(again), dict(again)) == (Counts, dict(counts))
    assert counts.int_outcomes() == counts.int_raw == again.int_raw == wanted
    assert (again.creg_sizes, again.memory_slots, again.hex_outcomes()) == ([["meas", 4]], 4, counts.hex_outcomes())
    with pytest.raises(AttributeError, match="other"):
        _ = counts.other
