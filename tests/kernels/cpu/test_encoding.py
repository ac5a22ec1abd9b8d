"""The form of an encoded sweep is the same in Python, which writes it, and in C++, which reads it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from qsim_ex.kernels.cpu import encoding, items

HEADER = Path(__file__).parents[3] / "core/native/encoding.hpp"
KINDS = "LANES LANE SCALE_REAL SCALE_COMPLEX PAIR_REAL PAIR_COMPLEX QUAD_REAL QUAD_COMPLEX DENSE EXCHANGE"


def body(head: str) -> str:
    """Return what stands between the braces behind `head`."""
    found = re.search(re.escape(head) + r" \{(.*?)\};", HEADER.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def fields(struct: str) -> list[tuple[str, int]]:
    """Return the members of a struct and how many numbers each has."""
    members = re.findall(r"(?:Int|Kind) (\w+)(?:\[(\d+)\])?;", body(f"struct {struct}"))
    return [(name, int(count or 1)) for name, count in members]


def constant(name: str) -> str:
    """Return the text of a constant's value."""
    found = re.search(rf"\b{name} = ([^,;]+)[,;]", HEADER.read_text())
    assert found is not None
    return found[1]


def test_kinds() -> None:
    """Each kind of instruction has one number."""
    names = [name.strip() for name in body("enum class Kind : Int").split(",") if name.strip()]
    assert names == KINDS.split()
    assert [getattr(encoding, name) for name in names] == list(range(len(names)))


@pytest.mark.parametrize(
    ("struct", "size"),
    [("Instruction", encoding.INSTRUCTION), ("Fill", encoding.FILL), ("Geometry", encoding.GEOMETRY)],
)
def test_fields(struct: str, size: int) -> None:
    """Each field has one place."""
    place = 0
    for name, count in fields(struct):
        assert getattr(encoding, name.upper()) == place
        place += count
    assert place == size


def test_constants() -> None:
    """Constants and codes have one value."""
    assert int(constant("low_rows")) == encoding.LOW_ROWS
    assert int(constant("low_mask")) == encoding.LOW_MASK
    assert constant("nowhere") == "Int{1} << 60"
    assert encoding.NOWHERE == 1 << 60
    assert [int(constant("code_zero")), int(constant("code_one"))] == [items.ZERO, items.ONE]
