"""How large things are: modules at the engine's root, layers of the contract, lines of files and of functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from tools.diagram import ENGINE_CONTRACT, contract
from tools.house.sources import ENGINE, Finding, Rule, Source

MODULES, LAYERS, FILE, FUNCTION, LONG_FILE = 9, 13, 500, 80, 300

LONG_FILES = 21
"""The most files with more than `LONG_FILE` lines; the number may only fall."""


def root_modules(sources: Sequence[Source]) -> Rule:
    """Count the modules that lie loose at the engine's root; a file in a room is not counted."""
    loose = [one for one in sources if one.path.startswith(ENGINE) and "/" not in one.path.removeprefix(ENGINE)]
    found = tuple(Finding(one.path, 1, "lies at the root") for one in loose) if len(loose) > MODULES else ()
    return Rule("modules at the root of qsim_ex", str(len(loose)), f"at most {MODULES}", found)


def layers(pyproject: Mapping[str, Any]) -> Rule:
    """Count the layers of the contract on the engine; names beside each other are one layer."""
    count = len(contract(pyproject, ENGINE_CONTRACT)["layers"])
    what = f"the contract {ENGINE_CONTRACT!r} has {count} layers"
    found = (Finding("pyproject.toml", 1, what),) if count > LAYERS else ()
    return Rule("layers of the engine", str(count), f"at most {LAYERS}", found)


def file_lines(sources: Sequence[Source]) -> Rule:
    """Count the lines of each file, empty ones too, and the files that are long."""
    longest = max(sources, key=lambda one: one.lines)
    long = sum(one.lines > LONG_FILE for one in sources)
    number = (
        f"longest {longest.lines} ({longest.path}); median {median(one.lines for one in sources):g}; "
        f"{long} of {len(sources)} above {LONG_FILE}"
    )
    found = [Finding(one.path, 1, f"{one.lines} lines") for one in sources if one.lines > FILE]
    if long > LONG_FILES:
        found.append(Finding(longest.path, 1, f"{long} files have more than {LONG_FILE} lines"))
    return Rule("lines of a file", number, f"at most {FILE}, and at most {LONG_FILES} above {LONG_FILE}", tuple(found))


def function_lines(sources: Sequence[Source]) -> Rule:
    """Count the lines of each function from its ``def`` to its end; those of nested functions count for both."""
    sizes = [
        ((node.end_lineno or node.lineno) - node.lineno + 1, node.name, one, node)
        for one in sources
        for node in one.functions()
    ]
    most, name, where, _ = max(sizes, key=lambda size: size[0])
    number = f"longest {most} ({name} in {where.path}); median {median(size[0] for size in sizes):g}"
    found = tuple(one.find(node, f"{name} has {lines} lines") for lines, name, one, node in sizes if lines > FUNCTION)
    return Rule("lines of a function", number, f"at most {FUNCTION}", found)
