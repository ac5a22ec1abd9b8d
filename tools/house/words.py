"""What is said: no string says that something "is wanted", and every public name has a docstring and annotations."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from tools.house.sources import Finding, Function, Rule, Source, last_name

WANTED = re.compile(r"\b(?:is|are|was|were)\s+wanted\b")


def wanted(sources: Sequence[Source]) -> Rule:
    """Find strings, docstrings among them, that say that something is wanted in place of what is expected."""
    found = [
        Finding(one.path, _line(node, match.start()), f"{match.group()!r}: say what was expected and what was given")
        for one in sources
        for node in ast.walk(one.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for match in WANTED.finditer(node.value)
    ]
    return Rule('"is wanted" in strings', str(len(found)), "0", tuple(sorted(found)))


def _line(node: ast.Constant, at: int) -> int:
    """The line of a place in a string; in a string of one line that is written in several parts, where it begins."""
    return min(node.lineno + str(node.value).count("\n", 0, at), node.end_lineno or node.lineno)


def public_names(sources: Sequence[Source]) -> Rule:
    """Find public functions, classes, methods and properties without a docstring or with an annotation missing.

    A name is public if neither it nor a class around it begins with an underscore. Overloads and setters share the
    docstring of their name.
    """
    count = 0
    found: list[Finding] = []
    for one in sources:
        for node in _public(one.tree):
            count += 1
            if ast.get_docstring(node) is None and not _shares_docstring(node):
                found.append(one.find(node, f"{node.name} has no docstring"))
            if isinstance(node, Function) and (missing := _bare(node)):
                found.append(one.find(node, f"{node.name} has no annotation of {', '.join(missing)}"))
    number = f"{len(found)} findings in {count} names"
    return Rule("public names without docstring or annotations", number, "0", tuple(found))


def _public(node: ast.Module | ast.ClassDef) -> Iterator[ast.ClassDef | Function]:
    for inner in node.body:
        if isinstance(inner, ast.ClassDef | Function) and not inner.name.startswith("_"):
            yield inner
            if isinstance(inner, ast.ClassDef):
                yield from _public(inner)


def _shares_docstring(node: ast.ClassDef | Function) -> bool:
    return any(last_name(one) in ("overload", "setter", "deleter") for one in node.decorator_list)


def _bare(node: Function) -> list[str]:
    """Return the arguments of a function that have no annotation, and 'return' if that has none."""
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    bare = [one.arg for one in every if one is not None and one.annotation is None and one.arg not in ("self", "cls")]
    return bare if node.returns is not None else [*bare, "return"]
