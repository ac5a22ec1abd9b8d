"""The rule that only the table of precisions tells them apart sees every form of a breach, and nothing else."""

from __future__ import annotations

import pytest

from tools.house.precisions import TABLE, bytes_asked, precisions_apart
from tools.house.sources import ENGINE, Source

PATH = f"{ENGINE}run/a.py"


def breaches(text: str, path: str = PATH, named: str = "") -> int:
    """How many findings a module of this text has, where another may name a precision."""
    return len(precisions_apart([Source.parse(path, text)], {named: "a reason"}).findings)


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
        "tile = 12 if storage.bytes == 8 else 11",
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
        "tile = BY_DTYPE[dtype].geometry.tile_bits",
        "cheaper = [row for row in PRECISIONS.values() if row.storage.bytes < storage.bytes]",
        "'''complex64 or complex128'''",
    ],
)
def test_reading_a_row_is_no_breach(source: str) -> None:
    """What computes with bytes, compares dtypes with each other, or reads a row is allowed."""
    assert not breaches(source)


def test_the_table_may_tell_them_apart_and_others_may_name_one() -> None:
    """The table is left out; a module that may name a type may still not branch, and has to name one."""
    branch, name = "if itemsize == 8: pass", "kind = np.float32"
    assert [breaches(branch, f"{TABLE}single.py"), breaches(name, PATH, PATH), breaches(name)] == [0, 0, 1]
    assert [breaches(branch, PATH, PATH), breaches("a = 1", PATH, PATH)] == [2, 1]


@pytest.mark.parametrize(
    "source",
    [
        "size = dtype.itemsize << bits",
        "def cost(step, itemsize): pass",
        "piece = PIECE // itemsize",
        "self._itemsize = 8",
        "made = Kind(itemsize=16)",
    ],
)
def test_whoever_asks_for_an_itemsize_is_found(source: str) -> None:
    """An attribute, a variable, an argument and a keyword of this name are found, but for the table and exceptions."""
    assert bytes_asked([Source.parse(PATH, source)], {}).findings
    assert not bytes_asked([Source.parse(f"{TABLE}storage.py", source)], {}).findings
    assert not bytes_asked([Source.parse(PATH, source)], {PATH: "a reason"}).findings


def test_bytes_of_a_storage_may_be_asked_for_by_all() -> None:
    """The methods of a storage are free to all, and an exception that is not used is found."""
    source = Source.parse(PATH, "size = STORAGE[dtype].nbytes(count) + storage.bytes  # no itemsize")
    assert not bytes_asked([source], {}).findings
    assert len(bytes_asked([source], {PATH: "a reason"}).findings) == 1
