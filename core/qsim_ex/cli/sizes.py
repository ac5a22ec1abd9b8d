"""Sizes of memory and spans of time, in the form in which people write and read them."""

from __future__ import annotations

import re

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgtp]?)(i?)(b?|bytes)\s*", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Return the bytes of "8 GiB", "8GB", "500M" or "4096"; Ki, Mi, … are powers of 1024 and k, M, … of 1000.

    Raises `ValueError` for anything else and for less than one byte.
    """
    found = _SIZE.fullmatch(text)
    if found is None or (found[3] and not found[2]):
        raise ValueError(f"{text!r} is not a size; write it as '8 GiB', '500 MB' or in bytes.")
    unit: int = (1024 if found[3] else 1000) ** _POWERS[found[2].lower()]
    size = round(float(found[1]) * unit)
    if size < 1:
        raise ValueError(f"expected a size of at least one byte, got {text!r}; it is less than one byte.")
    return size


def seconds(span: float) -> str:
    """Return a span of time with three digits: "412 µs", "3.80 ms", "12.4 s", "2 min 05 s"."""
    if span >= 60:
        return f"{int(span // 60)} min {int(span % 60):02} s"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if span >= size or unit == "µs":
            value = span / size
            digits = 0 if value >= 100 else 1 if value >= 10 else 2
            return f"{value:.{digits}f} {unit}"
    raise AssertionError("the loop ends at the smallest unit")


def share(part: int, whole: int) -> str:
    """Return a part in percent: "49.8 %"."""
    return f"{100 * part / whole:.1f} %" if whole else "0.0 %"
