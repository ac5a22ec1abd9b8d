"""`Explanation`: a text about a plan that a notebook and `rich` show as a table, and that `plot` draws."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from qsim_ex.display.plans.chart import PlanChart
from qsim_ex.later import later

if TYPE_CHECKING:
    from rich.table import Table

    from qsim_ex.display.plans import drawing
    from qsim_ex.display.plans import picture as plan_picture
else:
    drawing = later("qsim_ex.display.plans.drawing")
    plan_picture = later("qsim_ex.display.plans.picture")

_STEP = re.compile(r"\s*(\d+) (clear|sweep|matrix|shuffle|spread)\s+(.*)")
"""A line of `planning.explain` about one step: its number, its kind, and what is known of it."""


class Explanation(str):
    """A plan in words: ``print`` shows the text, a notebook and `rich` show a table with a row for each step.

    charts: what `plot` draws, a chart for each plan.
    """

    __slots__ = ("charts",)

    charts: tuple[PlanChart, ...]

    def __new__(cls, text: str = "", charts: Iterable[PlanChart] = ()) -> Self:
        """Make an explanation of a text and the charts of its plans."""
        made = super().__new__(cls, text)
        made.charts = tuple(charts)
        return made

    @classmethod
    def joined(cls, parts: Iterable[tuple[str, Explanation]]) -> Self:
        """Return several explanations as one, each below its heading; an empty heading is left out."""
        lines: list[str] = []
        charts: list[PlanChart] = []
        for heading, told in parts:
            lines += [heading, told] if heading else [told]
            charts += [replace(one, title=f"{heading} {one.title}".strip(": ")) for one in told.charts]
        return cls("\n".join(lines), charts)

    def __repr__(self) -> str:
        return str(self)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the lines as rows: of a step its number, its kind and the rest, of other lines the text alone."""
        steps = [(_STEP.fullmatch(line), line) for line in self.splitlines()]
        return [(step[1], step[2], step[3]) if step else ("", "", line) for step, line in steps]

    def plot(
        self, timings: Mapping[str, float] | None = None, watched: Sequence[drawing.Moment] = (), *, dark: bool = False
    ) -> plan_picture.PlanPicture:
        """Return a picture of the plan: register bits, gates and bytes of every register block, and bytes by level.

        timings: the ``timings`` of a run that has happened; they become a timeline. watched: what the option `watch`
        was called with during that run; each step becomes a mark on the timeline. dark: draw on a dark ground. Needs
        matplotlib; raises `MissingPackage` without it.
        """
        return plan_picture.drawn(self.charts, timings or {}, watched, dark=dark)

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
