"""Nothing outside `placement/` asks which placement a state has: what depends on it is a method of `Placement`."""

from __future__ import annotations

import pytest

from qsim_ex.placement import kinds as table
from tools.house.placements import placements, placements_asked, questions
from tools.house.sources import Source, read

SOURCES = read()
PLACEMENTS = placements(SOURCES)


def test_all_placements_are_known() -> None:
    """The kinds that the source has are those of the table, and each has a class, beside the bases that some share."""
    classes, kinds = PLACEMENTS
    assert kinds == set(table.KINDS)
    assert {"Divided", "Ranks"} < classes
    assert len(classes) >= len(kinds) + 2


def test_nothing_else_asks_which_placement_it_is() -> None:
    """No module outside `placement/` asks `isinstance` of a placement, or compares its kind."""
    found = placements_asked(SOURCES).findings
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(placed, Peers)",
        "isinstance(placed, Migrated | PeersOverHost)",
        "isinstance(placed, (int, Single))",
        "where.deployment.kind == 'single'",
        "'peers' != how.kind",
        "kind in ('migrated', 'peers over host')",
        "match how.kind:\n    case 'peers': pass",
        "match placed:\n    case Single(): pass",
    ],
)
def test_each_way_to_ask_is_seen(line: str) -> None:
    """Every form of the question is found in a source text."""
    assert len(list(questions(Source.parse("run/asking.py", line), *PLACEMENTS))) == 1


@pytest.mark.parametrize("line", ["device.kind == 'gpu'", "precision == 'single'", "isinstance(placed, NearSubState)"])
def test_other_questions_are_allowed(line: str) -> None:
    """A question about a device or a precision is not taken for one about a placement."""
    assert not list(questions(Source.parse("run/asking.py", line), *PLACEMENTS))
