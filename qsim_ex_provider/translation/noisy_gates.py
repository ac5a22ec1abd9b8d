"""Standard gates of a circuit and the noise around them, many at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from qsim_ex import CircuitBuilder
from qsim_ex.frameworks import Instruction, Noise, add_error
from qsim_ex_provider.translation.place import Row, ToNumber, Wires

if TYPE_CHECKING:
    from qsim_ex_provider.translation.walk import Columns

_Key = tuple[Row | None, str, Wires]
"""A gate and its noise: its row, None for an identity; its label or name; and its wires."""

_Repeated = tuple[tuple[Instruction, ...], tuple[Instruction, ...]]
"""The instructions before a gate with parameters and those after it; of a gate without any, all of them."""


class NoisyGates:
    """Appends gates of one circuit with their noise; what comes again is appended as it was the first time.

    used: takes in the wires that are no longer known to be |0>. number: makes what the builder takes of a parameter;
    None if parameters are taken as they are.
    """

    def __init__(
        self,
        builder: CircuitBuilder,
        used: set[int],
        number: ToNumber | None,
        columns: Columns,
        noise: Noise,
    ) -> None:
        self._builder = builder
        self._used = used
        self._number = number
        self._columns = columns
        self._noise = noise
        self._known: dict[_Key, _Repeated] = {}

    def identities(self) -> set[int]:
        """Return the places of Qiskit's identity gates."""
        names, instructions = self._columns.names, self._columns.instructions
        return {
            place for place in self._columns.others if names[place] == "id" and instructions[place].is_standard_gate()
        }

    def append(self, begin: int, end: int) -> Iterator[int]:
        """Append standard gates and identities that follow one another; yield the place of each one that is new."""
        columns, builder, known = self._columns, self._builder, self._known
        rows, names, labels = columns.rows[begin:end], columns.names[begin:end], columns.labels[begin:end]
        if any(labels):
            names = [label or name for label, name in zip(labels, names, strict=True)]
        keys: list[_Key] = list(zip(rows, names, columns.wires[begin:end], strict=True))
        first = dict(zip(reversed(keys), range(end - 1, begin - 1, -1), strict=True))
        new = {key: place for key, place in first.items() if key not in known}
        if new:
            yield from self._learnt(new)
        found = [known[key][0] for key in keys]
        numbered = [begin + k for k, row in enumerate(rows) if row is not None and row[1]]
        for place, gate in self._gates(numbered) if numbered else ():
            found[place - begin] += (*gate, *known[keys[place - begin]][1])
        builder.again(chain.from_iterable(found))

    def _learnt(self, new: Mapping[_Key, int]) -> Iterator[int]:
        """Make gates and their noise for the first time, and yield the place of each."""
        builder, begin = self._builder, self._builder.num_instructions
        counts = []
        for key, place in new.items():
            yield place
            counts.append(self._channels(*key))
        channels = iter(builder.taken(begin))
        gates = dict(self._gates([place for (row, _, _), place in new.items() if row is not None and not row[1]]))
        for (key, place), (before, after) in zip(new.items(), counts, strict=True):
            first, last = tuple(islice(channels, before)), tuple(islice(channels, after))
            row, _, on = key
            numbered = row is not None and row[1]
            self._known[key] = (first, last) if numbered else ((*first, *gates.get(place, ()), *last), ())
            if row is not None or first or last:  # noise may leave its wires in any state
                self._used.update(on)

    def _channels(self, _: Row | None, name: str, on: Wires) -> tuple[int, int]:
        """Append the noise before a gate and after it, and return how many instructions each takes."""
        before, after = self._noise.before(name, on), self._noise.after(name, on)
        return (
            0 if before is None else add_error(self._builder, before, name, on),
            0 if after is None else add_error(self._builder, after, name, on),
        )

    def _gates(self, places: Sequence[int]) -> Iterator[tuple[int, Sequence[Instruction]]]:
        """Yield the instructions of gates, given by their places; row by row."""
        builder, columns = self._builder, self._columns
        of: dict[str, list[int]] = {}
        for place in places:
            of.setdefault(columns.rows[place][0], []).append(place)  # type: ignore[index]  # these have rows
        for row, mine in of.items():
            given = [columns.parameters[place] for place in mine]
            if self._number is not None:
                given = [list(map(self._number, one)) for one in given]
            first = builder.num_instructions
            builder.gates([row] * len(mine), [columns.wires[place] for place in mine], given)
            made = builder.taken(first)
            each = len(made) // len(mine)
            yield from ((place, made[each * i : each * (i + 1)]) for i, place in enumerate(mine))
