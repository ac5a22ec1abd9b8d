"""Sizes of memory and large numbers in the form in which people write and read them: "8 GiB"."""

from __future__ import annotations

import re

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SIZE = r"\s*(\d+(?:\.\d+)?)\s*([kmgtp]?)(i?)(b?|bytes)\s*"


def human(size: float) -> str:
    """Return a number of bytes for people, with at most one decimal: "8 GiB", "79.1 GiB", "1000 bytes"."""
    if size >= 1 << 80:
        return f"2^{int(size).bit_length() - 1} bytes"
    unit, scale = unit_of(size)
    digits = 0 if scale == 1 else 1
    return f"{size / scale:.{digits}f}".removesuffix(".0") + f" {unit}"


def unit_of(size: float) -> tuple[str, int]:
    """Return the largest unit of which a size has at least one, and the bytes of that unit."""
    power = min(max(int(size).bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return _UNITS[power], 1 << 10 * power


def whole(number: float) -> str:
    """Return a large number for people: all digits below a million, and from there three with a power of ten."""
    return f"{number:,.0f}" if number < 1e6 else f"{number:.3g}"


def plural(number: int, noun: str, several: str = "") -> str:
    """Return a number with its noun: "1 gate", "20,000 shots"; several: the plural, if not the noun with an s."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def parse_size(text: str) -> int:
    """Return the bytes of "8 GiB", "8GB", "500M" or "4096"; Ki, Mi, … are powers of 1024 and k, M, … of 1000.

    Raises `ValueError` for anything else and for less than one byte.
    """
    found = re.fullmatch(_SIZE, text, re.IGNORECASE)
    if found is None or (found[3] and not found[2]):
        raise ValueError(f"{text!r} is not a size; write it as '8 GiB', '500 MB' or in bytes.")
    unit: int = (1024 if found[3] else 1000) ** _POWERS[found[2].lower()]
    size = round(float(found[1]) * unit)
    if size < 1:
        raise ValueError(f"expected a size of at least one byte, got {text!r}; it is less than one byte.")
    return size
