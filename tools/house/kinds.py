"""Kinds of objects: towers of inheritance are low, and few types are `Any`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from tools.house.sources import Finding, Rule, Source, last_name

TOWER = 3
"""The most classes of ours that inherit from one another, the lowest and the highest among them."""

ANY = 598
"""The most places that say `Any`; the number may only fall."""


def towers(sources: Sequence[Source]) -> Rule:
    """Find classes that inherit from one another more than `TOWER` high, by the names of our own classes.

    Errors are left out: their tree is what callers catch, and it stands at the top of `errors.py`.
    """
    classes = {node.name: (one, node) for one in sources for node in one.classes()}
    heights: dict[str, int] = {}
    for name in classes:
        _height(name, classes, heights, frozenset())
    low = [(name, high) for name, high in heights.items() if not _is_error(name, classes, frozenset())]
    found = tuple(
        classes[name][0].find(classes[name][1], f"class {name} is {high} high; let it have an object instead")
        for name, high in low
        if high > TOWER
    )
    highest = max((high for _, high in low), default=0)
    return Rule("towers of inheritance", f"{highest} high", f"at most {TOWER}", found)


_Classes = Mapping[str, tuple[Source, ast.ClassDef]]


def _bases(name: str, classes: _Classes) -> list[str]:
    """Return the names of the bases of a class, without what they are generic in."""
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in classes[name][1].bases]
    return [last_name(base) for base in bases]


def _height(name: str, classes: _Classes, heights: dict[str, int], above: frozenset[str]) -> int:
    """Return how many of our classes stand on one another up to a class; a foreign base of the same name is none."""
    if name not in heights:
        below = [base for base in _bases(name, classes) if base in classes and base != name and base not in above]
        heights[name] = 1 + max((_height(base, classes, heights, above | {name}) for base in below), default=0)
    return heights[name]


def _is_error(name: str, classes: _Classes, above: frozenset[str]) -> bool:
    """Return whether a class is an exception."""
    if name not in classes or name in above:
        return name.endswith(("Error", "Exception", "Interrupt"))
    return any(_is_error(base, classes, above | {name}) for base in _bases(name, classes))


def anys(sources: Sequence[Source]) -> Rule:
    """Count the places that say `Any`, which tells a reader nothing and lets a type checker pass everything."""
    counts = {
        one.path: sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(one.tree)) for one in sources
    }
    count, most = sum(counts.values()), max(counts, key=lambda path: counts[path], default="")
    found = () if count <= ANY else (Finding(most, 1, f"there are {count} in all, and {counts[most]} here"),)
    return Rule("places that say Any", str(count), f"at most {ANY}", found)
