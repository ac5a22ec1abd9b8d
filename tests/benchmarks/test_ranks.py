"""The benchmark of exchanges between processes runs, in place and by messages, and counts what is sent."""

from __future__ import annotations

import json

import pytest
from support.under_mpi import launched


@pytest.mark.parametrize("how", [[], ["--messages"]])
def test_exchanges_and_plain_copies_have_rates(how: list[str]) -> None:
    """Two processes send half of their parts, and rank 0 prints both rates."""
    ended = launched(2, "-m", "benchmarks.ranks", "--n", "16", "--repeat", "2", *how)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert (found["ranks"], found["sent"]) == (2, 16 << 14)
    assert min(found["bytes_per_second"].values()) > 0
