"""Plans of 31 families on six machines cost what they cost when that was last blessed.

One of three is made, with each circuit, machine and start among them; ``QSIM_EX_PLANS=1`` makes all.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools import golden_counts


def test_plans_cost_what_was_blessed() -> None:
    """Each number of each plan is that of the file; a change that means to make other plans blesses it anew."""
    counted = golden_counts.counts(every=1 if "QSIM_EX_PLANS" in os.environ else 3)
    blessed = golden_counts.golden()
    assert len(blessed) < 4 * len(counted)
    known = {name: row for name, row in blessed.items() if name in counted}
    found = golden_counts.differences(known, counted)
    assert not found, "\n".join([*found, "If these plans are meant: python -m tools.golden_counts --bless"])


def test_what_is_different_is_told() -> None:
    """A changed number, a new row and one that is gone have a line each, and the means are those of common rows."""
    before = {"a | gpu single | there": [2.0, 1.0, 0.0, 0.0, 8.0, 4.0], "b | gpu single | there": [1.0] * 6}
    after = {"a | gpu single | there": [2.0, 1.0, 0.0, 0.0, 8.0, 1.0], "c | gpu single | there": [1.0] * 6}
    means = "sweeps 1.0000, passes 1.0000, multiply-adds 1.0000, ms 0.2500; worst time 0.250 (a)"
    assert golden_counts.differences(before, after) == [
        "a | gpu single | there: ms 4 → 1",
        "b | gpu single | there: gone",
        "c | gpu single | there: new",
        f"gpu single, geometric mean: {means}",
    ]
    assert golden_counts.differences(before, before) == []


def test_what_is_blessed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A blessed file holds the rows that were counted."""
    monkeypatch.setattr(golden_counts, "FILE", tmp_path / "counts.json")
    rows = {"a | gpu single | there": [2.0, 1.25, 0.0, 0.0, 8.0, 1234.0]}
    golden_counts.bless(rows)
    assert golden_counts.golden() == rows
