"""A first job loads the modules that it did when that was last blessed, whichever way it comes in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import first_modules


@pytest.mark.parametrize("way", first_modules.JOBS)
def test_a_first_job_loads_what_was_blessed(way: str) -> None:
    """A new process has loaded the modules of the file after its first job: no more, and no fewer."""
    pytest.importorskip({"qsim_ex_cirq": "cirq", "qsim_ex_provider": "qiskit"}.get(way, way))
    found = first_modules.differences(way, first_modules.stored()[way])
    assert not found, "\n".join([*found, "If a first job needs them: python -m tools.first_modules --bless"])


def test_differences_are_told_and_blessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A module more and one that is gone have a line each and fail, until they are blessed."""
    monkeypatch.setattr(first_modules, "FILE", tmp_path / "modules.json")
    monkeypatch.setattr(first_modules, "JOBS", {"qsim_ex": "import qsim_ex.later;"})
    first_modules.FILE.write_text(json.dumps({"qsim_ex": ["qsim_ex", "qsim_ex.gone"]}))
    assert first_modules.main([]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "qsim_ex: a first job loads qsim_ex.later too",
        "qsim_ex: a first job loads qsim_ex.gone no longer",
    ]
    assert first_modules.main(["--bless"]) == 0
    assert first_modules.main([]) == 0
