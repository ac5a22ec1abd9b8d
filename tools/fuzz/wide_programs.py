"""Draws wide programs: a few wires in parts that interleave, among many wires that are idle or only read.

Parts that classical bits may link are an island, and islands stay small, so that their oracles do. The names of what
is drawn here are the engine's, but no code is shared with what separates circuits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from tools.fuzz.case import BIT, WIRE, Line
from tools.fuzz.options import NARROW
from tools.fuzz.programs import Draw

ISLAND = 5
"""The most wires of an island at a time."""


class PartDraw(Draw):
    """A source of lines on the wires of one part, and on idle wires where a line only reads them.

    pool: the wires of the part. own: the classical bits of its island. idle: wires that no line mixes. touched: shared
    by all parts.
    """

    def __init__(
        self, random: Random, pool: Sequence[int], own: Sequence[int], idle: list[int], touched: set[int]
    ) -> None:
        from qsim_ex.circuit.gates import GATES

        super().__init__(random, len(pool), len(own))
        self.rows = list(GATES.values())
        self.pool, self.own, self.idle = list(pool), list(own), idle
        self.touched = touched

    def give(self, wire: int) -> None:
        """Take a wire out of the part."""
        self.pool.remove(wire)
        self.wires = len(self.pool)

    def take(self, wire: int) -> None:
        """Add a wire to the part."""
        self.pool.append(wire)
        self.wires = len(self.pool)

    def some(self, count: int, without: Sequence[int] = ()) -> list[int]:
        """Different wires of the part, in any order."""
        return self.random.sample([wire for wire in self.pool if wire not in without], count)

    def read(self, count: int, without: Sequence[int] = ()) -> list[int]:
        """Different wires for a line that only reads them: of the part, or idle ones."""
        near = [wire for wire in self.pool if wire not in without]
        self.random.shuffle(near)
        others = [wire for wire in self.idle if wire not in without]
        far = self.random.sample(others, min(count, len(others)))
        found: list[int] = []
        for _ in range(count):
            from_afar = far and (not near or self.random.random() < 0.4)
            found += [(far if from_afar else near).pop()] if far or near else []
        return found

    def into(self, clbits: Sequence[int]) -> str:
        """A list of the island's classical bits."""
        return super().into([self.own[bit] for bit in clbits])

    def controls(self, wires: Sequence[int], chance: float = 0.3) -> str:
        """Controls of the part or idle ones; idle ones mostly at 0, where they change nothing."""
        if self.random.random() > chance:
            return ""
        chosen = self.read(self.random.randint(1, 3), wires)
        if not chosen:
            return ""
        one = [self.random.random() < (0.2 if wire in self.idle else 0.6) for wire in chosen]
        values = sum(held << k for k, held in enumerate(one))
        return f", controls={self.on(chosen)}, control_values={values}"

    def row(self) -> str:
        """A gate of the table, whose arguments that it does not mix may be idle."""
        row = self.random.choice([row for row in self.rows if len(row.mixes) <= self.wires])
        mixed = self.some(len(row.mixes))
        others = self.read(row.qubits - len(mixed), mixed)
        if len(mixed) + len(others) < row.qubits:
            return self.rotation()
        place = dict(zip(row.mixes, mixed, strict=True))
        wires = [place[k] if k in place else others.pop() for k in range(row.qubits)]
        parameters = "".join(f", {self.angle(name)}" for name in row.parameters)
        return f"b.gate({row.name!r}, {self.on(wires)}{parameters}{self.controls(wires)})"

    def diagonal(self) -> str:
        """A diagonal matrix on wires of the part and idle ones."""
        wires = self.read(self.random.randint(1, 3))
        return f"b.diagonal(phases({len(wires)}, {self.seed()}), {self.on(wires)}{self.controls(wires)})"

    def multiplexer(self) -> str:
        """Matrices chosen by selectors, which may be idle."""
        wires = self.some(1)
        selectors = self.read(self.random.randint(1, 2), wires)
        if not selectors:
            return self.row()
        matrices = f"several({len(selectors)}, 1, {self.seed()})"
        return f"b.multiplexer({matrices}, {self.on(selectors)}, {self.on(wires)}{self.controls(wires + selectors)})"

    def rotation(self) -> str:
        """A Pauli rotation, with Z on idle wires."""
        wires = self.some(self.random.randint(1, self.wires))
        letters = "".join(self.random.choice("IXYZ") for _ in wires)
        idle = self.random.sample(self.idle, min(len(self.idle), self.random.choice([0, 0, 1, 2])))
        on = self.on(wires + idle)
        return f"b.pauli_rotation({self.angle()}, {letters + 'Z' * len(idle)!r}, {on})"

    def preparation(self) -> str | None:
        """A state on wires of the part that nothing has named so far, or that were reset."""
        free = [wire for wire in self.pool if wire not in self.touched]
        if not free:
            return None
        wires = self.random.sample(free, self.random.randint(1, min(3, len(free))))
        return f"b.initialize(vector({len(wires)}, {self.seed()}), {self.on(wires)})"

    def reset(self) -> str:
        """A reset of a wire or two, which may be prepared again."""
        wires = self.some(self.random.randint(1, min(2, self.wires)))
        text = f"b.reset({self.on(wires)})"
        self.touched.difference_update(wires)
        return text


@dataclass(eq=False, slots=True)
class Island:
    """Parts that read classical bits of each other.

    twins: for each copy of the island on other wires, its wires and bits by those of the island.
    """

    parts: list[PartDraw]
    twins: list[tuple[Mapping[int, int], Mapping[int, int]]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The number of its wires."""
        return sum(part.wires for part in self.parts)

    def lines(self, line: Line) -> list[Line]:
        """A line of the island, and the same on each of its copies."""
        return [line, *(line.renumbered(WIRE, "q", wires).renumbered(BIT, "c", bits) for wires, bits in self.twins)]


class WideDraw:
    """Draws one wide program.

    wires, bits: how many. values: how many numbers of a binding the lines name. idle: the wires that no line mixes.
    dynamic: whether every second line measures, or depends on what was measured.
    """

    def __init__(self, random: Random, *, bound: bool) -> None:
        self.random = random
        self.wires = random.randint(8, NARROW) if random.random() < 0.45 else random.randint(NARROW + 1, 150)
        self.bits = 0
        self.idle = list(range(self.wires))
        random.shuffle(self.idle)
        self.touched: set[int] = set()
        self.dynamic = random.random() < 0.4
        self.islands: list[Island] = []
        most = random.choice([1, 2, 2, 3]) if self.wires <= NARROW else random.choice([1, 2, 3, 4, 6, 10])
        while len(self.islands) < most and len(self.idle) > 2:
            self._island()
        for part in self._parts():
            part.bound = bound

    @property
    def values(self) -> int:
        """The number of numbers of a binding that the lines name."""
        return max(part.values for part in self._parts())

    def lines(self, *, noisy: bool, chance: bool, measured: bool) -> list[Line]:
        """The program: lines of all islands in turn, then perhaps measurements."""
        random, found = self.random, list[Line]()
        for _ in range(random.randint(2, 8 * len(self.islands))):
            island = random.choice(self.islands)
            if random.random() < 0.1:
                found.append(Line(self._of_idle_wires(chance=chance)))
            elif chance and random.random() < 0.12:
                found += self._move(island)
            else:
                found += island.lines(self._line(random.choice(island.parts), noisy=noisy, chance=chance))
        if chance and random.random() < 0.3:  # a bit that another island may have written
            found.append(
                Line(f"b.measure({_on([random.choice(self.live())])}, {_into([random.randrange(self.bits)])})")
            )
        return found + self._measured() if measured else found

    # --- pieces -------------------------------------------------------------------------------------------------------

    def _measured(self) -> list[Line]:
        """Measurements of most wires that lines mix, and of a few others."""
        random = self.random
        count = random.randint(1, self.wires) if random.random() < 0.2 else self.wires
        chosen = [wire for wire in self.live() if random.random() < 0.9]
        chosen += random.sample(self.idle, min(len(self.idle), random.randint(0, 3)))
        chosen = random.sample(chosen, min(count, len(chosen))) or [0]
        self.bits += len(chosen)
        clbits = random.sample(range(self.bits), len(chosen))
        return [
            Line(f"b.measure({_on(chosen[at : at + 8])}, {_into(clbits[at : at + 8])})")
            for at in range(0, len(chosen), 8)
        ]

    def _parts(self) -> list[PartDraw]:
        return [part for island in self.islands for part in island.parts]

    def live(self) -> list[int]:
        """All wires that some line may mix."""
        twins = [wire for island in self.islands for wires, _ in island.twins for wire in wires.values()]
        return [wire for part in self._parts() for wire in part.pool] + twins

    def _new_bits(self, count: int) -> list[int]:
        self.bits += count
        return list(range(self.bits - count, self.bits))

    def _island(self) -> None:
        random, own = self.random, self._new_bits(self.random.randint(1, 2))
        parts, left = [], min(ISLAND, len(self.idle) - 2)
        for _ in range(random.choice([1, 1, 1, 2, 3])):
            size = min(random.choice([1, 2, 2, 3, 4]), left)
            if size:
                pool = [self.idle.pop() for _ in range(size)]
                parts.append(PartDraw(random, pool, own, self.idle, self.touched))
            left -= size
        self.islands.append(island := Island(parts))
        if self.wires > NARROW and random.random() < 0.3:
            wires = sorted(wire for part in parts for wire in part.pool)
            for _ in range(random.choice([1, 2, 5, 9])):
                if len(self.idle) < len(wires) + 2:
                    return
                others = sorted(self.idle.pop() for _ in wires)
                named = dict(zip(wires, others, strict=True))
                bits = dict(zip(own, self._new_bits(len(own)), strict=True))
                island.twins.append((_Else(named), bits))

    def _line(self, part: PartDraw, *, noisy: bool, chance: bool) -> Line:
        measuring = [3, 3, 0.8, 3] if self.dynamic else [6, 1.5, 0.8, 1.5]
        weights = measuring if chance else [1, 0, 0, 0]
        match self.random.choices(range(5), [*weights, 1.5 if noisy else 0])[0]:
            case 0:
                prepared = part.preparation() if not part.bound and self.random.random() < 0.1 else None
                return Line(prepared or part.unitary_line())
            case 1:
                return Line(part.measurement())
            case 2:
                return Line(part.reset())
            case 3:
                return part.conditional()
            case _:
                return Line(part.channel())

    def _move(self, island: Island) -> list[Line]:
        """A reset, after which the wire belongs to another part, or to none; or a new wire of a part."""
        random = self.random
        free = [one for one in self.islands if not one.twins]
        part = random.choice(island.parts)
        takers = [other for one in free if one.size < ISLAND for other in one.parts if other is not part]
        taker = random.choice(takers) if takers else None
        if island.twins or part.wires < 2:
            if taker is not None and len(self.idle) > 2:
                taker.take(self.idle.pop())
            return []
        wire = random.choice(part.pool)
        part.give(wire)
        if taker is None:
            self.idle.append(wire)
        else:
            taker.take(wire)
        self.touched.discard(wire)
        return [Line(f"b.reset({_on([wire])})")]

    def _of_idle_wires(self, *, chance: bool) -> str:
        """A line on idle wires alone, which changes no wire."""
        random = self.random
        one, other = random.sample(self.idle, 2)
        lines = [
            f"b.gate('cx', {_on([one, other])})",
            f"b.gate('rzz', {_on([one, other])}, 0.7)",
            f"b.gate('h', {_on([one])}, controls={_on([other])})",
            f"b.gate('t', {_on([one])})",
        ]
        if chance:
            lines += [f"b.reset({_on([one])})"] * 2
            lines += [f"b.measure({_on([one])}, {_into([random.randrange(self.bits)])})"] * 3
        return random.choice(lines)


class _Else(dict[int, int]):
    """Numbers of wires, in which those that are missing keep theirs."""

    def __missing__(self, wire: int) -> int:
        return wire


def _on(wires: Sequence[int]) -> str:
    return "[" + ", ".join(f"q[{wire}]" for wire in wires) + "]"


def _into(clbits: Sequence[int]) -> str:
    return "[" + ", ".join(f"c[{bit}]" for bit in clbits) + "]"
