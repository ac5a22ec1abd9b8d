"""`Explanation`: a text about a plan that a notebook and `rich` show as a table."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

_STEP = re.compile(r"\s*(\d+) (clear|sweep|matrix|shuffle|spread)\s+(.*)")
"""A line of `planning.explain` about one step: its number, its kind, and what is known of it."""


class Explanation(str):
    """A plan in words: ``print`` shows the text, a notebook and `rich` show a table with a row for each step."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the lines as rows: of a step its number, its kind and the rest, of other lines the text alone."""
        steps = [(_STEP.fullmatch(line), line) for line in self.splitlines()]
        return [(step[1], step[2], step[3]) if step else ("", "", line) for step, line in steps]

    def _repr_html_(self) -> str:
        lines = []
        for number, kind, text in self.rows():
            left = "style='text-align:left; white-space:pre-wrap'"
            if number:
                cells = f"<td>{number}</td><td>{kind}</td><td {left}>{html.escape(text)}</td>"
            else:
                cells = f"<td colspan='3' {left}>{html.escape(text)}</td>"
            lines.append(f"<tr>{cells}</tr>")
        return f"<table>{''.join(lines)}</table>"

    def __rich__(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=False, pad_edge=False)
        for style in ("dim", "bold cyan", ""):
            table.add_column(style=style)
        for row in self.rows():
            table.add_row(*map(Text, row))
        return table
