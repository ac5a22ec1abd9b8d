"""Where a tile is in memory: one of a sweep's two maps, as its kernel computes it.

Where a tile is index bits, an amplitude's place is a sum of bits that do not meet: those of its tile, of its thread,
and a constant for its register, which is added. Where a tile is a subspace they meet, and are XORed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from qsim_ex.kernels.cuda.write.register_layout import runs
from qsim_ex.kernels.cuda.write.words import spread
from qsim_ex.steps.algebra import Map, units
from qsim_ex.steps.step import Sweep


@dataclass(frozen=True)
class MemoryMap:
    """A sweep's map from the index that its items see to the index in memory.

    columns: the index bits that flip in memory with each position of the tile.
    added: what is added to a bit outside the tile, within the tile, for each bit to which something is.
    stays: whether amplitudes are in memory where items see them.
    """

    columns: Map
    added: tuple[tuple[int, int], ...]
    stays: bool

    @classmethod
    def read(cls, sweep: Sweep) -> MemoryMap:
        """Return the map by which a sweep is loaded."""
        return cls._of(sweep, sweep.loads, len(sweep.load))

    @classmethod
    def written(cls, sweep: Sweep) -> MemoryMap:
        """Return the map by which a sweep is stored."""
        return cls._of(sweep, sweep.stores, len(sweep.store or sweep.load))

    @classmethod
    def _of(cls, sweep: Sweep, columns: Callable[[Iterable[int]], Map], known: int) -> MemoryMap:
        visited = [bit for bit in range(known) if bit not in sweep.tile and not sweep.fresh >> bit & 1]
        masks = zip(visited, columns(visited), strict=True)
        added = tuple([(bit, mask ^ 1 << bit) for bit, mask in masks if mask != 1 << bit])
        own = columns(sweep.tile)
        return cls(own, added, not added and own == units(sweep.tile))

    @property
    def is_bits(self) -> bool:
        """Whether each position of the tile is one bit in memory, and bits outside are what they are."""
        return not self.added and not any(mask & mask - 1 for mask in self.columns)

    @property
    def joined(self) -> str:
        """The operator between a thread's place and what a register or a position adds to it."""
        return "+" if self.is_bits else "^"

    def at(self, positions: int) -> int:
        """Return what the positions under a mask add to a place."""
        place = 0
        for position, mask in enumerate(self.columns):
            place ^= mask if positions >> position & 1 else 0
        return place

    def registers(self, positions: Sequence[int]) -> list[int]:
        """Return what each register adds to a place, whose number has these positions as bits."""
        found = [0]
        for position in positions:
            found += [place ^ self.columns[position] for place in found]
        return found

    def pairs(self, position: int) -> bool:
        """Return whether amplitudes that differ in a position alone are neighbours, at an even place and the next."""
        others = [*(mask for k, mask in enumerate(self.columns) if k != position), *(mask for _, mask in self.added)]
        return self.columns[position] == 1 and not any(mask & 1 for mask in others)

    def place(self, name: str, threads: Sequence[int], *, fixed: bool = True) -> list[str]:
        """Return statements that define a thread's place; bit k of its number is position ``threads[k]``.

        fixed: whether nothing will be added to it.
        """
        columns = [self.columns[position] for position in threads]
        alone = [mask.bit_length() - 1 if not mask & mask - 1 else None for mask in columns]
        moved = spread("t", runs(alone), wide=True)
        first = f"u64 {name} = outside{f' | {moved}' if moved != '0' else ''};"
        sums = [("t", k, mask) for k, mask in enumerate(columns) if alone[k] is None]
        sums += [("outside", bit, mask) for bit, mask in self.added]
        if not sums and fixed:
            return [f"const {first}"]
        return [first, *(f"{name} ^= {_bit(source, k)} ? {mask:#x}ull : 0;" for source, k, mask in sums)]


def _bit(source: str, k: int) -> str:
    return f"{source} >> {k} & 1" if k else f"{source} & 1"
