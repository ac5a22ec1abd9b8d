"""A plan in words: what a user reads who asks why a run was slow."""

from __future__ import annotations

from collections import Counter
from typing import assert_never

from qsim_ex.circuit.ops import wires_of
from qsim_ex.planning.cost import PlanSummary, step_cost, summary
from qsim_ex.steps import Clear, Item, Layout, Phase, Plan, Shuffle, Spread, Step, Sweep, Wide

__all__ = ["PlanSummary", "explain", "human_bytes", "summary"]

_MOST_LABELS = 6


def explain(plan: Plan, itemsize: int, bytes_per_second: float | None = None) -> str:
    """Describe a plan step by step; with a memory rate (bytes per second) also the seconds memory alone would take."""
    total = summary(plan, itemsize)
    head = (
        f"{total.gates} gates on {plan.num_wires} wires: {_count(total.sweeps, 'sweep')}, "
        f"{_count(total.phases, 'phase')}, {_count(total.wide, 'other step')}; "
        f"{human_bytes(total.bytes_moved)} moved, {total.fma:.2e} multiply-adds (plan {plan.key})"
    )
    lines = [
        head,
        f"wires on index bits at the start: {_ordering(plan.start)}",
    ]
    for number, step in enumerate(plan.steps, 1):
        lines += _step(number, step, plan.num_wires, itemsize)
    lines.append(f"wires on index bits at the end:   {_ordering(plan.end)}")
    if bytes_per_second:
        seconds = total.bytes_moved / bytes_per_second
        lines.append(f"memory alone: {seconds:.3g} s at {human_bytes(bytes_per_second)}/s")
    return "\n".join(lines)


def human_bytes(count: float) -> str:
    """A number of bytes in the largest unit that leaves a number above 1."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if count < 1024 or unit == "PiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError("the loop ends at the largest unit")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _ordering(layout: Layout) -> str:
    """The wire on each index bit, the most significant first; a stroke marks a wire stored inverted."""
    if layout.is_identity():
        return "in order" if len(layout) else "none"
    marks = [f"{wire}{chr(39) * (layout.flip >> bit & 1)}" for bit, wire in enumerate(layout.wires())]
    return " ".join(reversed(marks))


def _step(number: int, step: Step, num_bits: int, itemsize: int) -> list[str]:
    cost = step_cost(step, num_bits, itemsize)
    size = f"{human_bytes(cost.bytes)}, {cost.fma / (1 << num_bits):.1f} multiply-adds per amplitude"
    match step:
        case Clear(fresh):
            return [f"{number:3} clear   bits {_bits(wires_of(fresh))}; {human_bytes(cost.bytes)}"]
        case Sweep(tile, phases, numbers, tables, fresh):
            grown = [bit for bit in tile if fresh >> bit & 1]
            growth = f"; the state grows by bits {_bits(tuple(grown))}" if grown else ""
            head = f"{number:3} sweep   tile {_bits(tile)}; {size}; {numbers} numbers, {tables} table entries{growth}"
            return [head, *(_phase(phase) for phase in phases)]
        case Wide(bits, _, _, label):
            return [f"{number:3} matrix  {label} on bits {_bits(bits)}; {size}"]
        case Shuffle(bits, _, label):
            return [f"{number:3} shuffle {label} on bits {_bits(bits)}; {size}"]
        case Spread(bits, _, label):
            return [f"{number:3} spread  {label} on bits {_bits(bits)}; {size}"]
        case _:
            assert_never(step)


def _phase(phase: Phase) -> str:
    return f"      near {_bits(phase.near)}: {_items(phase.items)}"


def _items(items: tuple[Item, ...]) -> str:
    if not items:
        return "(only moves bits)"
    counts = Counter(item.label or type(item).__name__.lower() for item in items)
    shown = [f"{label} ×{n}" if n > 1 else label for label, n in counts.most_common(_MOST_LABELS)]
    return ", ".join(shown) + (f" and {len(counts) - _MOST_LABELS} more kinds" if len(counts) > _MOST_LABELS else "")


def _bits(bits: tuple[int, ...]) -> str:
    """Bits as ranges: 0-4,9,11-13."""
    parts = []
    bits = tuple(sorted(bits))
    start = 0
    for k in range(1, len(bits) + 1):
        if k == len(bits) or bits[k] != bits[k - 1] + 1:
            parts.append(str(bits[start]) if k - start == 1 else f"{bits[start]}-{bits[k - 1]}")
            start = k
    return ",".join(parts)
