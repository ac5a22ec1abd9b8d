"""The layout of a page: headings, facts in two columns, tables, bars; at most 80 columns wide."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

WIDTH = 80

GOOD = Text("✓", style="green")
BAD = Text("✗", style="bold red")
NONE = Text("–", style="dim")

Facts = Iterable[tuple[str, Any]]


def console(stream: TextIO | None = None) -> Console:
    """Return a page as wide as the terminal, but no wider than `WIDTH`."""
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
    return Console(file=stream or sys.stdout, width=width, highlight=False, markup=False, emoji=False)


def heading(page: Console, title: str, beside: str = "") -> None:
    """Print a heading above a part, with a remark beside it."""
    page.print()
    page.print(Text.assemble((title, "bold"), ("  " + beside if beside else "", "dim")))


def facts(page: Console, rows: Facts) -> None:
    """Print names and values in two columns; a value None is left out."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True, min_width=10)
    table.add_column(overflow="fold")
    for name, value in rows:
        if value is not None:
            table.add_row(name, value if isinstance(value, Text) else str(value))
    page.print(Padding(table, (0, 0, 0, 2)))


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[object]]) -> Padding:
    """Return a table of (title, justify) columns; the last column takes the remaining width."""
    titled = any(title for title, _ in columns)
    made = Table(
        show_header=titled, box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False, show_edge=False
    )
    for number, (title, justify) in enumerate(columns):
        last = number == len(columns) - 1
        made.add_column(title, justify=justify, no_wrap=not last, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else str(cell) for cell in row))
    return Padding(made, (0, 0, 0, 2))


def mark(good: bool) -> Text:
    """Return a tick or a cross."""
    return GOOD if good else BAD
