"""The benchmark of plans over subspaces: what it counts, and what it runs, on an emulated GPU."""

from __future__ import annotations

import json

import pytest
from support.cuda.emulated_runtime import EmulatedRuntime

from benchmarks import subspaces_gpu as subspaces
from qsim_ex.devices.gpu.device import GpuDevice, shape_of
from qsim_ex.planning import compiled


@pytest.fixture
def few(monkeypatch, tmp_path):
    """Two circuits, none in another basis; where results are written."""
    monkeypatch.setattr(subspaces, "NAMES", {"cx_only": "280 CX", "clifford_t": "Clifford+T"})
    monkeypatch.setattr(subspaces, "in_basis", lambda _wires: {})
    return tmp_path / "found.json"


def test_both_plans_are_counted(few, monkeypatch, capsys):
    """Without a GPU both plans are described, and it is said which one prediction takes."""
    usual = compiled.PROMISE
    monkeypatch.setattr("sys.argv", ["subspaces", "--n", "28", "--counts", "--out", str(few)])
    subspaces.main()
    assert usual == compiled.PROMISE
    rows = json.loads(few.read_text())["rows"]
    assert [(row["circuit"], row["itemsize"]) for row in rows[:3]] == [("280 CX", 8), ("Clifford+T", 8), ("adder", 8)]
    assert rows[0]["taken"]
    assert rows[0]["moved"][1] < 0.4 * rows[0]["moved"][0]
    assert rows[0]["predicted"][1] < rows[0]["predicted"][0]
    assert capsys.readouterr().out.count("280 CX") == 2


@pytest.mark.parametrize("begin", ["zero", "there", "state"])
def test_four_kinds_of_kernels_run(few, monkeypatch, capsys, begin):
    """Each circuit is run four ways compiled and two ways interpreted, and all amplitudes agree, wherever it begins."""

    class Emulated(GpuDevice):
        def __init__(self) -> None:
            self._use(EmulatedRuntime(tensor=True))

    monkeypatch.setattr(subspaces, "GpuDevice", Emulated)
    monkeypatch.setattr("sys.argv", ["subspaces", "--n", "13", "--repeat", "1", "--begin", begin, "--out", str(few)])
    subspaces.main()
    rows = json.loads(few.read_text())["rows"]
    assert {row["circuit"] for row in rows} == {"280 CX", "Clifford+T", "adder"}
    assert all(len(row["ms"]) == 4 and len(row["interpreted"]) == 2 and row["off"] < 1e-4 for row in rows)
    assert capsys.readouterr().out.count("geometric mean") == 2


def test_a_circuit_without_such_a_plan():
    """A circuit that fits into one tile has no plan over subspaces, and no row."""
    assert subspaces.plans_of(subspaces.circuits(8, None)["280 CX"], shape_of(8)) is None
