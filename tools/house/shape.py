"""How large things are: modules at the root, layers, lines of files and functions, files of one prefix in a folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from tools.diagram import ENGINE_CONTRACT, contract
from tools.house.sources import ENGINE, Finding, Rule, Source

MODULES, LAYERS, FILE, FUNCTION, PREFIX = 9, 13, 300, 60, 2

TABLES: Mapping[str, str] = {
    f"{ENGINE}circuit/gates.py": "the table of gates",
    f"{ENGINE}circuit/ops.py": "the closed union of instructions, a class of a few lines for each",
}
"""Files that may be longer than `FILE`, since they are a table, and which."""

PREFIXES: Mapping[str, str] = {}
"""Folder and prefix of more files than `PREFIX`, and why they are no folder of their own."""


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
    """Count the lines of each file, empty ones too; `TABLES` may be long."""
    longest = max(sources, key=lambda one: one.lines)
    long = [one for one in sources if one.lines > FILE]
    number = (
        f"longest {longest.lines} ({longest.path}); median {median(one.lines for one in sources):g}; "
        f"{len(long)} of {len(sources)} above {FILE}, of which {sum(one.path in TABLES for one in long)} are tables"
    )
    found = tuple(Finding(one.path, 1, f"{one.lines} lines") for one in long if one.path not in TABLES)
    return Rule("lines of a file", number, f"at most {FILE}, but for tables", found)


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


def prefixes(sources: Sequence[Source]) -> Rule:
    """Count prefixes that more than `PREFIX` files of a folder share: those files are a folder of their own."""
    shared: defaultdict[str, list[Source]] = defaultdict(list)
    for one in sources:
        folder, name = one.path.rsplit("/", 1)
        shared[f"{folder}/{name.removesuffix('.py').split('_')[0]}"].append(one)
    many = {prefix: files for prefix, files in shared.items() if len(files) > PREFIX and not prefix.endswith("/")}
    found = [
        Finding(files[0].path, 1, f"{len(files)} files begin with {prefix.rsplit('/', 1)[1]!r}; make a folder of them")
        for prefix, files in many.items()
        if prefix not in PREFIXES
    ]
    found += [Finding("tools/house/shape.py", 1, f"take {one} out of PREFIXES") for one in PREFIXES if one not in many]
    return Rule("prefixes that three files of a folder share", str(len(many)), f"at most {len(PREFIXES)}", tuple(found))
