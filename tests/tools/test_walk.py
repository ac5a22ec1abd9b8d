"""A circuit's way through the source, counted in files and calls from file to file, is short."""

from __future__ import annotations

import pytest

from tools.walk import CASES, walk


@pytest.mark.parametrize("name", CASES)
def test_the_way_of_a_circuit_is_short(name: str) -> None:
    """A circuit that was never seen before goes through no more files and hops than the goal of its walk."""
    counted, goal = walk(name), CASES[name]
    ways = f"{counted['files']} files, {counted['hops']} hops; python tools/walk.py --case {name} --list tells which"
    assert 0 < counted["files"] <= goal.files, ways
    assert 0 < counted["hops"] <= goal.hops, ways
