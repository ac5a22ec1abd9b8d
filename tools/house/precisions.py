"""Only the table of precisions tells them apart, and only it knows the bytes of an amplitude: all others are found."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tools.house.sources import ENGINE, Finding, Rule, Source

TABLE = f"{ENGINE}precision/"

NAMED: Mapping[str, str] = {
    f"{ENGINE}circuit/rotations.py": "splits a turn into a part that is exact in float32",
    f"{ENGINE}circuit/quarters.py": "splits an eighth turn into a part that is exact in float32",
    "qsim_ex_cirq/density_matrix.py": "complex64 is the default of Cirq's simulators",
    "qsim_ex_cirq/simulator.py": "complex64 is the default of Cirq's simulator",
}
"""Modules that name a dtype of single precision without telling precisions apart, with the reason."""

BYTES: Mapping[str, str] = {
    f"{ENGINE}comm/mpi.py": "sums arrays of any type in pieces",
    f"{ENGINE}comm/reach.py": "strides of rows in another process",
    f"{ENGINE}devices/gpu/streams.py": "strides of rows that are copied",
    f"{ENGINE}kernels/cpu/pool.py": "strides of rows that are copied",
    f"{ENGINE}kernels/cuda/cupy_runtime.py": "arrays of any type in a GPU's memory",
    f"{ENGINE}placement/divided/summed.py": "sums arrays of any type in pieces",
    f"{ENGINE}run/saved_rows.py": "saved values of any type",
}
"""Modules that ask a dtype for its bytes, of arrays that are not taken for amplitudes, with the reason."""

_SPEAKS = ("itemsize", "precision", "dtype", "real", "storage")
_SINGLE = {"complex64", "float32", "float2", "float4"}
_DOUBLE = {"complex128", "float64", "double2"}
_ROWS = {"SINGLE", "DOUBLE"}


def _names(node: ast.AST) -> Iterator[str]:
    """Yield every identifier within a node."""
    for found in ast.walk(node):
        if isinstance(found, ast.Name):
            yield found.id
        elif isinstance(found, ast.Attribute):
            yield found.attr


def _constants(node: ast.AST) -> Iterator[object]:
    """Yield every number and text within a node, but what a subscript picks an element with."""
    if isinstance(node, ast.Subscript):
        yield from _constants(node.value)
    elif isinstance(node, ast.Constant):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from _constants(child)


def _is_a_case(node: ast.AST) -> bool:
    """Whether a node names one precision: by a row, by a dtype, by a name, or by the bytes of a number."""
    constants = set(_constants(node))
    return bool(
        {*_names(node)} & (_ROWS | _SINGLE | _DOUBLE) or constants & {4, 8, 16, "single", "double", *_SINGLE, *_DOUBLE}
    )


def _speaks(node: ast.AST) -> bool:
    """Whether a node mentions the bytes or the type of an amplitude."""
    return any(word in name.lower() for name in _names(node) for word in _SPEAKS)


def _documentation(tree: ast.AST) -> set[ast.AST]:
    """Return the texts that stand alone: docstrings, and those below constants."""
    return {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


class _Breach(NamedTuple):
    line: int
    text: str
    names_only: bool


def precisions_apart(sources: Sequence[Source], named: Mapping[str, str] = NAMED) -> Rule:
    """Find what tells precisions apart outside the table, and modules that may name one and need not."""
    found: list[Finding] = []
    for one in sources:
        if one.path.startswith(TABLE):
            continue
        breaches = list(_breaches(one.tree))
        if one.path not in named:
            found += [Finding(one.path, line, text) for line, text, _ in breaches]
            continue
        found += [Finding(one.path, line, text) for line, text, names_only in breaches if not names_only]
        if not any(names_only for _, _, names_only in breaches):
            found.append(Finding(one.path, 1, "names no type in single precision, and may"))
    return Rule("precisions told apart outside their table", str(len(found)), "0", tuple(found))


def bytes_asked(sources: Sequence[Source], known: Mapping[str, str] = BYTES) -> Rule:
    """Find what asks a dtype or an array for its ``itemsize``, or calls something so: a `Storage` has the bytes."""
    asked = {one.path: [*_itemsizes(one.tree)] for one in sources if not one.path.startswith(TABLE)}
    found = [
        Finding(path, line, "asks for an itemsize; ask the storage of the amplitudes")
        for path, lines in asked.items()
        if path not in known
        for line in lines
    ]
    found += [Finding(path, 1, "asks for no itemsize, and may") for path in known if not asked.get(path)]
    files = sum(map(bool, asked.values()))
    return Rule("files outside the table that ask for an itemsize", str(files), str(len(known)), tuple(found))


def _itemsizes(tree: ast.Module) -> Iterator[int]:
    """Yield the lines in which something is called ``itemsize``: an attribute, a variable, an argument."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.Name(name) | ast.arg(name) | ast.keyword(str(name)):
                if "itemsize" in name:
                    yield node.lineno


def _breaches(tree: ast.Module) -> Iterator[_Breach]:
    """Yield what tells precisions apart in a module, which is

    - a comparison or a `match` in which one side mentions an itemsize, a precision, a dtype or a real type, and the
      other is a constant 4, 8 or 16, the name of a precision or of a dtype, or a row;
    - a loop or an argument called so whose values or default are such constants;
    - a dictionary whose keys are 8 and 16, or names of precisions or dtypes;
    - any name of a type in single precision (complex64, float32, float2, float4): whoever distinguishes has to name it.
    """
    texts = _documentation(tree)
    for node in ast.walk(tree):
        names_only = False
        match node:
            case ast.Compare(left, _, others):
                sides = [left, *others]
                told = any(_is_a_case(a) and _speaks(b) for a in sides for b in sides if a is not b)
            case ast.Match(subject, cases):
                told = _speaks(subject) and any(_is_a_case(case.pattern) for case in cases)
            case ast.For(target, over) | ast.comprehension(target, over):
                told = _speaks(target) and isinstance(over, ast.Tuple | ast.List) and _is_a_case(over)
            case ast.arguments():
                known = [*node.posonlyargs, *node.args][-len(node.defaults) :] if node.defaults else []
                pairs = [*zip(known, node.defaults, strict=True), *zip(node.kwonlyargs, node.kw_defaults, strict=True)]
                told = any("itemsize" in a.arg and isinstance(b, ast.Constant) for a, b in pairs)
            case ast.keyword(str(name), value):
                told = "itemsize" in name and isinstance(value, ast.Constant)
            case ast.Dict(keys):
                whole = {key.value for key in keys if isinstance(key, ast.Constant)}
                dtypes = any(key is not None and {*_names(key)} & (_SINGLE | _DOUBLE) for key in keys)
                told = dtypes or whole == {8, 16} or bool(whole & {"single", "double", *_SINGLE, *_DOUBLE})
            case ast.Attribute(attr=name) | ast.Constant(str(name)):
                names_only = told = node not in texts and name in _SINGLE
            case _:
                continue
        if told:
            yield _Breach(getattr(node, "lineno", 0), ast.unparse(node), names_only)
