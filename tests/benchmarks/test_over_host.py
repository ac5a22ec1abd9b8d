"""The benchmark of ranks with parts in host memory runs on a CPU, and writes what its table says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.under_mpi import needs_mpi, under_mpi


@needs_mpi
@pytest.mark.slow
def test_ways_to_trade(tmp_path: Path) -> None:
    """All ways are timed and give the same amplitudes, and the timeline has as many trades as were watched."""
    out = tmp_path / "over_host.json"
    given = ["cpu", "--n", "12", "--device-wires", "6", "--families", "qv", "--repeat", "1", "--timeline"]
    ended = under_mpi(2, "-m", "benchmarks.over_host", *given, "--out", str(out))
    assert ended.returncode == 0, ended.stderr
    (cell,) = json.loads(out.read_text())["cells"]
    assert {len(seconds) for seconds in cell["seconds"].values()} == {1}
    assert len(cell["seconds"]) == len(cell["deviation"]) == 5
    assert max(cell["deviation"].values()) < 1e-5
    for intervals in cell["timeline"]:
        assert {what for what, *_ in intervals} == {"trade", "in", "work", "out"}
        assert all(begin <= end for _, _, begin, end in intervals)
