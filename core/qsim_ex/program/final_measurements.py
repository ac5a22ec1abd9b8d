"""Final measurements: those that can be moved to the end of a circuit, where all shots of a state are drawn at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from qsim_ex.circuit.control import Store
from qsim_ex.circuit.ops import Begin, Instruction, Measure, Save, mask_of

Group = tuple[int, ...]


def moved_to_the_end(
    instructions: Sequence[Instruction], acted: Sequence[int], observed: bool, group_of: Mapping[int, Group]
) -> list[int]:
    """Return for each measurement the mask of wires whose measurement there can be moved to the end; else anything.

    An operation that only reads a wire commutes with its measurement. A bit of a condition must be known before it.

    acted: the mask of each instruction's wires. observed: see `program_of`. group_of: the group of each bit with a
        readout error; all bits of one are read together.
    """
    first = next((place for place, one in enumerate(instructions) if type(one) is Measure), len(instructions))
    later, found = 0, [0] * first
    needed: set[int] = set()  # bits that are read before they are written again, or misread before a store writes one
    for place in range(len(instructions) - 1, first - 1, -1):
        instruction = instructions[place]
        found.append(~later)
        match instruction:
            case Measure(measured, clbits, kept):
                if kept:
                    found[-1] = 0
                elif needed:
                    found[-1] &= ~mask_of(tuple([w for w, c in zip(measured, clbits, strict=True) if c in needed]))
                needed.difference_update(clbits)
                later |= instruction.mixed_wires
            case Begin():
                pass
            case Save():
                later = -1  # the saved state is the one after the measurement
            case Store():
                needed.difference_update(instruction.written_bits)
                needed.update(misread_with(instruction.written_bits, group_of), instruction.read_bits)
            case _:
                later |= acted[place] if observed else instruction.mixed_wires
                if read := instruction.read_bits:
                    needed.update(read, misread_with(read, group_of))
    found[first:] = reversed(found[first:])
    return found


def misread_with(clbits: Iterable[int], group_of: Mapping[int, Group]) -> Iterator[int]:
    """Yield those of some bits that are misread, and all others that are misread with them."""
    for clbit in clbits:
        yield from group_of.get(clbit, ())
