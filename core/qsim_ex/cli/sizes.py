"""Spans of time and shares, in the form in which people read them."""

from __future__ import annotations


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
