"""First runs of drawn structures: what is drawn, and a whole table beside a peer that is the oracle."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import first_drawn
from benchmarks.dense import simulate
from benchmarks.gates import Gate
from benchmarks.peers.base import Setup, Timing
from qsim_ex import Options


def test_a_structure_is_its_family_on_other_wires_with_three_more_gates() -> None:
    """Without its square roots of X a structure is the family, up to one permutation of wires."""
    gates = first_drawn.FAMILIES["qft"](6)
    for seed in range(3):
        drawn = first_drawn.structure(gates, 6, seed)
        rest = [gate for gate in drawn if gate.name != "sx"]
        assert len(drawn) == len(gates) + first_drawn.ROOTS
        order = {
            a: b for one, other in zip(gates, rest, strict=True) for a, b in zip(one.wires, other.wires, strict=True)
        }
        assert sorted(order.values()) == list(range(6))
        assert [tuple(order[w] for w in gate.wires) for gate in gates] == [gate.wires for gate in rest]
    assert first_drawn.structure(gates, 6, 0) != first_drawn.structure(gates, 6, 1)


class _Oracle:
    """What stands for cuStateVec Ex; `wrong` is added to each amplitude."""

    def __init__(self, _library: None, setup: Setup, _variant: str, wrong: float) -> None:
        self._setup, self._wrong = setup, wrong

    def load(self, gates: list[Gate]) -> None:
        self._state = simulate(gates, self._setup.n)

    def run(self) -> Timing:
        return Timing(0.001)

    def amplitudes(self) -> Any:
        return self._state[list(self._setup.watch)] + self._wrong

    def close(self) -> None:
        pass


@pytest.mark.parametrize("wrong", [0.0, 0.5])
def test_a_table_has_both_bases_and_says_where_amplitudes_differ(
    wrong: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each family has a cell as it is written and in cz, compiled runs, and a line only where amplitudes differ."""
    monkeypatch.setattr(first_drawn, "FAMILIES", {name: first_drawn.FAMILIES[name] for name in ("su2", "ghz")})
    monkeypatch.setattr(first_drawn, "Library", lambda: None)
    monkeypatch.setattr(first_drawn, "ExSession", partial(_Oracle, wrong=wrong))
    monkeypatch.setattr(first_drawn, "Options", lambda **given: Options(**given | {"device": "cpu"}))
    first_drawn.write(tmp_path / "texts", [5])
    found = list(first_drawn.cells([5], "single", ["su2", "ghz"], tmp_path / "texts", 100.0, structures=1))
    assert [(cell["family"], cell["basis"]) for cell in found] == [
        (family, basis) for family in ("su2", "ghz") for basis in ("as", "cz")
    ]
    assert all(cell["later"] > 0 and np.isclose(cell["peer"][0], 1) for cell in found)
    assert ("differ" in capsys.readouterr().out) == bool(wrong)


def test_circuits_of_files_are_run_in_cz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of files in OpenQASM 2 has one cell each, in cz, with the amplitudes of the peer."""
    monkeypatch.setattr(first_drawn, "Library", lambda: None)
    monkeypatch.setattr(first_drawn, "ExSession", partial(_Oracle, wrong=0.0))
    monkeypatch.setattr(first_drawn, "Options", lambda **given: Options(**given | {"device": "cpu"}))
    text = 'OPENQASM 2.0; include "qelib1.inc"; qreg q[4]; h q[0]; ccx q[0],q[1],q[2]; cu1(0.3) q[2],q[3];'
    (tmp_path / "one.qasm").write_text(text)
    first_drawn.write_files(tmp_path / "texts", tmp_path)
    (found,) = first_drawn.cells([4], "single", None, tmp_path / "texts", 100.0)
    assert (found["family"], found["basis"], len(found["ms"])) == ("one", "cz", 1)
    assert found["gates"] == len(first_drawn.kept(tmp_path / "texts")[4, "one", 0]) > 6
