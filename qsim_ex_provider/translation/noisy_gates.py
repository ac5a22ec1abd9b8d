"""Standard gates of a circuit and the noise around them, many at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from qsim_ex import CircuitBuilder
from qsim_ex.frameworks import Instruction, Noise, add_error
from qsim_ex_provider.translation.columns import Columns, Row
from qsim_ex_provider.translation.place import Wires

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
        number: Callable[[Any], Any] | None,
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
        for key, place in dict(zip(reversed(keys), range(end - 1, begin - 1, -1), strict=True)).items():
            if key not in known:
                yield place
                known[key] = self._surrounded(*key)
        numbered = [k for k, row in enumerate(rows) if row is not None and row[1]]
        if not numbered:
            builder.again(chain.from_iterable([known[key][0] for key in keys]))
            return
        found = [known[key][0] for key in keys]
        for k, gate in self._numbered(begin, numbered):
            found[k] += (*gate, *known[keys[k]][1])
        builder.again(chain.from_iterable(found))

    def _surrounded(self, row: Row | None, name: str, on: Wires) -> _Repeated:
        """Return the noise around a gate: with the gate, unless it has parameters."""
        builder, noise = self._builder, self._noise
        begin, (before, after) = builder.num_instructions, (noise.before(name, on), noise.after(name, on))
        if before is not None:
            add_error(builder, before, name, on)
        first: tuple[Instruction, ...] = ()
        if row is not None and row[1]:
            first = builder.taken(begin)
        elif row is not None:
            builder.gate(row[0], on)
        if after is not None:
            add_error(builder, after, name, on)
        last = builder.taken(begin)
        if row is not None or last:  # noise may leave its wires in any state
            self._used.update(on)
        return (first, last) if row is not None and row[1] else (last, ())

    def _numbered(self, begin: int, gates: Sequence[int]) -> Iterator[tuple[int, Sequence[Instruction]]]:
        """Yield the instructions of gates with parameters, given by their places after `begin`; row by row."""
        builder, columns = self._builder, self._columns
        of: dict[str, list[int]] = {}
        for k in gates:
            of.setdefault(columns.rows[begin + k][0], []).append(k)  # type: ignore[index]  # these have rows
        for row, mine in of.items():
            places = [begin + k for k in mine]
            given = [columns.parameters[place] for place in places]
            if self._number is not None:
                given = [list(map(self._number, one)) for one in given]
            first = builder.num_instructions
            builder.gates([row] * len(mine), [columns.wires[place] for place in places], given)
            made = builder.taken(first)
            each = len(made) // len(mine)
            yield from ((k, made[each * i : each * (i + 1)]) for i, k in enumerate(mine))
