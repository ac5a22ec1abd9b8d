"""The form of an encoded sweep is the same in Python, which writes it, and in C++, which reads it."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qsim_ex.kernels.cpu import encoding, items

HEADER = Path(__file__).parents[3] / "core/native/kernels/encoding.hpp"
KINDS = "LANES LANE SCALE_REAL SCALE_COMPLEX PAIR_REAL PAIR_COMPLEX QUAD_REAL QUAD_COMPLEX DENSE EXCHANGE"


def body(head: str) -> str:
    """Return what stands between the braces behind `head`."""
    found = re.search(re.escape(head) + r" \{(.*?)\};", HEADER.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


SIZES = {"Int": 8, "Half": 4, "std::int16_t": 2, "Kind": 2}


def fields(struct: str) -> list[tuple[str, int, int]]:
    """Return the members of a struct, the bytes of each number of them, and how many numbers each has."""
    members = re.findall(r"^ +([\w:]+) (\w+)(?:\[(\d+)\])?;", body(f"struct {struct}"), re.MULTILINE)
    return [(name, SIZES[kind], int(count or 1)) for kind, name, count in members]


def constant(name: str) -> str:
    """Return the text of a constant's value."""
    found = re.search(rf"\b{name} = ([^,;]+)[,;]", HEADER.read_text())
    assert found is not None
    return found[1]


def test_kinds() -> None:
    """Each kind of instruction has one number."""
    names = [name.strip() for name in body("enum class Kind : std::int16_t").split(",") if name.strip()]
    assert names == KINDS.split()
    assert [getattr(encoding, name) for name in names] == list(range(len(names)))


@pytest.mark.parametrize(("struct", "dtype"), [("Instruction", encoding.INSTRUCTION), ("Fill", encoding.FILL)])
def test_rows(struct: str, dtype: np.dtype[Any]) -> None:
    """Each field of a row has one place, with no room between."""
    names = dtype.names
    assert names is not None
    ours = [(name, dtype[name].base.itemsize, math.prod(dtype[name].shape)) for name in names]
    assert ours == fields(struct)
    assert dtype.itemsize == sum(size * count for _, size, count in ours)
    assert dtype.itemsize % 8 == 0


def test_geometry() -> None:
    """Each integer of the geometry has one place."""
    names = [name for name, _, _ in fields("Geometry")]
    assert [getattr(encoding, name.upper()) for name in names] == list(range(encoding.GEOMETRY))
    assert {size for _, size, _ in fields("Geometry")} == {8}


def test_constants() -> None:
    """Constants and codes have one value."""
    assert int(constant("low_rows")) == encoding.LOW_ROWS
    assert int(constant("low_mask")) == encoding.LOW_MASK
    assert constant("nowhere") == "Int{1} << 60"
    assert encoding.NOWHERE == 1 << 60
    assert [int(constant("code_zero")), int(constant("code_one"))] == [items.ZERO, items.ONE]
