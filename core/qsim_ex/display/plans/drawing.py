"""The drawing of a plan with matplotlib: register bits, gates and bytes of each block, bytes by level, a timeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import Any, Protocol

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy import ma, nan

from qsim_ex.display.amounts import plural, unit_of
from qsim_ex.display.plans.chart import ChartColumn, PlanChart
from qsim_ex.display.plans.colors import Colors

MOST_KINDS = 9
"""The most kinds of operations that have a row of their own."""

_ROOM = 0.055
"""The least part of the picture's width that a step has whose bytes are written above its bar."""

_NEARNESS = ("not in the state yet", "in memory", "in the tile", "in registers")
_PARTS = ("translate", "plan", "prepare", "run", "sample")
_LONGEST = 18
_VECTOR = 20_000
"""The most cells that are drawn one by one; more become an image inside the picture."""


class Moment(Protocol):
    """How far a run was at one moment; `qsim_ex.Progress` is one."""

    @property
    def seconds(self) -> float:
        """The seconds since the run began."""

    @property
    def steps(self) -> int:
        """The steps that were done."""


class PlanDrawing:
    """The picture of some charts in given colors."""

    def __init__(self, charts: Sequence[PlanChart], colors: Colors) -> None:
        self.charts, self.colors = charts, colors
        self.steps = [step for chart in charts for step in chart.steps]
        self.columns = [column for step in self.steps for column in step.columns]
        self.bits = max(chart.num_bits for chart in charts)
        self.ends = list(accumulate(len(step.columns) for step in self.steps))
        self.begins = [0, *self.ends[:-1]]

    def figure(self, timings: Mapping[str, float], watched: Sequence[Moment]) -> Figure:
        """Return the figure with all of its axes; timings, watched: see `Explanation.plot`."""
        rows = self._kinds()
        heights = [0.8, max(1.2, 0.125 * self.bits), 0.19 * max(len(rows), 2), 0.24 * len(self._levels()) + 0.1]
        heights += [0.4] * bool(timings)
        figure = Figure(figsize=(9.6, sum(heights) + 0.55 * len(heights) + 0.7), layout="constrained")
        figure.set_facecolor(self.colors.ground)
        axes = figure.subplots(len(heights), 1, height_ratios=heights)
        for one in axes:
            self._style(one)
        figure.suptitle(self._title(), color=self.colors.ink, fontsize=11)
        self._bytes(axes[0])
        self._nearness(axes[1])
        self._gates(axes[2], rows)
        self._bars(axes[3])
        if timings:
            self._timeline(axes[4], timings, watched)
        self._legend(axes[1])
        return figure

    def _title(self) -> str:
        gates, sweeps = sum(c.gates for c in self.charts), sum(step.kind == "sweep" for step in self.steps)
        others = len(self.steps) - sweeps
        words = [plural(gates, "gate"), plural(sweeps, "sweep"), plural(len(self.columns) - others, "register block")]
        return ", ".join(words + [plural(others, "other step")] * bool(others))

    def _style(self, axes: Axes) -> None:
        axes.set_facecolor(self.colors.ground)
        axes.tick_params(colors=self.colors.ink, labelsize=8, length=2)
        for side in axes.spines.values():
            side.set_color(self.colors.grid)
        for text in (axes.xaxis.label, axes.yaxis.label):
            text.set_color(self.colors.ink)

    def _head(self, axes: Axes, text: str) -> None:
        axes.set_title(text, fontsize=9, loc="left", color=self.colors.ink)

    # --- over the blocks -----------------------------------------------------------------------------------------

    def _over_blocks(self, axes: Axes) -> None:
        """Draw the beginnings of steps and plans, and let the axes span all register blocks."""
        first = 0
        for chart in self.charts:
            for step, begin in zip(chart.steps, self.begins[first:], strict=False):
                color = self.colors.motion if step.motion else self.colors.sweep
                axes.axvline(begin, color=color, lw=2.2 if step.motion else 1.2)
            first += len(chart.steps)
        axes.set(xlim=(0, len(self.columns)), xticks=[])

    def _bytes(self, axes: Axes) -> None:
        """Draw the bytes that each step moves, over its register blocks."""
        width = [len(step.columns) for step in self.steps]
        unit, size = unit_of(max(step.bytes_moved for step in self.steps))
        heights = [step.bytes_moved / size for step in self.steps]
        axes.bar(self.begins, heights, width, align="edge", color=self.colors.nearness[2], ec=self.colors.ground)
        self._over_blocks(axes)
        axes.set_ylabel(unit)
        divided = any(chart.local_bits < chart.num_bits for chart in self.charts)
        self._head(axes, "moved by each step" + ", for one sub state vector" * divided)
        self._names(axes, max(heights))
        if len(self.charts) > 1:  # the titles of the plans are there
            return
        for begin, columns, step in zip(self.begins, width, self.steps, strict=True):
            if columns >= _ROOM * len(self.columns):
                unit, scale = unit_of(step.bytes_moved)
                place = begin + columns / 2, step.bytes_moved / size + 0.04 * max(heights)
                words = f"{step.bytes_moved / scale:.3g} {unit}"
                axes.text(*place, words, ha="center", fontsize=7, color=self.colors.ink)

    def _names(self, axes: Axes, top: float) -> None:
        """Write a plan's title above its first step, where several plans have titles."""
        first = 0
        axes.set_ylim(0, top * 1.35)
        for chart in self.charts:
            if chart.title and chart.steps and len(self.charts) > 1:
                at = self.begins[first]
                axes.text(at, top * 1.1, f" {_short(chart.title, 34)}", fontsize=7, color=self.colors.ink)
            first += len(chart.steps)

    def _nearness(self, axes: Axes) -> None:
        """Draw how near to the arithmetic each index bit is in each register block."""
        grid = [[_near(column, bit, bits) for column, bits in self._sized()] for bit in range(self.bits)]
        self._mesh(axes, grid, self.colors.nearness, 3)
        self._over_blocks(axes)
        start = 0
        for chart in self.charts:
            columns = len(chart.columns)
            if chart.local_bits < chart.num_bits:
                axes.hlines(chart.local_bits, start, start + columns, color=self.colors.motion, lw=1.2, ls="--")
            start += columns
        axes.set(ylim=(0, self.bits), ylabel="index bit", yticks=[bit + 0.5 for bit in range(0, self.bits, 4)])
        axes.set_yticklabels([str(bit) for bit in range(0, self.bits, 4)])
        self._head(axes, "which index bits are in registers, block by block")

    def _sized(self) -> Iterator[tuple[ChartColumn, int]]:
        """Yield each column with the index bits of its plan."""
        for chart in self.charts:
            for column in chart.columns:
                yield column, chart.num_bits

    def _gates(self, axes: Axes, rows: Sequence[str]) -> None:
        """Draw how many operations of each kind run in each register block."""
        counts = [[_of_kind(column.gates, row, rows) for column in self.columns] for row in rows]
        most = max((count for row in counts for count in row), default=0)
        if rows and most:
            shares = [[count / most for count in row] for row in counts]
            self._mesh(axes, shares, self.colors.nearness, 1, smooth=True)
            self._numbers(axes, counts, most)
        self._over_blocks(axes)
        axes.set(
            ylim=(len(rows), 0), yticks=[row + 0.5 for row in range(len(rows))], xlabel="register blocks, in order"
        )
        axes.set_yticklabels([_short(_fused(row), _LONGEST) for row in rows])
        self._head(axes, "where the gates run: operations of each kind")

    def _numbers(self, axes: Axes, counts: Sequence[Sequence[int]], most: int) -> None:
        """Write the counts into the cells, if there is room."""
        if len(self.columns) > 45:
            return
        for row, line in enumerate(counts):
            for column, count in enumerate(line):
                if count:
                    strong = count > 0.8 * most
                    color = self.colors.ground if strong else self.colors.ink
                    axes.text(column + 0.5, row + 0.55, str(count), ha="center", va="center", fontsize=6.5, color=color)

    def _kinds(self) -> list[str]:
        """Return the kinds of operations, the most frequent first; the rare ones are put together."""
        counts: Counter[str] = Counter()
        for column in self.columns:
            counts.update(column.gates)
        names = [name for name, _ in counts.most_common()]
        return names if len(names) <= MOST_KINDS else [*names[: MOST_KINDS - 1], _OTHERS]

    def _mesh(
        self,
        axes: Axes,
        grid: Sequence[Sequence[float | None]],
        shades: Sequence[str],
        top: float,
        *,
        smooth: bool = False,
    ) -> None:
        colors: Any = LinearSegmentedColormap.from_list("near", list(shades)) if smooth else ListedColormap(shades)
        cells = len(grid) * len(self.columns)
        lines: dict[str, Any] = {"edgecolors": self.colors.grid, "linewidth": 0.3} if len(self.columns) <= 120 else {}
        values = ma.masked_invalid([[nan if cell is None else cell for cell in row] for row in grid])
        axes.pcolormesh(values, cmap=colors, vmin=0, vmax=top, rasterized=cells > _VECTOR, **lines)

    def _legend(self, axes: Axes) -> None:
        colors = self.colors
        handles: list[Any] = [
            Patch(fc=color, ec=colors.ink, lw=0.5, label=label)
            for color, label in zip(colors.nearness, _NEARNESS, strict=True)
        ]
        handles.append(Line2D([], [], color=colors.sweep, lw=1.6, label="a step begins"))
        if motions := sorted({step.motion for step in self.steps if step.motion}):
            handles.append(Line2D([], [], color=colors.motion, lw=2.2, label=f"{' or '.join(motions)} before it"))
            handles.append(Line2D([], [], color=colors.motion, lw=1.2, ls="--", label="above: not on this device"))
        legend = axes.figure.legend(
            handles=handles, loc="outside lower center", ncols=len(handles), fontsize=7.5, frameon=False
        )
        for text in legend.get_texts():
            text.set_color(colors.ink)

    # --- the whole -----------------------------------------------------------------------------------------------

    def _levels(self) -> dict[str, float]:
        """Return the bytes moved on each level of memory, by all plans."""
        found: dict[str, float] = {}
        for chart in self.charts:
            for name, count in chart.levels.items():
                found[name] = found.get(name, 0.0) + count
        return found

    def _bars(self, axes: Axes) -> None:
        """Draw the bytes moved on each level of memory, beside those of one pass for each gate."""
        levels = self._levels()
        least = min(levels.values())
        axes.barh(list(levels), list(levels.values()), 0.7, color=self._shades(levels))
        for row, count in enumerate(levels.values()):
            unit, size = unit_of(count)
            axes.text(count * 1.15, row, f"{count / size:.3g} {unit}", va="center", fontsize=8, color=self.colors.ink)
        axes.set(xscale="log", xlim=(least / 3, max(levels.values()) * 8), xticks=[])
        axes.minorticks_off()
        axes.invert_yaxis()
        self._head(axes, "bytes moved, by level of memory (logarithmic)")

    def _shades(self, levels: Mapping[str, float]) -> list[str]:
        """Return a color for each level: faint for what would be, strong for device memory, red beyond it."""
        known = {"one pass for each gate": self.colors.nearness[1], "device memory": self.colors.nearness[3]}
        return [known.get(name, self.colors.motion) for name in levels]

    def _timeline(self, axes: Axes, timings: Mapping[str, float], watched: Sequence[Moment]) -> None:
        """Draw the parts of a run one after another, and a mark for each step."""
        at, run = 0.0, 0.0
        for part, color in zip(_PARTS, self.colors.spans, strict=True):
            span = timings.get(part, 0.0)
            if part == "run":
                run = at
            if span:
                axes.barh(0, span * 1e3, 0.8, left=at * 1e3, color=color, label=f"{part} {span * 1e3:.3g} ms")
            at += span
        marks = [(run + moment.seconds) * 1e3 for moment in watched]
        axes.plot(marks, [0.0] * len(marks), "|", color=self.colors.sweep, ms=14, mew=1.4)
        axes.set(yticks=[], xlim=(0, at * 1e3 or 1.0), ylim=(-0.6, 0.6), xlabel="ms")
        self._head(axes, f"the run{', with a mark for each step' * bool(marks)}")
        legend = axes.legend(
            ncols=len(_PARTS), fontsize=7.5, frameon=False, loc="lower right", bbox_to_anchor=(1, 0.95)
        )
        for text in legend.get_texts():
            text.set_color(self.colors.ink)


_OTHERS = "other kinds"


def _near(column: ChartColumn, bit: int, bits: int) -> int | None:
    """Return how near an index bit is in a column, as an index into the colors; None if its plan has no such bit."""
    if bit >= bits:
        return None
    if column.registers >> bit & 1:
        return 3
    return 2 if column.tile >> bit & 1 else 0 if column.absent >> bit & 1 else 1


def _of_kind(gates: Mapping[str, int], row: str, rows: Sequence[str]) -> int:
    """Return how many operations of a kind are among some; of the last row, all that have no row of their own."""
    return sum(count for name, count in gates.items() if name not in rows) if row == _OTHERS else gates.get(row, 0)


def _fused(label: str) -> str:
    """Return the label of fused gates with repeated gates counted: u·u·u·cz becomes u×3·cz."""
    runs = [(name, len(list(group))) for name, group in groupby(label.split("·"))]
    return "·".join(f"{name}×{count}" if count > 1 else name for name, count in runs)


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
