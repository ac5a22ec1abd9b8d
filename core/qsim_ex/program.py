"""A circuit cut into what can be planned: straight-line work, states to be saved, and measurements at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import assert_never

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import (
    Channel,
    Conditional,
    Initialize,
    Instruction,
    Measure,
    Op,
    Permutation,
    Reset,
    Save,
    mask_of,
    wires_of,
)
from qsim_ex.circuit.structure import Structure
from qsim_ex.errors import NotSupported

Work = Op | Permutation | Initialize
"""What a plan is made of."""


@dataclass(frozen=True, eq=False, slots=True)
class Segment:
    """Straight-line work, and the label under which the state after it is saved, if it is.

    Segments are compared by identity, so that a plan is found without looking at the work.
    """

    work: tuple[Work, ...]
    label: str | None


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """A circuit as the simulator runs it.

    segments: at least one; all but the last end in a save.
    whole: all work in one segment, for a state that nobody saves on the way.
    measured: classical bit -> the wire that was measured into it last.
    has_measurement: whether there is a measurement at all, be it of no wires.
    touched: mask of the wires that anything has acted on.
    """

    segments: tuple[Segment, ...]
    whole: Segment
    measured: dict[int, int]
    has_measurement: bool
    touched: int

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the saved states, in order."""
        return tuple(segment.label for segment in self.segments if segment.label is not None)


def divide(circuit: Circuit, touched: int = 0) -> Program:
    """Cut a circuit into segments; `touched` is the mask of wires that may not be |0> at its beginning.

    Circuits of one structure have one program, the same object. Raises `NotSupported`, naming the feature, for what
    this version cannot do.
    """
    return _divide(circuit.structure, touched)


@lru_cache(maxsize=256)
def _divide(structure: Structure, touched: int) -> Program:
    segments: list[Segment] = []
    work: list[Work] = []
    measured: dict[int, int] = {}
    ended = 0  # mask of wires that are measured
    has_measurement = False
    for place, instruction in enumerate(structure.instructions):
        acted = wires_acted_on(instruction)
        if not isinstance(instruction, Measure) and acted & ended:
            raise _unsupported("measurement in the middle of a circuit", instruction, place, acted & ended)
        match instruction:
            case Op() | Permutation():
                work.append(instruction)
                touched |= acted
            case Initialize():
                if acted & touched:
                    raise _unsupported("initialising wires that were used before", instruction, place, acted & touched)
                work.append(instruction)
                touched |= acted
            case Measure(wires, clbits):
                measured.update(zip(clbits, wires, strict=True))
                has_measurement = True
                ended |= acted
            case Reset():
                if acted & touched:
                    raise _unsupported("reset of wires that were used before", instruction, place, acted & touched)
            case Channel():
                raise _unsupported("a noise channel", instruction, place, acted)
            case Conditional():
                raise _unsupported("an operation under a classical condition", instruction, place, acted)
            case Save(label):
                if ended:
                    raise _unsupported("measurement in the middle of a circuit", instruction, place, ended)
                segments.append(Segment(tuple(work), label))
                work = []
            case _:
                assert_never(instruction)
    if work or not segments:
        segments.append(Segment(tuple(work), None))
    whole = Segment(tuple(piece for segment in segments for piece in segment.work), None)
    return Program(tuple(segments), whole if len(segments) > 1 else segments[0], measured, has_measurement, touched)


def wires_acted_on(instruction: Instruction) -> int:
    """The mask of all wires that an instruction mixes, reads, or asks for."""
    match instruction:
        case Op(mixes, reads, when):
            mask = mask_of(mixes) | when.mask
            for read in reads:
                mask |= read
            return mask
        case Permutation() | Initialize() | Measure() | Reset() | Channel():
            return mask_of(instruction.wires)
        case Conditional(operation):
            return wires_acted_on(operation)
        case Save():
            return 0
        case _:
            assert_never(instruction)


def _unsupported(feature: str, instruction: Instruction, place: int, wires: int) -> NotSupported:
    name = getattr(instruction, "name", "") or type(instruction).__name__.lower()
    return NotSupported(
        f"{feature} leaves the state to chance, so that there is no one state to give: instruction {place} ({name}) "
        f"acts on {_named(wires_of(wires))}. Use Simulator.run or Simulator.run_batch."
    )


def _named(wires: Sequence[int]) -> str:
    return ("wire " if len(wires) == 1 else "wires ") + ", ".join(map(str, wires))
