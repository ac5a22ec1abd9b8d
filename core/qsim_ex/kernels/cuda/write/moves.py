"""The lines that bring amplitudes into a thread's registers and take them out: from and to memory, and the tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qsim_ex.kernels.cuda.write.body import BlockText
from qsim_ex.kernels.cuda.write.memory_map import MemoryMap
from qsim_ex.kernels.cuda.write.register_layout import RegisterLayout
from qsim_ex.kernels.cuda.write.slots import TileSlots
from qsim_ex.kernels.cuda.write.words import selection
from qsim_ex.steps.algebra import Map
from qsim_ex.steps.step import Sweep


@dataclass(frozen=True)
class Moves:
    """The lines that load a thread's amplitudes into its registers and store them.

    live: whether there are threads without amplitudes, for which `live` is false.
    read, written: the maps by which the sweep is loaded and stored.
    parts: what a register holds of each state, as the end of its name, with the name of that state's memory.
    dropped: mask of bits of the tile at whose 1 nothing is stored.
    beside: zeros are stored at all sums of these from an amplitude; see `steps.unmixed`.
    """

    sweep: Sweep
    block: BlockText
    slots: TileSlots
    live: bool
    read: MemoryMap
    written: MemoryMap
    parts: Sequence[tuple[str, str]] = (("", "state"),)
    dropped: int = 0
    beside: Map = ()

    @property
    def place(self) -> RegisterLayout:
        """Where the tile's positions are while the register block runs."""
        return self.block.place

    @property
    def moved(self) -> bool:
        """Whether amplitudes are stored elsewhere than where items see them."""
        return bool(self.sweep.store) or not self.written.stays

    def load(self) -> list[str]:
        """Return the loads; amplitudes at which a fresh bit is 1 are zero, whatever memory holds."""
        start = f"{'here' if self.read.stays else 'origin'} {self.read.joined} {{:#x}}"
        amplitude = f"{{}}[{start}]"
        lines, source = [], amplitude
        threads = sum(self.sweep.fresh >> self.sweep.tile[p] & 1 and 1 << k for k, p in enumerate(self.place.threads))
        lines += self._flipped("origin", self.block.first, self._steps(self.read))
        if self.sweep.fresh or self.live:
            lines.append("const amp zero = {0, 0};")
        conditions = [*(["live"] if self.live else []), *([f"!(t & {threads:#x})"] if threads else [])]
        if conditions:
            lines.append(f"const bool old = {' && '.join(conditions)};")
            source = f"old ? {amplitude} : zero"
        seen = [self.sweep.tile[position] for position in self.place.registers]
        zeros = sum(1 << k for k, bit in enumerate(seen) if self.sweep.fresh >> bit & 1)
        for r, offset in enumerate(self.read.registers(self.place.registers)):
            for part, memory in self.parts:
                lines.append(f"a{r}{part} = {'zero' if r & zeros else source.format(memory, offset)};")
        return lines

    def store(self, names: list[int]) -> list[str]:
        """Return the stores; names: the variable of each register's amplitude."""
        start = f"{'there' if self.moved else 'here'} {self.written.joined} {{:#x}}"
        to = f"{{}}[{start}] = a{{}}{{}};"
        lines = self._flipped("there", self.block.last, self._steps(self.written))
        if self.beside:
            return lines + self._stored_beside(names)
        moved = [*self.block.last, *[0] * len(self.place.registers)]
        lost = [self.dropped >> self.sweep.tile[p] & 1 for p in self.place.registers]
        kept = sum(1 << k for k, one in enumerate(lost) if one and not moved[k])
        threads = sum(1 << k for k, p in enumerate(self.place.threads) if self.dropped >> self.sweep.tile[p] & 1)
        for part, memory in self.parts:
            lines += [
                to.format(memory, at, names[r], part)
                for r, at in enumerate(self.written.registers(self.place.registers))
                if not r & kept
            ]
        conditions = [*(["live"] if self.live else []), *([f"!(t & {threads:#x})"] if threads else [])]
        return [f"if ({' && '.join(conditions)}) {{", *[f"    {line}" for line in lines], "}"] if conditions else lines

    def _stored_beside(self, names: list[int]) -> list[str]:
        """Return the stores of all amplitudes with zeros beside them, as pairs where these are neighbours in memory."""
        start, sums = "there" if self.moved else "here", [0]
        pair = self.slots.precision.storage.cuda.stored_pair
        for column in self.beside:
            sums += [place ^ column for place in sums]
        places = [*zip(names, self.written.registers(self.place.registers), strict=True)]
        if pair is None or 1 not in sums:
            stores = [(at ^ more, f"a{name}" if not more else "none") for name, at in places for more in sums]
            return ["const amp none = {0, 0};", *(f"state[{start} ^ {at:#x}] = {what};" for at, what in stores)]
        lines = [f"{pair}* const pairs = ({pair}*)state;", f"const u64 odd = {start} & 1, both = {start} >> 1;"]
        for name, at in places:
            halves = [
                f"{test} ? a{name}.{part} : 0" for test in ("!odd", "odd")[:: -1 if at & 1 else 1] for part in "xy"
            ]
            stores = [(at ^ more, ", ".join(halves) if more < 2 else "0, 0, 0, 0") for more in sums if not more & 1]
            lines += [f"pairs[both ^ {at >> 1:#x}] = {{{what}}};" for at, what in stores]
        return lines

    def fetch(self) -> list[str]:
        """Return the lines that take amplitudes from the tile in shared memory."""
        slots = self.slots.registers(self.place)
        if not any(self.block.first):
            return [f"a{r} = {self.slots.at('w', slot)};" for r, slot in enumerate(slots)]
        flipped = self._flipped("from", self.block.first, self._hops(slots))
        return [
            "unsigned from = w;",
            *flipped,
            *(f"a{r} = {self.slots.at('from', slot)};" for r, slot in enumerate(slots)),
        ]

    def begun(self, name: str) -> list[str]:
        """Return statements that define from which slot on a thread takes its amplitudes."""
        flipped = self._flipped(name, self.block.first, self._hops(self.slots.registers(self.place)))
        return [f"unsigned {name} = w;", *flipped]

    def fetched(self, name: str, part: str) -> list[str]:
        """Return the lines that take a part of what registers hold, from a slot on."""
        slots = self.slots.registers(self.place)
        return [f"a{r}{part} = {self.slots.at(name, slot)};" for r, slot in enumerate(slots)]

    def put(self, names: list[int]) -> list[str]:
        """Return the lines that put amplitudes into the tile; names: as in `store`."""
        slots = self.slots.registers(self.place)
        if not any(self.block.last):
            return [f"{self.slots.at('w', slot)} = a{names[r]};" for r, slot in enumerate(slots)]
        flipped = self._flipped("to", self.block.last, self._hops(slots))
        return [
            "unsigned to = w;",
            *flipped,
            *(f"{self.slots.at('to', slot)} = a{names[r]};" for r, slot in enumerate(slots)),
        ]

    def ended(self, name: str) -> list[str]:
        """Return statements that move a slot to where a thread leaves its amplitudes."""
        return self._flipped(name, self.block.last, self._hops(self.slots.registers(self.place)))

    def left(self, name: str, names: list[int], part: str) -> list[str]:
        """Return the lines that put a part of what registers hold, from a slot on; names: as in `store`."""
        slots = self.slots.registers(self.place)
        return [f"{self.slots.at(name, slot)} = a{names[r]}{part};" for r, slot in enumerate(slots)]

    def _hops(self, slots: Sequence[int]) -> list[int]:
        return [slots[1 << k] for k in range(len(self.place.registers))]

    def _steps(self, memory: MemoryMap) -> list[int]:
        return [memory.columns[position] for position in self.place.registers]

    def _flipped(self, name: str, parities: Sequence[int], steps: Sequence[int]) -> list[str]:
        """Return statements that move a thread's place by a step for each register bit whose parity is odd."""
        pairs = zip(parities, steps, strict=False)  # a register block without a frame has no parities
        return [f"{name} ^= {selection((parity,))} ? {step:#x} : 0;" for parity, step in pairs if parity]
