"""Instructions and nodes of programs answer for themselves: few files of the engine ask for their classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tools.house.sources import ENGINE, Finding, Rule, Source, last_name

FILES = 25
"""The most files of the engine that ask for the class of an instruction or a node; the number may only fall."""

UNIONS = {f"{ENGINE}circuit/ops.py": ("Unitary", "Instruction"), f"{ENGINE}program/program.py": ("Node",)}
"""The files with the closed unions of instructions and nodes, and their names."""


def classes_of(sources: Sequence[Source]) -> set[str]:
    """Return the names of the classes of all unions; `Marker`, a union of its own, counts as one."""
    names: set[str] = set()
    for one in sources:
        for line in one.tree.body if one.path in UNIONS else ():
            if isinstance(line, ast.Assign) and {last_name(to) for to in line.targets} & {*UNIONS[one.path]}:
                names |= {last_name(node) for node in ast.walk(line.value) if isinstance(node, ast.Name)}
    return names


def questions(source: Source, classes: set[str]) -> Iterator[Finding]:
    """Yield each ``isinstance``, ``case`` and comparison of a type that names one of some classes."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, asked]):
                if found := {last_name(name) for name in ast.walk(asked)} & classes:
                    yield source.find(node, f"isinstance of {', '.join(sorted(found))}")
            case ast.MatchClass(cls=cls) if last_name(cls) in classes:
                yield source.find(node, f"matches {last_name(cls)}")
            case ast.Compare(left=left, comparators=others) if any(_is_type(side) for side in (left, *others)):
                if found := {last_name(name) for side in (left, *others) for name in ast.walk(side)} & classes:
                    yield source.find(node, f"compares a type with {', '.join(sorted(found))}")


def _is_type(side: ast.AST) -> bool:
    return isinstance(side, ast.Call) and last_name(side.func) == "type"


def taken_apart(sources: Sequence[Source]) -> Rule:
    """Count the files of the engine that ask for the class of an instruction or of a node."""
    classes = classes_of(sources)
    asked = [list(questions(one, classes)) for one in sources if one.path.startswith(ENGINE)]
    places = [found for found in asked if found]
    number = f"{len(places)} files, {sum(map(len, places))} places, of {len(classes)} classes"
    found = tuple(found[0] for found in places) if len(places) > FILES else ()
    return Rule("files that take instructions or nodes apart", number, f"at most {FILES} files", found)
