"""The benchmark of exchanges between processes runs every way, and counts what is sent."""

from __future__ import annotations

import json
import sys

import pytest
from support.under_mpi import environment, launcher, needs_mpi, under_mpi

from benchmarks import started

pytestmark = needs_mpi


@pytest.mark.parametrize("how", [[], ["--way", "reached"], ["--way", "messages"]])
def test_exchanges_and_plain_copies_have_rates(how: list[str]) -> None:
    """Two processes send half of their parts, and rank 0 prints both rates."""
    ended = under_mpi(2, "-m", "benchmarks.ranks", "--n", "16", "--repeat", "2", *how)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert (found["ranks"], found["sent"]) == (2, 16 << 14)
    assert min(found["bytes_per_second"].values()) > 0


def test_bindings_are_shared_out() -> None:
    """Two processes share out bindings, with the shots of one, and rank 0 prints both times."""
    ended = under_mpi(2, "-m", "benchmarks.shared_out", "--wires", "4", "--bindings", "6", "--repeat", "1")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert (found["wires"], found["bindings"]) == (4, 6)
    assert min(found["seconds"].values()) > 0


def test_a_start_is_measured(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Four processes start with a divided run and without, and one line tells what it took."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    assert started.main(["--repeat", "1", "--launcher", f"{launcher()} -n 4 {sys.executable}"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["beyond"] == found["seconds"]["run"] - found["seconds"]["bare"]
