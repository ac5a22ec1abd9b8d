"""The demonstration and the doctor with the real frameworks, through their own interfaces."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint

import pytest
from support.command_line import REAL, CommandLine
from support.paths import ROOT

pytest.importorskip("qiskit")
pytest.importorskip("cirq")


@pytest.fixture
def qsim_ex(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line with both frameworks of this checkout."""
    monkeypatch.setenv("QSIM_EX_FRONTENDS", REAL)
    return CommandLine(capsys)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_frameworks_agree(qsim_ex, precision):
    """Qiskit, Cirq and the engine give the amplitudes of the definition, and in double precision the same shots."""
    words = ("--shots", "5000", "--seed", "3", "--device", "cpu", "--precision", precision, "--json")
    ended = qsim_ex("demo", *words)
    answers = ended.document["answers"]
    assert ended.code == 0
    assert {answer["name"] for answer in answers} == {"engine", "qiskit", "cirq"}
    for answer in answers:
        assert answer["agreed"] is True
        assert answer["relative_error"] <= ended.document["tolerance"]
        assert answer["precision"] == precision
        assert precision == "single" or answer["shots_as_engine"] == 5000


def test_doctor_knows_the_frameworks(qsim_ex):
    """Both frameworks are found and run gates, and Qiskit reads files."""
    told = qsim_ex("doctor", "--no-check", "--json").document
    assert {one["name"]: one["does"] for one in told["frameworks"]} == {
        "qiskit": "reads files and runs gates",
        "cirq": "runs gates",
    }


def test_entry_points_of_this_package():
    """Every entry point of pyproject.toml leads to a frontend of its name, and only Qiskit is asked to read files."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert set(groups["qsim_ex.frontends"]) == {"qiskit", "cirq"}
    assert set(groups["qsim_ex.readers"]) == {"qiskit"}
    assert groups["pennylane.plugins"] == {"qsim_ex.qubit": "qsim_ex_pennylane:QsimExQubit"}  # PennyLane is an extra
    for group in ("qsim_ex.frontends", "qsim_ex.readers"):
        for name, value in groups[group].items():
            assert EntryPoint(name, value, "").load().name == name
