"""From where to where the value of a classical bit is needed."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from qsim_ex.circuit.structure import Structure


class BitLife:
    """The instructions that read and write each classical bit."""

    def __init__(self, structure: Structure, sampled: bool) -> None:
        self._reads: defaultdict[int, list[int]] = defaultdict(list)
        self._writes: defaultdict[int, list[int]] = defaultdict(list)
        end = len(structure.instructions)
        for place, instruction in enumerate(structure.instructions):
            for clbit in instruction.written_bits:
                self._writes[clbit].append(place)
            every = range(structure.num_clbits) if instruction.reads_every_bit else ()
            for clbit in (*instruction.read_bits, *every):
                self._reads[clbit].append(place)
        for clbit in range(structure.num_clbits if sampled else 0):
            self._reads[clbit].append(end)

    def is_read(self, clbit: int, place: int) -> bool:
        """Return whether the value that a bit has before an instruction is read by it or later."""
        reads, writes = self._reads[clbit], self._writes[clbit]
        read, write = bisect_left(reads, place), bisect_left(writes, place)
        return read < len(reads) and (write == len(writes) or reads[read] <= writes[write])
