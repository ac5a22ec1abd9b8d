"""The structure of a circuit: what circuits that differ in numbers alone have in common, kept once.

Everything that is derived from it (its program, its plans) is looked up by the object's identity. So the instructions
of a circuit are hashed and compared once, when the circuit is made, and never again; and each is asked once for its
wires and random streams.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple
from weakref import WeakValueDictionary

from qsim_ex import thresholds
from qsim_ex.circuit.control import MARKERS, Record, Store
from qsim_ex.circuit.digest import digest_of
from qsim_ex.circuit.instruction import StateNode
from qsim_ex.circuit.ops import Channel, Conditional, Initialize, Instruction, Measure, Op, Permutation, Save, wires_of
from qsim_ex.native.library import function


class Structure:
    """A circuit without its numbers; made by `structure_of`, which returns one object for equal structures."""

    _before: int | None = None  # the hash of all but the measurements at the end, if it is known

    def __init__(self, num_qubits: int, num_clbits: int, instructions: tuple[Instruction, ...]) -> None:
        self.num_qubits = num_qubits
        self.num_clbits = num_clbits
        self.instructions = instructions
        self._last: dict[bool, bool] = {}  # whether all measurements can be moved to the end, by `observed`

    @cached_property
    def key(self) -> str:
        """A short digest that is the same in every process."""
        return digest_of((self.num_qubits, self.num_clbits, self.instructions), Op)

    @cached_property
    def kinds(self) -> frozenset[type]:
        """The classes of the instructions."""
        operations = function("structure_alike")(self.instructions, Op)
        return frozenset([*[Op][:operations], *map(type, self.instructions[operations:])])

    @cached_property
    def num_gates(self) -> int:
        """The number of operations and permutations."""
        return sum(isinstance(i, Op | Permutation) for i in self.instructions)

    @cached_property
    def distinct(self) -> tuple[Instruction, ...]:
        """The instructions, each object once: gates and channels that come again are one."""
        return tuple({id(one): one for one in self.instructions}.values())

    @cached_property
    def operations(self) -> tuple[Op, ...]:
        """The operations without a condition, each object once."""
        return tuple([one for one in self.distinct if type(one) is Op])

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """The channels, each object once."""
        return tuple([one for one in self.distinct if type(one) is Channel]) if self.is_noisy else ()

    @cached_property
    def acted(self) -> tuple[int, ...]:
        """The mask of the wires of each instruction."""
        return tuple(map(self._acted.__getitem__, map(id, self.instructions)))

    @cached_property
    def _acted(self) -> dict[int, int]:
        """The mask of the wires of each distinct instruction, by its identity."""
        return {id(one): one.acts_on for one in self.distinct}

    @cached_property
    def first_streams(self) -> tuple[int, ...]:
        """The first stream of random numbers of each instruction, and behind them the number of all streams."""
        return tuple(accumulate([0 if type(one) is Op else one.streams for one in self.instructions], initial=0))

    @cached_property
    def on_every_wire(self) -> bool:
        """Whether the state of all wires is set, or saved."""
        nodes = any(issubclass(kind, StateNode) for kind in self.kinds)
        return nodes and any(one.on_every_wire for one in self.distinct if isinstance(one, StateNode))

    @cached_property
    def measures(self) -> bool:
        """Whether there is a measurement, even of no wires, or a store into classical bits."""
        return Measure in self.kinds or (Store in self.kinds and any(one.written_bits for one in self.distinct))

    @cached_property
    def unwritten_bits(self) -> frozenset[int]:
        """The classical bits that no measurement and no store writes, so that they are 0 and nothing reads them."""
        return frozenset(range(self.num_clbits)).difference(*[one.written_bits for one in self.distinct])

    @cached_property
    def reads_bits(self) -> bool:
        """Whether classical bits are read before the end; those of blocks and loops where they are measured."""
        return self.has_control_flow or any(one.read_bits or one.reads_every_bit for one in self.distinct)

    @property
    def is_noisy(self) -> bool:
        """Whether there is a channel."""
        return Channel in self.kinds

    @cached_property
    def saves(self) -> tuple[Save, ...]:
        """The saves, in order."""
        return tuple([one for one in self.instructions if isinstance(one, Save)]) if self.has_saves else ()

    @property
    def has_saves(self) -> bool:
        """Whether a value of the state is saved."""
        return Save in self.kinds

    @property
    def only_gates(self) -> bool:
        """Whether gates are all there is."""
        return self.kinds <= {Op, Permutation}

    @property
    def is_certain(self) -> bool:
        """Whether gates and initial states are all there is, so that nothing is random."""
        return self.kinds <= {Op, Permutation, Initialize}

    @cached_property
    def has_control_flow(self) -> bool:
        """Whether there are blocks, loops, variables or records; a gate under a condition on few bits needs none."""
        return not self.kinds.isdisjoint((*MARKERS, Store, Record))

    @cached_property
    def gates_end(self) -> int:
        """The place after the last instruction that is no measurement."""
        return _gates_end(self.instructions)

    @cached_property
    def gates_before(self) -> int:
        """How many gates the circuit begins with, if measurements and saves are all that follows; else 0."""
        if not self.kinds <= {Op, Permutation, Measure, Save}:
            return 0
        kinds = [*map(type, self.instructions[(begin := int(function("structure_alike")(self.instructions, Op))) :])]
        end = min(map(kinds.index, self.kinds & {Measure, Save}), default=len(kinds))
        return begin + end if {Op, Permutation}.isdisjoint(kinds[end:]) else 0

    @property
    def before_measurements(self) -> Structure:
        """What stands before the measurements at the end, as `straight_work` has it, but hashed with the whole."""
        work = self.instructions[: self.gates_end]
        known = {"kinds": self.kinds} if len(work) == len(self.instructions) else {}
        return _one(_Contents((0, 0, work), self._before), known)

    @cached_property
    def gate_wires(self) -> GateWires | None:
        """The wires of a circuit of operations with measurements at the end; None for another one, or a wide one."""
        end = self.gates_end
        if self.num_qubits > thresholds.now.native_wires or not self.kinds <= {Op, Measure}:
            return None
        if Measure in self.kinds and Measure in map(type, self.instructions[:end]):
            return None
        out = (ctypes.c_int64 * 3)()
        function("structure_wires")(self.instructions, end, self.num_qubits, ctypes.addressof(out))
        return GateWires(*out)

    def is_one_part(self, observed: bool) -> bool:
        """Whether surely no wire is idle, and all are simulated together; observed: see `divide.program_of`.

        So it is if the state of all wires is set or saved. Else gates and channels have to mix every wire and join all,
        and none may be reset. Of many wires none may be measured and then mixed, since live ranges then take turns.
        """
        if self.on_every_wire or not self.num_qubits:
            return True
        if (wires := self.gate_wires) is not None:
            return self.gates_end > 0 and wires.mixed == (1 << self.num_qubits) - 1 and wires.groups < 2
        if not self.joins_all:
            return False
        if self.num_qubits > thresholds.now.narrow and observed not in self._last:
            self._last[observed] = self._measures_last(observed)
        return self.num_qubits <= thresholds.now.narrow or self._last[observed]

    @cached_property
    def joins_all(self) -> bool:
        """Whether operations and channels without a condition mix every wire and join all, and none is reset.

        So no wire is idle at any time. An operation whose controls may never be 1 is not taken to mix anything.
        """
        if not self.kinds <= {Op, Permutation, Channel, Measure, Conditional, Save}:
            return False
        every = (1 << self.num_qubits) - 1
        if (wires := self.gate_wires) is not None and (wires.mixed != every or wires.groups > 1):
            return False
        work = [one for one in self.distinct if type(one) in (Op, Permutation, Channel)]
        if _largest_group(map(wires_of, {self._acted[id(one)] for one in work})) < self.num_qubits:
            return False
        return _mixed([(one.mixed_wires, one.when.value if type(one) is Op else 0) for one in work]) == every

    def _measures_last(self, observed: bool) -> bool:
        """Whether all measurements can surely be moved to the end; observed: see `divide.program_of`."""
        if Measure not in self.kinds:
            return True
        if not self.kinds <= {Op, Permutation, Channel, Measure}:
            return False
        measured = 0
        for one, acted in zip(self.instructions, self.acted, strict=True):
            if type(one) is Measure:
                measured |= acted
            elif measured and measured & (acted if observed else one.mixed_wires):
                return False
        return True

    def __reduce__(self) -> tuple[object, ...]:
        # Unpickling or copying returns the one object of the process.
        return structure_of, (self.num_qubits, self.num_clbits, self.instructions)


class GateWires(NamedTuple):
    """The wires of gates: masks of those that are mixed, and of those that are acted on; and how many groups they join.

    If all are joined, this is found without a look at further gates.
    """

    mixed: int
    touched: int
    groups: int


def _largest_group(joined: Iterable[tuple[int, ...]]) -> int:
    """Return the number of wires in the largest group; the wires of each tuple are in one, all of which are merged."""
    group_of: dict[int, list[int]] = {}
    for wires in joined:
        groups = {id(group): group for group in [group_of.setdefault(wire, [wire]) for wire in wires]}
        largest = max(groups.values(), key=len, default=[])
        for group in groups.values():
            if group is not largest:  # so a wire changes its group at most log2(wires) times
                largest += group
                group_of.update(dict.fromkeys(group, largest))
    return max(map(len, group_of.values()), default=0)


def _mixed(work: list[tuple[int, int]]) -> int:
    """Return the mask of wires that are surely mixed; work: what operations mix if all of some controls are mixed."""
    mixed = 0
    waiting: dict[int, list[tuple[int, int]]] = {}  # by one of the controls that are not mixed yet
    while work:
        mixes, controls = work.pop()
        if left := controls & ~mixed:
            waiting.setdefault(left & -left, []).append((mixes, controls))
        elif new := mixes & ~mixed:
            mixed |= new
            for wire in wires_of(new):
                work += waiting.pop(1 << wire, ())
    return mixed


def _gates_end(instructions: tuple[Instruction, ...]) -> int:
    end = len(instructions)
    while end and type(instructions[end - 1]) is Measure:
        end -= 1
    return end


class _Contents:
    """The parts of a structure as a key that is hashed once; before: as in `Structure`."""

    __slots__ = ("_hash", "before", "parts")

    def __init__(self, parts: tuple[int, int, tuple[Instruction, ...]], before: int | None = None) -> None:
        self.parts, instructions = parts, parts[2]
        end = _gates_end(instructions)
        self.before = int(function("structure_hash")(instructions, end)) if before is None else before
        self._hash = hash((parts[:2], self.before, instructions[end:]))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Contents) and self.parts == other.parts


_known: WeakValueDictionary[_Contents, Structure] = WeakValueDictionary()


def structure_of(num_qubits: int, num_clbits: int, instructions: tuple[Instruction, ...]) -> Structure:
    """Return the structure of a circuit: the same object as long as an equal one is referenced."""
    return _one(_Contents((num_qubits, num_clbits, instructions)), {})


def _one(key: _Contents, known: dict[str, frozenset[type]]) -> Structure:
    """Return the structure of some contents; known: values of its properties."""
    if (found := _known.get(key)) is None:
        found = Structure(*key.parts)
        found.__dict__.update(known, _before=key.before)
        found = _known.setdefault(key, found)
    return found


def straight_work(instructions: Iterable[Instruction]) -> Structure:
    """Return the structure of straight-line work, which is the same object on however many wires it is done."""
    return structure_of(0, 0, tuple(instructions))
