"""Planning the rest of a plan anew, for a state that is divided otherwise: a plan's steps become instructions again.

A run that has stopped in the middle of a plan can so continue on another number of processes or devices. Instructions
are written on the index bits of the state as it was stopped: wire k is index bit k. So nothing of what came before has
to be known, and `make_plan` plans them as it plans any others. A matrix in them may be one that is not unitary, since
steps do not say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import ONE_AT, ZERO_AT
from qsim_ex.circuit.ops import ALWAYS, Entry, Initialize, Op, Pattern, Permutation, Unitary, When, mask_of, wires_of
from qsim_ex.circuit.ops import pattern as read
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.cut import cut
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps.algebra import Map, as_additions, inverse
from qsim_ex.steps.layout import Layout, Levels, Shape
from qsim_ex.steps.plan import Exchange, Migration, Motion, Plan
from qsim_ex.steps.step import (
    NUMBERED,
    BasisPermutation,
    DenseMatrix,
    Diagonal,
    InitialAmplitudes,
    Item,
    Mix,
    Permute,
    Step,
    Sweep,
    ZeroFill,
)

Places = NDArray[np.int64]

_NUMBERED = frozenset(int(entry) for entry in NUMBERED)
_X, _X_ENTRIES = read("0110"), (ZERO_AT, ONE_AT, ONE_AT, ZERO_AT)
"""Every circuit of what is left begins with the operands of an X, of which the first two are those of any circuit."""


@lru_cache(maxsize=16)
def resumed(plan: Plan, parts: int, levels: Levels | None, shape: Shape) -> Plan:
    """Return a plan for what is left after some parts of a plan (`cut`), for a state that is divided by other levels.

    levels: None for a state in one piece. The new plan begins where the parts end, in the same layout, and ends in a
    layout of its own. Its operands are `operands_of` the old plan.
    """
    num_wires, every = plan.num_wires, cut(plan)
    start, fresh = (plan.start, every[parts].fresh) if parts < len(every) else (plan.end, plan.left)
    rest = _Rest(plan)
    for number, part in enumerate(every):
        rest.add(part, done=number < parts)
    made = make_plan(tuple(rest.instructions), num_wires, Layout.identity(num_wires), shape, fresh, levels)
    return replace(
        made,
        start=start,
        end=rest.end(made.end),
        num_gates=plan.num_gates,
        made_from=(plan.made_from, "after", parts, made.levels),
    )


def operands_of(plan: Plan, operands: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return the operands [1, total] of what is left of a plan that is bound to some operands."""
    numbers = np.append(bind(plan, operands).buffer, -1.0).astype(np.complex128)
    return numbers[None, _entries(plan).places]


class _PackedEntries(NamedTuple):
    """The operands of the instructions that all steps of a plan become.

    places: for each operand, its place in the plan's coefficient buffer, behind which the number −1 stands.
    begins: for each step the first operand of each of its items, or of the step if it is no sweep.
    """

    places: Places
    begins: tuple[tuple[int, ...], ...]


@lru_cache(maxsize=16)
def _entries(plan: Plan) -> _PackedEntries:
    found, begins = [np.array(_X_ENTRIES, dtype=np.int64)], []
    size, minus = len(_X_ENTRIES), plan.coefficients.size()
    for step, places in zip(plan.steps, plan.coefficients.packed, strict=True):
        each = []
        for item in _items(step):
            each.append(size)
            found.append(_entries_of(item, places, minus))
            size += len(found[-1])
        begins.append(tuple(each))
    return _PackedEntries(np.concatenate(found), tuple(begins))


def _items(step: Step) -> Sequence[Item | Step]:
    return [item for block in step.register_blocks for item in block.items] if isinstance(step, Sweep) else [step]


def _entries_of(item: Item | Step, places: Places, minus: int) -> Places:
    """Return the places of all entries of an item's matrix; `places` are those of its step's numbers."""
    match item:
        case Mix(_, reads, _, of, slot) | Diagonal(reads, _, of, slot):
            numbered = places[slot.at : slot.at + slot.count]
            if reads:  # a table has all entries
                return numbered
            known = {int(Entry.ZERO): ZERO_AT, int(Entry.ONE): ONE_AT, int(Entry.MINUS_ONE): minus}
            left = iter(numbered.tolist())
            return np.array([next(left) if entry in _NUMBERED else known[entry] for entry in of], dtype=np.int64)
        case Permute(_, when, to) if when.mask:
            return np.where(np.frombuffer(_matrix_of(to), dtype=np.uint8) == Entry.ONE, ONE_AT, ZERO_AT)
        case DenseMatrix() | InitialAmplitudes():
            return places
        case _:
            return places[:0]


def _matrix_of(to: Sequence[int]) -> Pattern:
    """Return the pattern of the matrix that moves the amplitude at each value x to ``to[x]``."""
    entries = np.full((len(to), len(to)), Entry.ZERO, dtype=np.uint8)
    entries[list(to), range(len(to))] = Entry.ONE
    return entries.tobytes()


class _Rest:
    """The steps of a plan's parts as instructions on the index bits of the state before them.

    at: the bit on each position. home: the index bit at rest of each position; in a migrated state an exchange changes
    it, since a pass writes amplitudes back to where they came from.
    """

    def __init__(self, plan: Plan) -> None:
        self.instructions: list[Unitary] = []
        self._plan = plan
        self._begins = iter(_entries(plan).begins)
        self._at = list(range(plan.num_wires))
        self._home = list(self._at)
        self._migrated = plan.levels.local + plan.levels.peers < plan.num_wires

    def add(self, part: Plan, *, done: bool) -> None:
        """Add one part, or pass by one that is done; the parts come in their order."""
        for stage in part.stages:
            if not done:
                self._move(stage.motion)
            for step in stage.steps:
                begins = next(self._begins)
                if not done:
                    self._add(step, begins)

    def end(self, made: Layout) -> Layout:
        """Return the layout at the end of the plan, if `made` is that of the bits of the state before its parts."""
        end, rest = self._plan.end, self._at_rest()
        flips = tuple(made.address[rest[bit]] for bit in wires_of(end.flip))
        return Layout(tuple(made.address[rest[bit]] for bit in end.address), mask_of(flips) ^ made.flip)

    def _add(self, step: Step, begins: Sequence[int]) -> None:
        linear = isinstance(step, Sweep) and _is_linear(step)
        if isinstance(step, Sweep) and linear:
            self._map(inverse(step.loads(range(self._plan.num_wires))))
        for item, begin in zip(_items(step), begins, strict=True):
            self.instructions.extend(self._as_instructions(item, begin))
        if isinstance(step, Sweep) and linear:
            self._map(step.stores(range(self._plan.num_wires)))
        elif isinstance(step, Sweep):
            before = list(self._at)
            for bit, to in zip(step.tile, step.stored, strict=True):
                self._at[to] = before[bit]

    def _as_instructions(self, item: Item | Step, begin: int) -> Iterator[Unitary]:
        """Return the instructions of an item, or of a step that is no sweep. begin: its first operand."""
        match item:
            case Mix(bits, reads, when, of, _, label):
                yield Op(self._bits(bits), self._masks(reads), self._when(when), of, begin, label, unitary=False)
            case Diagonal(reads, when, of, _, label):
                yield Op((), self._masks(reads), self._when(when), of, begin, label)
            case Permute(bits, when, to, label) if when.mask:
                yield Op(self._bits(bits), (), self._when(when), _matrix_of(to), begin, label)
            case Permute(bits, _, to) | BasisPermutation(bits, to):
                yield Permutation(self._bits(bits), to)
            case DenseMatrix(bits, reads, when, label):
                of = bytes([Entry.COMPLEX]) * (1 << 2 * len(bits) + len(reads))
                yield Op(self._bits(bits), self._masks(reads), self._when(when), of, begin, label, unitary=False)
            case InitialAmplitudes(bits, held):
                for bit in wires_of(held):
                    yield Op((self._at[bits[bit]],), (), ALWAYS, _X, 0, "x")  # so that all bits hold 0
                yield Initialize(self._bits(bits), begin)
            case ZeroFill():
                pass
            case Sweep():
                raise TypeError("expected an item or a step that is no sweep, got a sweep; pass its items.")
            case _:
                assert_never(item)

    def _bits(self, positions: Sequence[int]) -> tuple[int, ...]:
        return tuple([self._at[position] for position in positions])

    def _mask(self, positions: int) -> int:
        return mask_of(self._bits(wires_of(positions)))

    def _masks(self, reads: Sequence[int]) -> tuple[int, ...]:
        return tuple([self._mask(read) for read in reads])

    def _when(self, when: When) -> When:
        return When(self._mask(when.mask), self._mask(when.value))

    def _map(self, columns: Map) -> None:
        """Move amplitudes by a linear map of positions: CX, and then bits move."""
        pairs, places = as_additions(columns)
        for control, target in pairs:
            under = 1 << self._at[control]
            self.instructions.append(Op((self._at[target],), (), When(under, under), _X, 0, "cx"))
        before = list(self._at)
        for bit, to in enumerate(places):
            self._at[to] = before[bit]

    def _at_rest(self) -> list[int]:
        """Return the bit on each index bit at rest."""
        found = [0] * len(self._at)
        for position, home in enumerate(self._home):
            found[home] = self._at[position]
        return found

    def _move(self, motion: Motion | None) -> None:
        match motion:
            case None:
                pass
            case Exchange(swaps):
                for one, other in swaps:
                    self._at[one], self._at[other] = self._at[other], self._at[one]
                    if self._migrated:
                        self._home[one], self._home[other] = self._home[other], self._home[one]
            case Migration(bits, swaps):
                rest = self._at_rest()
                for one, other in swaps:
                    rest[one], rest[other] = rest[other], rest[one]
                self._at, self._home = [rest[bit] for bit in bits], list(bits)
            case _:
                assert_never(motion)


def _is_linear(sweep: Sweep) -> bool:
    """Return whether a sweep does more than to move bits."""
    return bool(sweep.load) or any(mask & mask - 1 for mask in sweep.store)
