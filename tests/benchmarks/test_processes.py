"""The benchmark of one state over processes runs on a CPU, and writes what its table says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.under_mpi import needs_mpi, under_mpi


@needs_mpi
@pytest.mark.slow
def test_two_processes_beside_one(tmp_path: Path) -> None:
    """Both ways are timed, an exchange moves half of a state, and the table has the family and the mean."""
    out = tmp_path / "processes.json"
    told = under_mpi(
        2, "-m", "benchmarks.processes", "cpu", "--n", "10", "--repeat", "1", "--families", "ghz", "--out", str(out)
    )
    assert told.returncode == 0, told.stderr
    assert "geometric mean" in told.stdout
    found = json.loads(out.read_text())
    (cell,) = found["cells"]
    assert cell["family"] == "ghz"
    assert {way: len(seconds) for way, seconds in cell["seconds"].items()} == {"processes": 1, "one process": 1}
    assert cell["facts"]["processes_used"] == 2
    assert found["exchange"]["bytes_each_way"] == 8 << 10 >> 2
    assert found["exchange"]["plain_copies"] is None
