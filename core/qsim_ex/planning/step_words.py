"""The steps of a plan in words: a line each, and one for each register block."""

from __future__ import annotations

from collections import Counter
from typing import assert_never

from qsim_ex.circuit.ops import wires_of
from qsim_ex.display.amounts import human
from qsim_ex.planning.cost.summary import step_cost
from qsim_ex.precision import Precision
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.step import (
    BasisPermutation,
    DenseMatrix,
    InitialAmplitudes,
    Item,
    RegisterBlock,
    Step,
    Sweep,
    ZeroFill,
)

_MOST_LABELS = 6


def step_lines(number: int, step: Step, num_bits: int, precision: Precision, shape: Shape, listed: bool) -> list[str]:
    """Return a step in lines; listed: with its register blocks."""
    cost = step_cost(step, num_bits, precision, shape)
    size = f"{human(cost.bytes)}, {cost.fma / (1 << num_bits):.1f} multiply-adds per amplitude"
    match step:
        case ZeroFill(fresh):
            return [f"{number:3} clear   bits {bits_in_words(wires_of(fresh))}; {human(cost.bytes)}"]
        case Sweep(tile, register_blocks, numbers, tables, fresh):
            grown = [bit for bit in tile if fresh >> bit & 1]
            growth = f"; the state grows by bits {bits_in_words(tuple(grown))}" if grown else ""
            found = [(bit, mask) for bit, mask in zip(tile, step.loads(tile), strict=True) if mask != 1 << bit]
            read = f"; read with directions {' '.join(f'{bit}={_sum(mask)}' for bit, mask in found)}" if found else ""
            both = zip(tile, step.loads(tile), step.stores(tile), strict=True)
            moves = [(bit, to) for bit, old, to in both if old != to]
            moved = f"; written back with bits {' '.join(f'{bit}→{_sum(to)}' for bit, to in moves)}" if moves else ""
            counts = f"{numbers} numbers, {tables} table entries"
            head = f"{number:3} sweep   tile {bits_in_words(tile)}; {size}; {counts}{growth}{read}{moved}"
            return [head, *(_register_block(one) for one in register_blocks if listed)]
        case DenseMatrix(bits, _, _, label):
            return [f"{number:3} matrix  {label} on bits {bits_in_words(bits)}; {size}"]
        case BasisPermutation(bits, _, label):
            return [f"{number:3} shuffle {label} on bits {bits_in_words(bits)}; {size}"]
        case InitialAmplitudes(bits, _, label):
            return [f"{number:3} spread  {label} on bits {bits_in_words(bits)}; {size}"]
        case _:
            assert_never(step)


def _register_block(block: RegisterBlock) -> str:
    return f"      registers {bits_in_words(block.registers)}: {_items(block.items)}"


def _items(items: tuple[Item, ...]) -> str:
    if not items:
        return "(only moves bits)"
    counts = Counter(item.label or type(item).__name__.lower() for item in items)
    shown = [f"{label} ×{n}" if n > 1 else label for label, n in counts.most_common(_MOST_LABELS)]
    return ", ".join(shown) + (f" and {len(counts) - _MOST_LABELS} more kinds" if len(counts) > _MOST_LABELS else "")


def _sum(mask: int) -> str:
    """Return a direction as the bits that flip together: 3⊕7."""
    return "⊕".join(map(str, wires_of(mask)))


def bits_in_words(bits: tuple[int, ...]) -> str:
    """Return bits as ranges: 0-4,9,11-13."""
    parts = []
    bits = tuple(sorted(bits))
    start = 0
    for k in range(1, len(bits) + 1):
        if k == len(bits) or bits[k] != bits[k - 1] + 1:
            parts.append(str(bits[start]) if k - start == 1 else f"{bits[start]}-{bits[k - 1]}")
            start = k
    return ",".join(parts)
