"""Every column of every table has a reader."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

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

ROWS: Mapping[str, frozenset[str]] = {
    "Gate": frozenset({"Gate", "GATES"}),
    "Precision": frozenset({"row", "precision", "SINGLE", "DOUBLE", "PRECISIONS", "BY_DTYPE", "BY_REAL"}),
}
"""Tables whose columns have names that other things have too: a row is what is made of these names, nothing else."""


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


def columns_read(
    sources: Sequence[Source], tables: Mapping[str, str] = TABLES, rows: Mapping[str, frozenset[str]] = ROWS
) -> Rule:
    """Find columns that nobody reads: fields whose name is no attribute that is read outside the table's own module.

    What a method of the row reads (``self.column``) counts where somebody outside asks for that method. A call
    ``x.column()`` reads only a column of functions. Attributes are known by name alone, so a column may be unread and
    not seen where it shares its name with something else; of the tables in `rows` only attributes of what is made of
    the names there count. Tests are no readers.
    """
    found: list[Finding] = []
    count = 0
    walked = [(one.path, list(ast.walk(one.tree))) for one in sources]
    for name, path in tables.items():
        others = [nodes for where, nodes in walked if where != path]
        outside = [node for nodes in others for node in (of_rows(nodes, rows[name]) if name in rows else nodes)]
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


def of_rows(nodes: Sequence[ast.AST], names: frozenset[str]) -> list[ast.AST]:
    """Return the nodes of a module that read an attribute of a row, or call one.

    names: what a row, or a table of them, is called; further names are followed from assignment to assignment, through
    loops, and from annotations of arguments.
    """
    rows = set(names)
    binds = [node for node in nodes if isinstance(node, _BINDS)]
    while more := {name for node in binds for name in _bound(node, rows)} - rows:
        rows |= more
    read = [node for node in nodes if isinstance(node, ast.Attribute) and _root(node.value) in rows]
    known = {id(node) for node in read}
    return [*read, *(node for node in nodes if isinstance(node, ast.Call) and id(node.func) in known)]


_BINDS = ast.arg | ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.For | ast.comprehension


def _bound(node: ast.AST, rows: set[str]) -> Iterator[str]:
    """Yield the names that a node binds to something made of a row."""
    match node:
        case ast.arg(arg=name, annotation=ast.expr() as made_of):
            targets: list[ast.expr] = [ast.Name(name, ast.Store())]
        case ast.Assign(targets=targets, value=made_of):
            pass
        case ast.AnnAssign(target=target, value=ast.expr() as made_of) | ast.NamedExpr(target=target, value=made_of):
            targets = [target]
        case ast.For(target=target, iter=made_of) | ast.comprehension(target=target, iter=made_of):
            targets = [target]
        case _:
            return
    if any(isinstance(part, ast.Name) and part.id in rows for part in ast.walk(made_of)):
        for part in (part for target in targets for part in ast.walk(target)):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id


def _root(node: ast.expr) -> str | None:
    """Return the name at the beginning of an expression such as ``GATES[name]`` or ``GATES.get(name)``."""
    while True:
        match node:
            case ast.Name(id=name):
                return name
            case ast.Subscript(value=inner) | ast.Attribute(value=inner) | ast.Call(func=inner):
                node = inner
            case _:
                return None
