"""`PlanChart`: what a picture of a plan shows, as plain numbers and words; `drawing` draws it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """A register block of a sweep, or a whole step of another kind.

    registers, tile: masks of the index bits that it can mix, and of those in the tile. absent: mask of those that are
    not in the state yet. gates: how many operations of each kind run here.
    """

    registers: int
    tile: int
    absent: int
    gates: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ChartStep:
    """A step of a plan: its kind, its columns, and the bytes that it moves in device memory.

    motion: what happens between memories before the step, 'exchange' or 'pass'; empty if nothing does.
    """

    kind: str
    columns: tuple[ChartColumn, ...]
    bytes_moved: float
    motion: str = ""


@dataclass(frozen=True, slots=True)
class PlanChart:
    """The steps of a plan, and its bytes on every level of memory.

    title: what the plan is for, such as a part of a circuit; empty if there is nothing else. num_bits: index bits, of
    which `local_bits` are in the memory of one device. gates: the planned gates. seconds: predicted, 0 if they are not.
    state_bytes: the memory of the whole state. levels: bytes moved, by the name of the level.
    """

    title: str
    num_bits: int
    local_bits: int
    gates: int
    state_bytes: int
    steps: tuple[ChartStep, ...]
    levels: Mapping[str, float]

    @property
    def columns(self) -> tuple[ChartColumn, ...]:
        """The columns of all steps, in order."""
        return tuple(column for step in self.steps for column in step.columns)
