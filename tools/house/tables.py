"""Every column of every table has a reader."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from tools.house.sources import ENGINE, Finding, Function, Rule, Source, last_name

TABLES: Mapping[str, str] = {
    "Gate": f"{ENGINE}circuit/gate.py",
    "PlacementKind": f"{ENGINE}placement/kinds.py",
    "Options": f"{ENGINE}options/__init__.py",
    "Precision": f"{ENGINE}precision/row.py",
    "Tolerances": f"{ENGINE}precision/row.py",
    "Storage": f"{ENGINE}precision/storage.py",
    "CudaStorage": f"{ENGINE}precision/storage.py",
    "LaunchGeometry": f"{ENGINE}precision/gpu.py",
    "TensorCores": f"{ENGINE}precision/gpu.py",
    "FittedCosts": f"{ENGINE}precision/gpu.py",
}
"""The classes of rows, and where they stand: a field of such a class is a column."""


def columns(sources: Sequence[Source], name: str, path: str) -> dict[str, tuple[int, bool]]:
    """Return the columns of a table, which are the fields of its class of rows; none if there is no such class.

    With each its line, and whether it holds functions.
    """
    return {
        line.target.id: (line.lineno, "Callable" in ast.unparse(line.annotation))
        for row in _rows(sources, name, path)
        for line in row.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }


def columns_read(sources: Sequence[Source], tables: Mapping[str, str] = TABLES) -> Rule:
    """Find columns that nobody reads: fields whose name is no attribute that is read outside the table's own module.

    What a method of the row reads (``self.column``) counts where somebody outside asks for that method. A call
    ``x.column()`` reads only a column of functions. Attributes are known by name alone, so a column may be unread and
    not seen where it shares its name with something else. Tests are no readers.
    """
    found: list[Finding] = []
    count = 0
    for name, path in tables.items():
        outside = [node for one in sources if one.path != path for node in ast.walk(one.tree)]
        asked = _attributes(outside) | _called(outside)
        methods = [line for row in _rows(sources, name, path) for line in row.body if isinstance(line, Function)]
        inside = [node for method in methods if method.name in asked for node in ast.walk(method)]
        read = _attributes(outside) | _attributes(inside, of="self")
        called = _called(outside) | _called(inside, of="self")
        fields = columns(sources, name, path)
        if not fields:
            found.append(Finding(path, 1, f"there is no class {name} with columns here"))
        count += len(fields)
        found += [
            Finding(path, line, f"nobody reads the column {name}.{column}")
            for column, (line, functions) in fields.items()
            if column not in (read | called if functions else read)
        ]
    return Rule("columns that nobody reads", f"{len(found)} of {count} in {len(tables)} tables", "0", tuple(found))


def _rows(sources: Sequence[Source], name: str, path: str) -> list[ast.ClassDef]:
    return [node for one in sources if one.path == path for node in one.classes() if node.name == name]


def _attributes(nodes: Sequence[ast.AST], of: str | None = None) -> set[str]:
    """Return the names of the attributes that are read and not called at once; of: only those of this variable."""
    functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and id(node) not in functions
        if of is None or last_name(node.value) == of
    }


def _called(nodes: Sequence[ast.AST], of: str | None = None) -> set[str]:
    """Return the names of the attributes that are called; of: only those of this variable."""
    functions = [node.func for node in nodes if isinstance(node, ast.Call)]
    return {
        node.attr for node in functions if isinstance(node, ast.Attribute) if of is None or last_name(node.value) == of
    }
