"""Counts as pictures made of letters: a row for each outcome, or a skyline of columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

_EIGHTHS_RIGHT = " ▏▎▍▌▋▊▉█"
_EIGHTHS_UP = " ▁▂▃▄▅▆▇█"


def bar(value: float, most: float, width: int, style: str = "cyan") -> Text:
    """Return a bar to the right, `width` letters long if `value` is `most`; a value above zero is always visible."""
    eighths = round(8 * width * value / most) if most else 0
    if value and not eighths:
        eighths = 1
    whole, rest = divmod(eighths, 8)
    return Text("█" * whole + (_EIGHTHS_RIGHT[rest] if rest else ""), style=style)


def skyline(heights: Sequence[float], most: float, lines: int, style: str = "cyan") -> list[Text]:
    """Return columns side by side, `lines` letters high if a height is `most`; the top line comes first."""
    eighths = [round(8 * lines * height / most) if most else 0 for height in heights]
    return [
        Text("".join(_EIGHTHS_UP[min(8, max(0, e - 8 * line))] for e in eighths), style=style)
        for line in reversed(range(lines))
    ]


def binned(counts: dict[int, int], outcomes: int, columns: int) -> list[int]:
    """Return counts of `outcomes` values summed into `columns` equal ranges; `columns` divides `outcomes`."""
    bins = [0] * columns
    for value, count in counts.items():
        bins[value * columns // outcomes] += count
    return bins
