"""The table of precisions agrees with its definitions, and is the only place that tells precisions apart."""

from __future__ import annotations

import ast
import ctypes
from collections.abc import Iterator
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from qsim_ex import options
from qsim_ex.files import header
from qsim_ex.kernels.cuda.write.register_layout import REGISTERS
from qsim_ex.options import Options
from qsim_ex.precision import BY_DTYPE, BY_ITEMSIZE, PRECISIONS, Precision, PrecisionName
from tools.packages import packages

ROOT = Path(__file__).parents[1]
MODULES = [path for package in packages() for path in sorted((ROOT / package).rglob("*.py"))]
OTHERS = [path for path in MODULES if path.name != "precision.py"]

NAMED = {
    "density_matrix.py": "complex64 is the default of Cirq's simulators",
    "phases.py": "splits a turn into a part that is exact in float32",
    "quarters.py": "splits an eighth turn into a part that is exact in float32",
    "simulator.py": "complex64 is the default of Cirq's simulator",
}
"""Modules that name a dtype of single precision without telling precisions apart."""

rows = pytest.mark.parametrize("row", PRECISIONS.values(), ids=list(PRECISIONS))


# --- The rows ---


@rows
def test_an_amplitude_is_two_reals(row: Precision) -> None:
    """The real type is that of the amplitude's parts, and the types of CUDA C++ are as large as NumPy's."""
    assert np.zeros(1, dtype=row.dtype).real.dtype == row.real
    assert row.itemsize == row.dtype.itemsize == 2 * row.real.itemsize
    assert ctypes.sizeof(getattr(ctypes, f"c_{row.c_real}")) == row.real.itemsize
    assert row.c_amplitude == f"{row.c_real}2"
    assert row.c_pair == (f"{row.c_real}4" if 2 * row.itemsize == 16 else None)
    assert row.c_pair or row.itemsize == 16


@rows
def test_a_tile_fits_a_thread_block(row: Precision) -> None:
    """The largest tile fits into 48 KiB, is shared out to the registers of its threads, and `permute` can number it.

    48 KiB of shared memory are what a kernel may declare, and 1024 threads what any multiprocessor can hold (CUDA C++
    Programming Guide, "Technical Specifications per Compute Capability").
    """
    assert row.itemsize << row.tile_bits <= 48 << 10
    assert 1 << row.tile_bits == row.threads << REGISTERS
    assert row.threads * row.blocks <= 1024
    folder = resources.files("qsim_ex.kernels.cuda.fixed").joinpath("fixed_kernels")
    moved = folder.joinpath("permute.cu").read_text(encoding="utf-8")
    assert f"from[{max(other.tile_bits for other in PRECISIONS.values())}]" in moved


@rows
def test_tensor_core_files_are_there(row: Precision) -> None:
    """The text of a dense block exists, and its instruction divides a matrix of 16 columns."""
    folder = resources.files("qsim_ex.kernels.cuda.write").joinpath("tensor_kernels")
    assert row.tensor_files
    assert all(folder.joinpath(name).is_file() for name in row.tensor_files)
    assert row.tensor_depth in (4, 8)


@rows
def test_tolerances_are_above_rounding(row: Precision) -> None:
    """No check is finer than one rounding, and a saved state may be as far off as the amplitudes of a circuit."""
    assert np.finfo(row.real).eps < row.rounding
    assert row.rounding_per_gate < row.rounding


def test_rows_are_found_by_what_is_theirs_alone() -> None:
    """Name, dtype and bytes each tell all rows apart, and rows come from coarse to fine."""
    assert [*BY_DTYPE.values()] == [*BY_ITEMSIZE.values()] == [*PRECISIONS.values()]
    assert all(PRECISIONS[row.name] is BY_DTYPE[row.dtype] is BY_ITEMSIZE[row.itemsize] for row in PRECISIONS.values())
    assert [*BY_ITEMSIZE] == sorted(BY_ITEMSIZE)


def test_options_are_the_rows() -> None:
    """The option takes the names of the table and no other, as does its type; files know the dtypes of the table."""
    assert get_args(PrecisionName) == options._CHOICES["precision"] == tuple(PRECISIONS)
    assert all(Options(precision=row.name).dtype == row.dtype for row in PRECISIONS.values())
    assert {str(row.dtype): row.dtype for row in PRECISIONS.values()} == header._DTYPES


# --- No other module tells precisions apart ---

_SPEAKS = ("itemsize", "precision", "dtype", "real")
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


def breaches(source: str, *, may_name: bool = False) -> list[str]:
    """Find what tells precisions apart in a module. It looks for

    - a comparison or a `match` in which one side mentions an itemsize, a precision, a dtype or a real type, and the
      other is a constant 4, 8 or 16, the name of a precision or of a dtype, or a row;
    - a loop or an argument called so whose values or default are such constants;
    - a dictionary whose keys are 8 and 16, or names of precisions or dtypes;
    - any name of a type in single precision (complex64, float32, float2, float4), unless `may_name`: whoever
      distinguishes has to name it.
    """
    tree = ast.parse(source)
    texts = _documentation(tree)
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
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
                told = not may_name and node not in texts and name in _SINGLE
            case _:
                continue
        if told:
            found.append((getattr(node, "lineno", 0), ast.unparse(node)))
    return [f"line {line}: {text}" for line, text in found]


@pytest.mark.parametrize(
    "source",
    [
        "tile = 12 if itemsize == 8 else 11",
        "held = style.blocks[itemsize == 16]",
        "if 16 == buffer.dtype.itemsize: pass",
        "real = 'float' if self.itemsize < 16 else 'double'",
        "dtype = np.complex128 if precision == 'double' else np.complex256",
        "if options.precision != 'single': pass",
        "if row.precision is DOUBLE: pass",
        "if dtype not in (np.complex64, np.complex128): pass",
        "if buffer.dtype == np.complex128: pass",
        "if kind.dtype == types.float64: pass",
        "take = SINGLE if real.itemsize == 4 else DOUBLE",
        "dtype = np.complex64 if short else np.complex128",
        "match precision:\n    case 'double': pass",
        "tiles = {8: 12, 16: 11}",
        "norms = {'complex64': 1e-2, 'complex128': 1e-6}",
        "shapes = {'single': a, 'double': b}",
        "names = {np.dtype(np.complex128): 'double'}",
        "texts = [text(itemsize) for itemsize in (8, 16)]",
        "for precision in ('double', 'single'): pass",
        "def source(sweep, itemsize: int = 8): pass",
        "text('fold', itemsize=8)",
        "name = 'float2'",
    ],
)
def test_whoever_tells_precisions_apart_is_found(source: str) -> None:
    """Every form in which the engine ever branched on a precision is a breach."""
    assert breaches(source)


@pytest.mark.parametrize(
    "source",
    [
        "if found.dtype != other.dtype: pass",
        "if size > 16 * dtype.itemsize: pass",
        "if kind == 'single': pass",
        "operands = np.zeros(8, dtype=np.complex128)",
        "swaps = {1: a, 2: b, 8: c, 16: d}",
        "words = {4: TAKE_SINGLE, 8: TAKE}",
        "tile = BY_ITEMSIZE[itemsize].tile_bits",
        "cheaper = [row for row in PRECISIONS.values() if row.itemsize < dtype.itemsize]",
        "'''complex64 or complex128'''",
    ],
)
def test_reading_a_row_is_no_breach(source: str) -> None:
    """What computes with bytes, compares dtypes with each other, or reads a row is allowed."""
    assert not breaches(source)


@pytest.mark.parametrize("path", OTHERS, ids=[str(path.relative_to(ROOT)) for path in OTHERS])
def test_only_the_table_tells_precisions_apart(path: Path) -> None:
    """No module of the product but the table contains a breach (see `breaches`)."""
    assert breaches(path.read_text(encoding="utf-8"), may_name=path.name in NAMED) == []


def test_every_exception_is_needed() -> None:
    """A module that is allowed to name a type in single precision names one."""
    found = {path.name for path in OTHERS if breaches(path.read_text(encoding="utf-8"))}
    assert found == NAMED.keys()


def test_every_column_has_a_reader() -> None:
    """Each column of the table is read from a row: looked up in a table, or called row, precision, SINGLE or DOUBLE."""
    read = set()
    for path in OTHERS:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Attribute(ast.Name("row" | "precision" | "SINGLE" | "DOUBLE"), column):
                    read.add(column)
                case ast.Attribute(ast.Subscript(ast.Name("PRECISIONS" | "BY_DTYPE" | "BY_ITEMSIZE")), column):
                    read.add(column)
    assert {field.name for field in fields(Precision)} <= read
