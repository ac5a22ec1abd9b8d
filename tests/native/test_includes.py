"""What the sources of the native library include."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tools import native

NAMES = {
    "atomic": "atomic",
    "bit": "bit_cast|bit_ceil|bit_width|countl_zero|countr_zero|has_single_bit|popcount",
    "complex": "complex",
    "limits": "numeric_limits",
    "memory": "unique_ptr",
    "mutex": "lock_guard|mutex|unique_lock",
    "numbers": "numbers",
    "numeric": "accumulate|gcd|iota",
    "optional": "nullopt|optional",
    "span": "span",
    "thread": "thread",
    "utility": "as_const|exchange",
}
"""Headers of the standard library, and names that no other header of all compilers' libraries brings along."""


@cache
def included(file: Path) -> frozenset[str]:
    """Return the headers of the standard library that a file includes, itself or by other files of ours."""
    text = file.read_text(encoding="utf-8")
    found = set(re.findall(r"#include <([^>]+)>", text))
    return frozenset(found.union(*(included(native.SOURCES / own) for own in re.findall(r'#include "([^"]+)"', text))))


@pytest.mark.parametrize("header", NAMES)
def test_a_name_comes_with_its_header(header: str) -> None:
    """Each file that uses a name of the standard library includes its header, so that it compiles with any library."""
    uses = re.compile(rf"\bstd::({NAMES[header]})\b")
    files = [file for file in native.SOURCES.rglob("*.?pp") if uses.search(file.read_text(encoding="utf-8"))]
    assert [str(file) for file in files if header not in included(file)] == []
