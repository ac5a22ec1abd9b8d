"""The benchmark of measurements in the middle has the same circuit for everybody."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from support.exact_distributions import means, unitary

from benchmarks import middle
from benchmarks.means import Means
from benchmarks.middle import Case
from benchmarks.turns import Contestant

CASE = Case(3, 2, 3000)

MAKERS: dict[str, Callable[[], Sequence[Contestant]]] = {
    "ours": lambda: middle.ours(CASE, "cpu", 2),
    "aer": lambda: middle.aer(CASE, 2, CASE.shots),
}
PACKAGES = {"ours": "qsim_ex", "aer": "qiskit_aer"}


def exact(case: Case, seed: int) -> Means:
    """The means of all bits: for each outcome of the middle a state that is not normalised, by projections."""
    start = np.zeros(1 << case.n, dtype=np.complex128)
    start[0] = 1
    states = {0: start}
    for layer, gates in enumerate(case.layers(seed)):
        for gate in gates:
            matrix = unitary(gate, case.n)
            states = {outcome: matrix @ state for outcome, state in states.items()}
        if layer < case.measurements:
            bit = np.arange(1 << case.n) >> case.measured(layer) & 1
            states = {
                outcome | value << layer: np.where(bit == value, state, 0)
                for outcome, state in states.items()
                for value in (0, 1)
            }
    probabilities = np.zeros(1 << case.bits)
    for outcome, state in states.items():
        probabilities[outcome :: 1 << case.measurements] = np.abs(state) ** 2
    return means(probabilities, case.bits)


@pytest.mark.parametrize("peer", MAKERS)
def test_everybody_measures_the_same(peer: str) -> None:
    """Every peer finds the exact means of the circuit, and not those of other angles."""
    pytest.importorskip(PACKAGES[peer])
    wanted, other = exact(CASE, 4), exact(CASE, 5)
    for contestant in MAKERS[peer]():
        found = contestant.read(contestant.call(4).found)
        assert found.deviation(wanted) < 2.5, contestant.label
        assert found.deviation(other) > 5, contestant.label


def test_the_circuit_is_as_it_is_told() -> None:
    """Each layer measures other wires, and a layer follows the last measurement."""
    case = Case()
    assert case.bits == 30
    assert len({case.measured(layer) for layer in range(10)}) == 10
    assert len(case.layers(0)) == 11
    assert case.goals("cpu")
    assert not Case(n=19).goals("cpu")


@pytest.mark.parametrize("branching", [True, False])
def test_the_command(branching: bool, tmp_path: Path) -> None:
    """Branching runs all shots, and is listed as missing where it was left out."""
    pytest.importorskip("qiskit_aer")
    out = tmp_path / "middle.json"
    asked = ["--n", "3", "--measurements", "2", "--shots", "9000", "--aer-shots", "10", "6000"]
    asked += ["--repeat", "2"] if branching else ["--repeat", "2", "--no-branching"]
    assert middle.main([*asked, "--threads", "2", "--commit", "c", "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    (row,) = found["rows"]
    assert ("aer/branching" in row["warm_up"]) is branching
    assert ("aer/branching" in found["missing"]) is not branching
    told = {label: (one["units"], one["of"]) for label, one in row["by_two_shares"].items()}
    assert told == ({"aer/default": ([10, 6000], 9000)} if "aer/default" in row["seconds"] else {})
    assert set(row["medians"]) == {"ours", "aer"}
