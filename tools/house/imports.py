"""Imports among our own modules: none in a circle, and hardly any inside of functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from tools.house.sources import Finding, Function, Rule, Source, last_name

LATE = 3
"""The most imports of our own modules inside of functions; `qsim_ex.later` loads a module when it is used."""


def _named(one: Source, node: ast.stmt, modules: Mapping[str, Source]) -> list[str]:
    """Return our own modules that an import statement names, other than the packages around them."""
    match node:
        case ast.Import(names=names):
            return [name.name for name in names if name.name in modules]
        case ast.ImportFrom(module=str(base), names=names):
            found = {f"{base}.{name.name}" if f"{base}.{name.name}" in modules else base for name in names}
            return sorted(name for name in found if name in modules and name != one.module)
        case _:
            return []


def imports(one: Source, modules: Mapping[str, Source]) -> Iterator[tuple[str, ast.stmt, bool]]:
    """Yield each of our own modules that a module loads, where it says so, and whether that is inside of a function.

    ``later("…")`` loads a module too, though not in a function. Imports for type checkers alone load nothing.
    """
    waiting: list[tuple[ast.AST, bool]] = [(one.tree, False)]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING":
            waiting += [(inner, inside) for inner in node.orelse]
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((name, node, inside) for name in _named(one, node, modules))
        match node:
            case ast.Assign(value=ast.Call(func=called, args=[ast.Constant(value=str(name))])):
                if last_name(called) == "later" and name in modules:
                    yield name, node, inside
        within = inside or isinstance(node, Function)
        waiting += [(inner, within) for inner in ast.iter_child_nodes(node)]


def circles(sources: Sequence[Source]) -> Rule:
    """Find modules that load one another, at once or later: neither can be understood without the other."""
    modules = {one.module: one for one in sources}
    loads = {name: {to: node.lineno for to, node, _ in imports(one, modules)} for name, one in modules.items()}
    found = tuple(
        Finding(modules[ring[0]].path, loads[ring[0]][ring[1]], "a circle: " + " → ".join([*ring, ring[0]]))
        for ring in _rings(loads)
    )
    return Rule("circles of imports", str(len(found)), "0", found)


def _rings(loads: Mapping[str, Mapping[str, int]]) -> list[list[str]]:
    """Return a shortest circle through each module that is in one, each circle once."""
    rings: dict[frozenset[str], list[str]] = {}
    for start in loads:
        before, queue = {start: ""}, [start]
        while queue:
            name = queue.pop(0)
            if start in loads[name]:
                ring = [name]
                while before[ring[-1]]:
                    ring.append(before[ring[-1]])
                rings.setdefault(frozenset(ring), ring[::-1])
                break
            for to in loads[name]:
                if to in loads and to not in before:
                    before[to] = name
                    queue.append(to)
    return list(rings.values())


def late_imports(sources: Sequence[Source]) -> Rule:
    """Count imports of our own modules inside of functions; each has a comment beside it or above it that says why."""
    modules = {one.module: one for one in sources}
    late = [(one, node) for one in sources for _, node, inside in imports(one, modules) if inside]
    found = [
        one.find(node, "an import inside of a function without a comment that says why")
        for one, node in late
        if not any("#" in line for line in one.text.splitlines()[max(0, node.lineno - 2) : node.lineno])
    ]
    if len(late) > LATE:
        found += [one.find(node, "an import inside of a function; name the module with `later`") for one, node in late]
    return Rule("imports inside of functions", str(len(late)), f"at most {LATE}, each with its reason", tuple(found))
