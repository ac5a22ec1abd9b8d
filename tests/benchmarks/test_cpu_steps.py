"""The benchmark of sweeps on a CPU times every large step, by threads, and what loading and storing take alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import cpu_steps


def test_steps_are_timed_by_threads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each large step has bytes, multiply-adds and seconds for each number of threads, and each family a whole run."""
    out = tmp_path / "steps.json"
    given = ["--n", "15", "--threads", "1", "2", "--families", "qft", "--repeat", "1", "--out", str(out)]
    assert cpu_steps.main(given) == 0
    found = json.loads(out.read_text())
    assert found["rows"]
    for row in found["rows"]:
        assert row["bytes"] > 0
        assert row["seconds"].keys() == row["moves"].keys() == {"1", "2"}
        assert min([*row["seconds"].values(), *row["moves"].values()]) > 0
    assert found["whole"][0]["seconds"].keys() == {"1", "2"}
    assert capsys.readouterr().out.count("qft") == len(found["rows"]) + 1
