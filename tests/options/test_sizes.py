"""Options of memory are sizes in words or in bytes, and sizes are written as "8 GiB"."""

from __future__ import annotations

from typing import Any

import pytest

from qsim_ex.display.amounts import human, unit_of, whole
from qsim_ex.errors import OptionError
from qsim_ex.options import Options


@pytest.mark.parametrize(("given", "size"), [("8 GiB", 8 << 30), ("1 GB", 10**9), ("500M", 5 * 10**8), (4096, 4096)])
def test_a_size_in_words_is_its_bytes(given: Any, size: int) -> None:
    """Both options of memory hold the bytes of a size, so that equal sizes are equal options."""
    assert Options(max_memory=given, max_host_memory=given) == Options(max_memory=size, max_host_memory=size)
    assert Options(max_memory=given).device_limit == Options(max_host_memory=given).host_limit == size


@pytest.mark.parametrize("name", ["max_memory", "max_host_memory"])
@pytest.mark.parametrize("given", ["lots", "8 wires", "0 GiB", "-1", -1, 2.5e9, True, [8]])
def test_what_is_no_size_is_refused(name: str, given: Any) -> None:
    """The error names the option and shows a size in words."""
    with pytest.raises(OptionError, match=rf"{name}: expected a size such as '8 GiB'.*got .*; pass {name}='8 GiB'"):
        Options(**{name: given})


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (8 << 30, "8 GiB"),
        (3 << 29, "1.5 GiB"),
        (1 << 90, "2^90 bytes"),
    ],
)
def test_a_size_has_at_most_one_decimal(size: int, words: str) -> None:
    """A whole number of units stands without a decimal."""
    assert human(size) == words


def test_units_are_those_of_sizes() -> None:
    """The unit of a size is the largest of which it has at least one."""
    assert unit_of(5 << 40) == ("TiB", 1 << 40)
    assert unit_of(0) == ("bytes", 1)


def test_large_numbers() -> None:
    """Below a million all digits are written, and from there three with a power of ten."""
    assert [whole(32), whole(65_536), whole(6.1e7)] == ["32", "65,536", "6.1e+07"]
