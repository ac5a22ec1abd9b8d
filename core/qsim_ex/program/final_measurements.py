"""Final measurements: those that can be moved to the end of a circuit, where all shots of a state are drawn at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from qsim_ex.circuit.ops import Begin, Conditional, Instruction, Measure, Op, Save, mask_of, wires_acted_on


def moved_to_the_end(
    instructions: Sequence[Instruction], observed: bool, together: Callable[[tuple[int, ...]], Iterable[int]]
) -> list[int]:
    """Return for each instruction the mask of wires whose measurement there can be moved to the end.

    An operation that only reads a wire commutes with its measurement. A bit of a condition must be known before it.

    observed: see `program_of`. together: returns some bits, and all others that are read with them.
    """
    later, found = 0, []
    needed: set[int] = set()  # classical bits that a condition reads before they are written again
    for instruction in reversed(instructions):
        found.append(~later)
        match instruction:
            case Measure(wires, clbits, kept):
                if kept:
                    found[-1] = 0
                    later |= mask_of(wires)
                elif needed:
                    found[-1] &= ~mask_of(tuple(w for w, c in zip(wires, clbits, strict=True) if c in needed))
                needed.difference_update(clbits)
            case Conditional(operation, clbits):
                needed.update(together(clbits))
                later |= wires_acted_on(operation) if observed else mask_of(operation.mixes)
            case Op(mixes) if not observed:
                later |= mask_of(mixes)
            case Begin():
                pass
            case Save():
                later = -1  # the saved state is the one after the measurement
            case _:
                later |= wires_acted_on(instruction)
    found.reverse()
    return found
