"""Nothing outside `placement/` asks which placement a state has: what depends on it is a method of `Placement`.

Nor does anything outside `devices/` ask which kind a device is: what depends on it is an attribute of `Device`. And
nothing asks which method a run has: what depends on it is a column of `options/methods.py`, or in the method's file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from tools.house.sources import ENGINE, Finding, Function, Rule, Source, last_name

ROOM = f"{ENGINE}placement/"
ASKED_OF = {"kind", "placement"}
"""Names of what holds a placement's kind: ``deployment.kind``, ``state.placement``."""


def placements(sources: Sequence[Source]) -> tuple[set[str], set[str]]:
    """Return the names of the classes that have a kind of placement, with their bases of the room, and the kinds.

    A placement is a class of the room that says its ``kind`` and, itself or through a base, its ``planning_levels``.
    Read from the source, so that a class that nothing registers is found too.
    """
    room = {node.name: node for one in sources if one.path.startswith(ROOM) for node in one.classes()}
    classes: set[str] = set()
    kinds: set[str] = set()
    for name, node in room.items():
        family = _with_bases(name, room)
        kind = _members(node).get("kind")
        if isinstance(kind, ast.Constant) and any("planning_levels" in _members(room[one]) for one in family):
            classes |= family
            kinds.add(str(kind.value))
    return classes, kinds


def _with_bases(name: str, room: Mapping[str, ast.ClassDef]) -> set[str]:
    """Return a class and all its bases that are of the room, without protocols, which every placement fulfils."""
    bases = [last_name(base) for base in room[name].bases]
    if "Protocol" in bases:
        return set()
    return {name}.union(*(_with_bases(base, room) for base in bases if base in room))


def _members(node: ast.ClassDef) -> dict[str, ast.AST]:
    """Return what a class assigns, with the values, and its methods."""
    found: dict[str, ast.AST] = {line.name: line for line in node.body if isinstance(line, Function)}
    for line in node.body:
        if isinstance(line, ast.Assign):
            found |= {last_name(target): line.value for target in line.targets}
    return found


def questions(source: Source, classes: set[str], kinds: set[str]) -> Iterator[Finding]:
    """Yield each place in a source that asks which placement something is, with what it asks."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, asked]):
                if found := {last_name(name) for name in ast.walk(asked)} & classes:
                    yield source.find(node, f"isinstance of {', '.join(sorted(found))}")
            case ast.Compare(left=left, comparators=others):
                sides = [left, *others]
                if any(last_name(side) in ASKED_OF for side in sides) and (found := _strings(sides) & kinds):
                    yield source.find(node, f"compares with {', '.join(sorted(found))}")
            case ast.Match(subject=subject, cases=cases) if last_name(subject) in ASKED_OF:
                if found := _strings([case.pattern for case in cases]) & kinds:
                    yield source.find(node, f"matches {', '.join(sorted(found))}")
            case ast.MatchClass(cls=cls) if last_name(cls) in classes:
                yield source.find(node, f"matches {last_name(cls)}")


def _strings(nodes: Sequence[ast.AST]) -> set[str]:
    return {
        found.value
        for node in nodes
        for found in ast.walk(node)
        if isinstance(found, ast.Constant) and isinstance(found.value, str)
    }


def placements_asked(sources: Sequence[Source]) -> Rule:
    """Find ``isinstance``, ``match`` and comparisons on a placement or its kind, outside `placement/`."""
    classes, kinds = placements(sources)
    found = [place for one in sources if not one.path.startswith(ROOM) for place in questions(one, classes, kinds)]
    return Rule("questions which placement it is", f"{len(found)}, of {len(kinds)} kinds", "0", tuple(found))


DEVICES = f"{ENGINE}devices/"
KINDS = {"cpu", "gpu"}
"""The kinds of devices."""


def devices_asked(sources: Sequence[Source]) -> Rule:
    """Find comparisons of a device's kind with one of the kinds, outside `devices/`; options may be compared."""
    found = [
        one.find(node, ast.unparse(node))
        for one in sources
        if not one.path.startswith(DEVICES)
        for node in ast.walk(one.tree)
        if isinstance(node, ast.Compare) and _asks_kind([node.left, *node.comparators])
    ]
    return Rule("questions of which kind a device is", str(len(found)), "0", tuple(found))


METHODS = {"automatic", "statevector", "density_matrix", "stabilizer"}
"""The values of the option `method`."""


def methods_asked(sources: Sequence[Source]) -> Rule:
    """Find comparisons of a method with one of the values of the option."""
    found = [
        one.find(node, ast.unparse(node))
        for one in sources
        for node in ast.walk(one.tree)
        if isinstance(node, ast.Compare) and _asks_method([node.left, *node.comparators])
    ]
    return Rule("questions which method a run has", str(len(found)), "0", tuple(found))


def _asks_method(sides: Sequence[ast.AST]) -> bool:
    return any(last_name(side) == "method" for side in sides) and bool(_strings(sides) & METHODS)


def _asks_kind(sides: Sequence[ast.AST]) -> bool:
    return any(last_name(side) == "kind" for side in sides) and bool(_strings(sides) & KINDS)
