"""The benchmark of sweeps has the same circuits and angles for everybody."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from support.exact_distributions import means

from benchmarks import many
from benchmarks.ansatz import ESTIMATED, SAMPLED, SWEPT, Ansatz
from benchmarks.dense import simulate
from benchmarks.gates import Gate
from benchmarks.many import Sizes
from benchmarks.means import Means

SIZES = Sizes(bindings=2, shots=4000, resolvers=2, strings=4)
ROWS = many.rows(SIZES, "cpu", 2)
PACKAGES = {"engine": "qsim_ex", "qiskit": "qiskit_aer", "cirq": "cirq", "estimator": "qiskit_aer"}


def states(ansatz: Ansatz, turn: int, bindings: int) -> np.ndarray:
    """The state of each binding, by definition: [bindings, 2^n]."""
    found = []
    for angles in ansatz.angles(turn, bindings):
        left = iter(angles.tolist())
        gates = [Gate(name, wires, () if name == "cx" else (next(left),)) for name, wires in ansatz.gates]
        found.append(simulate(gates, ansatz.n))
    return np.array(found)


def exact(what: str, turn: int) -> Means:
    """Return the exact means of a row."""
    if what == "estimator":
        letters = np.random.default_rng(0).choice(list("IXYZ"), (SIZES.strings, ESTIMATED.n))
        return Means.exact(_expectations(states(ESTIMATED, turn, SIZES.bindings), letters))
    if what == "cirq samples":
        return means(np.abs(states(SWEPT, turn, SIZES.resolvers)) ** 2, SWEPT.n)
    if what == "cirq states":
        found = np.abs(states(SWEPT, turn, SIZES.resolvers)) ** 2
        turned = found.reshape(-1, *[2] * SWEPT.n).transpose(0, *range(SWEPT.n, 0, -1))  # Cirq is big endian
        return Means.exact(turned.reshape(len(found), -1))
    return means(np.abs(states(SAMPLED, turn, SIZES.bindings)) ** 2, SAMPLED.n)


def _expectations(psi: np.ndarray, letters: np.ndarray) -> np.ndarray:
    """<ψ|P|ψ> for each state and string; Qiskit's last letter acts on wire 0."""
    index = np.arange(psi.shape[1])
    columns = []
    for row in letters:
        moved, phase = index.copy(), np.ones(len(index), dtype=np.complex128)
        for wire, letter in enumerate(reversed(row.tolist())):
            bit = index >> wire & 1
            moved ^= (letter in "XY") << wire
            phase = phase * {"I": 1, "X": 1, "Y": 1j * (1 - 2 * bit), "Z": 1 - 2 * bit}[letter]
        columns.append((psi[:, moved].conj() * phase * psi).sum(axis=1).real)
    return np.array(columns).T


@pytest.mark.parametrize("what", ROWS)
def test_everybody_finds_what_is_right(what: str) -> None:
    """Every peer finds the exact means for its angles, and not those of other angles."""
    pytest.importorskip(PACKAGES[what.split(maxsplit=1)[0]])
    wanted, other = exact(what, 4), exact(what, 5)
    found = [contestant for make in ROWS[what].values() for contestant in make()]
    assert found
    for contestant in found:
        if contestant.variant in ("parallel", "runtime") and what == "qiskit counts":
            continue  # the row above has them
        result = contestant.read(contestant.call(4).found)
        assert result.deviation(wanted) < 2, contestant.label
        assert result.deviation(other) > 4, contestant.label


def test_the_circuits_are_as_they_are_told() -> None:
    """The circuits have the gates that the goals speak of, and two turns have different angles."""
    assert [len(ansatz.gates) for ansatz in (SAMPLED, SWEPT)] == [150, 62]
    assert SAMPLED.parameters == sum(name != "cx" for name, _ in SAMPLED.gates) == 120
    assert (SAMPLED.angles(1, 3) != SAMPLED.angles(2, 3)).all()


def test_every_goal_has_its_row() -> None:
    """Every goal is for a row that is measured."""
    assert {what for _, what in many.GOALS} <= set(ROWS)


def test_the_command_without_aer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a peer is missing the command measures ours and names the peer as not measured."""
    pytest.importorskip("qiskit")
    monkeypatch.setitem(sys.modules, "qiskit_aer", None)
    out = tmp_path / "many.json"
    asked = ["--bindings", "2", "--shots", "10", "--rows", "engine", "qiskit", "--repeat", "2", "--threads", "2"]
    assert many.main([*asked, "--commit", "c", "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert [row["what"] for row in found["rows"]] == ["engine", "qiskit"]
    assert all(set(row["medians"]) == {"ours"} for row in found["rows"])
    assert "qiskit, aer" in found["missing"]
    assert "not measured: qiskit, aer" in capsys.readouterr().out
