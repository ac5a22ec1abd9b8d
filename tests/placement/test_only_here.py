"""Nothing outside `placement/` asks which placement a state has: `./check house` looks, and sees each such question."""

from __future__ import annotations

import pytest

from qsim_ex.placement import kinds as table
from tools.house.placements import placements, questions
from tools.house.sources import Source, read

Known = tuple[set[str], set[str]]


@pytest.fixture(scope="module")
def known() -> Known:
    """The classes of placements that the source has, and the names of their kinds."""
    return placements(read())


def test_all_placements_are_known(known: Known) -> None:
    """The kinds that the source has are those of the table, and each has a class, beside the bases that some share."""
    classes, kinds = known
    assert kinds == set(table.KINDS)
    assert {"Divided", "Ranks"} < classes
    assert len(classes) >= len(kinds) + 2


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
def test_each_way_to_ask_is_seen(line: str, known: Known) -> None:
    """Every form of the question is found in a source text."""
    assert len(list(questions(Source.parse("run/asking.py", line), *known))) == 1


@pytest.mark.parametrize("line", ["device.kind == 'gpu'", "precision == 'single'", "isinstance(placed, NearSubState)"])
def test_other_questions_are_allowed(line: str, known: Known) -> None:
    """A question about a device or a precision is not taken for one about a placement."""
    assert not list(questions(Source.parse("run/asking.py", line), *known))
