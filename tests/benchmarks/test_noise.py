"""The benchmark of noise has the same noise for everybody."""

import json
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.exact_distributions import embedded, means, unitary

from benchmarks import noise, table
from benchmarks.families import structure_of
from benchmarks.means import Means
from benchmarks.noise import Case, Kind
from benchmarks.turns import Contestant

PAULIS = [np.eye(2), np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]]), np.diag([1, -1])]

MAKERS: dict[str, Callable[[Case], Sequence[Contestant]]] = {
    "ours": lambda case: noise.ours(case, "cpu", 2, case.trajectories),
    "qsim": lambda case: noise.qsim(case, 2),
    "aer": lambda case: noise.aer(case, 2, case.trajectories),
}
PACKAGES = {"ours": "qsim_ex", "qsim": "qsimcirq", "aer": "qiskit_aer"}


def exact(case: Case, seed: int) -> Means:
    """The means on the diagonal of the density matrix: every channel by its formula, on all wires at once."""
    rho = np.zeros((1 << case.n, 1 << case.n), dtype=np.complex128)
    rho[0, 0] = 1
    for gate, places in case.noisy(seed):
        matrix = unitary(gate, case.n)
        rho = matrix @ rho @ matrix.conj().T
        for wires in places:
            rho = sum(k @ rho @ k.conj().T for k in _kraus(case, wires))
    return means(np.diagonal(rho).real, case.n)


def _kraus(case: Case, wires: tuple[int, ...]) -> list[np.ndarray]:
    p = case.strength
    if case.kind == "damping":
        found = [np.diag([1, np.sqrt(1 - p)]), np.sqrt(p) * np.array([[0, 1], [0, 0]])]
    else:  # with p the wires are completely mixed, which is every product of Pauli matrices alike
        products = [reduce(np.kron, factors) for factors in product(PAULIS, repeat=len(wires))]
        found = [np.sqrt(1 - p) * products[0], *(np.sqrt(p / len(products)) * one for one in products)]
    return [embedded(one, wires, case.n) for one in found]


@pytest.mark.parametrize("peer", MAKERS)
@pytest.mark.parametrize("kind", ["depolarizing", "damping"])
def test_everybody_has_this_noise(kind: Kind, peer: str) -> None:
    """Every peer finds the exact means with this noise, and not those without noise."""
    pytest.importorskip(PACKAGES[peer])
    case = Case(kind, 3, cycles=2, trajectories=1500, strength=0.3)
    wanted = exact(case, 4)
    without = exact(Case(kind, 3, cycles=2, strength=0.0), 4)
    for contestant in MAKERS[peer](case):
        found = contestant.read(contestant.call(4).found)
        assert found.deviation(wanted) < 2.5, contestant.label
        assert found.deviation(without) > 5, contestant.label


def test_a_seed_changes_angles_alone() -> None:
    """Two turns share one structure and differ in their angles."""
    case = Case("depolarizing", 5)
    assert structure_of(case.gates(1)) == structure_of(case.gates(2))
    assert case.gates(1) != case.gates(2)
    assert len(case.gates(1)) == 20 * 5 + 20 * 2


def test_goals_are_for_their_sizes() -> None:
    """The goals hold for the full number of trajectories, and not for a quick look at fewer."""
    assert Case("depolarizing", 12).goals("cpu")
    assert Case("depolarizing", 12).goals("gpu")
    assert not Case("depolarizing", 12, trajectories=10).goals("cpu")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command measures what it is given, names who did two shares, and its table can be printed again."""
    pytest.importorskip("qsimcirq")
    pytest.importorskip("qiskit_aer")
    out = tmp_path / "noise.json"
    asked = ["--n", "3", "--cycles", "2", "--trajectories", "3000", "--singles", "10", "200"]
    asked += ["--aer-trajectories", "10", "2000", "--no-branching"]
    assert noise.main([*asked, "--threads", "2", "--repeat", "2", "--commit", "c", "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert [row["what"] for row in found["rows"]] == ["depolarizing, 3 qubits", "damping, 3 qubits"]
    for row in found["rows"]:
        assert set(row["medians"]) == {"ours", "one by one", "qsim", "aer"}
        assert all(len(seconds) == 2 for seconds in row["seconds"].values())
        told = {label: (one["units"], one["of"]) for label, one in row["by_two_shares"].items()}
        assert told == {"one by one/default": ([10, 200], 3000), "aer/default": ([10, 2000], 3000)}
    assert "aer/branching" in found["missing"]
    printed = capsys.readouterr().out
    assert "| depolarizing, 3 qubits |" in printed
    assert table.main([str(out)]) == 0
    assert capsys.readouterr().out == printed
