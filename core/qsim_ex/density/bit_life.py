"""From where to where the value of a classical bit is needed."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from qsim_ex.circuit.ops import Conditional, Measure, Save
from qsim_ex.circuit.structure import Structure


class BitLife:
    """The instructions that read and write each classical bit."""

    def __init__(self, structure: Structure, sampled: bool) -> None:
        self._reads: defaultdict[int, list[int]] = defaultdict(list)
        self._writes: defaultdict[int, list[int]] = defaultdict(list)
        end = len(structure.instructions)
        for place, instruction in enumerate(structure.instructions):
            match instruction:
                case Measure(_, clbits, kept):
                    for clbit in (*clbits, *kept):
                        self._writes[clbit].append(place)
                case Conditional(_, clbits):
                    for clbit in clbits:
                        self._reads[clbit].append(place)
                case Save() if instruction.by_memory:
                    for clbit in range(structure.num_clbits):
                        self._reads[clbit].append(place)
                case _:
                    pass
        for clbit in range(structure.num_clbits if sampled else 0):
            self._reads[clbit].append(end)

    def is_read(self, clbit: int, place: int) -> bool:
        """Return whether the value that a bit has before an instruction is read by it or later."""
        reads, writes = self._reads[clbit], self._writes[clbit]
        read, write = bisect_left(reads, place), bisect_left(writes, place)
        return read < len(reads) and (write == len(writes) or reads[read] <= writes[write])
