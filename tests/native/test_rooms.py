"""Tests of the rooms of core/native: which may include which, and how many files each has."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from support.paths import ROOT

SOURCES = ROOT / "core/native"
BELOW = {
    "base": {"base"},
    "kernels": {"base", "kernels"},
    "readers": {"base", "readers"},
    "planner": {"base", "kernels", "readers", "planner"},
}
"""For each room those that its files may include; what lies in none stands above all."""


def test_includes_lead_to_the_own_room_or_below() -> None:
    """A file includes headers by their path from core/native, of its own room or one below, and they are there."""
    for file in SOURCES.rglob("*.?pp"):
        room = file.relative_to(SOURCES).parts[0]
        for name in re.findall(r'^#include "(.+)"$', file.read_text(), re.MULTILINE):
            assert (SOURCES / name).is_file(), (file, name)
            assert name == "exports.def" or Path(name).parts[0] in BELOW.get(room, BELOW), (file, name)


def test_no_folder_has_more_than_25_files() -> None:
    """A reader finds a file by looking: no room of native code has more than 25, tests among them."""
    counts = Counter(file.parent.relative_to(SOURCES) for file in SOURCES.rglob("*") if file.is_file())
    assert max(counts.values()) <= 25, counts
