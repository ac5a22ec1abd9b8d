"""Nothing outside `placement/` asks which placement a state has: what depends on it is a method of `Placement`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from support.paths import ROOT

from qsim_ex.placement import kinds as table

ROOM = ROOT / "core" / "qsim_ex" / "placement"
PACKAGES = (ROOT / "core" / "qsim_ex", ROOT / "qsim_ex_provider", ROOT / "qsim_ex_cirq")
BASES = {"Divided", "Visited"}
"""The classes that placements in pieces are made from."""

ASKED_OF = {"kind", "placement"}
"""Names of what holds a placement's kind: ``deployment.kind``, ``state.placement``."""


def placements() -> tuple[set[str], set[str]]:
    """The names of the classes that have a kind of placement, with the classes that they are made from, and the kinds.

    Read from the source, so that a class that nothing registers is found too.
    """
    classes = set(BASES)
    kinds: set[str] = set()
    for path in ROOM.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ClassDef):
                continue
            own = {target.id for line in node.body if isinstance(line, ast.Assign) for target in _names(line)}
            divided = any(isinstance(base, ast.Name) and base.id in classes for base in node.bases)
            for line in node.body if divided or "planning_levels" in own else ():
                match line:
                    case ast.Assign(targets=[ast.Name(id="kind")], value=ast.Constant(value=str(kind))):
                        classes.add(node.name)
                        kinds.add(kind)
    return classes, kinds


def _names(line: ast.Assign) -> list[ast.Name]:
    return [target for target in line.targets if isinstance(target, ast.Name)]


def questions(source: str, classes: set[str], kinds: set[str]) -> Iterator[tuple[int, str]]:
    """Each line of a source text that asks which placement something is, with what it asks."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, asked]):
                if found := {name.id for name in ast.walk(asked) if isinstance(name, ast.Name)} & classes:
                    yield node.lineno, f"isinstance of {', '.join(sorted(found))}"
            case ast.Compare(left=left, comparators=others):
                sides = [left, *others]
                if any(_asked_of(side) for side in sides) and (found := _strings(sides) & kinds):
                    yield node.lineno, f"compares with {', '.join(sorted(found))}"
            case ast.Match(subject=subject, cases=cases) if _asked_of(subject):
                if found := _strings([case.pattern for case in cases]) & kinds:
                    yield node.lineno, f"matches {', '.join(sorted(found))}"
            case ast.MatchClass(cls=ast.Name(id=name)) if name in classes:
                yield node.lineno, f"matches {name}"


def _asked_of(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in ASKED_OF
        case _:
            return False


def _strings(nodes: list[ast.AST]) -> set[str]:
    return {
        found.value
        for node in nodes
        for found in ast.walk(node)
        if isinstance(found, ast.Constant) and isinstance(found.value, str)
    }


def test_nothing_else_asks_which_placement_it_is() -> None:
    """No module outside `placement/` asks `isinstance` of a placement, or compares its kind."""
    classes, kinds = placements()
    assert kinds == {row.name for row in table.every()}
    assert len(classes) == len(kinds) + len(BASES)
    found = [
        f"{path.relative_to(ROOT)}:{line} {what}"
        for package in PACKAGES
        for path in sorted(package.rglob("*.py"))
        if ROOM not in path.parents
        for line, what in questions(path.read_text(encoding="utf-8"), classes, kinds)
    ]
    assert not found, "\n".join(found)


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
    assert len(list(questions(line, *placements()))) == 1


@pytest.mark.parametrize("line", ["device.kind == 'gpu'", "precision == 'single'", "isinstance(placed, NearSubState)"])
def test_other_questions_are_allowed(line: str) -> None:
    """A question about a device or a precision is not taken for one about a placement."""
    assert not list(questions(line, *placements()))
