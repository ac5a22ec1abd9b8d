"""Planning the rest of a plan anew, for a state that is divided otherwise: a plan's steps become work again.

A run that has stopped in the middle of a plan can so continue on another number of processes or devices. Work is
written in the index bits of the state as it was stopped, so nothing of what came before has to be known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import ONE_AT, ZERO_AT
from qsim_ex.circuit.ops import ALWAYS, Entry, Pattern, When, mask_of
from qsim_ex.planning import patterns
from qsim_ex.planning.cut import cut
from qsim_ex.planning.numbers.binding import bind
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.stages.staging import make_stages
from qsim_ex.planning.tiles.schedule import schedule
from qsim_ex.planning.work import NOTHING, Work, bits_of_mask, moved
from qsim_ex.steps.algebra import Map, as_additions, inverse
from qsim_ex.steps.layout import Layout, Levels, Shape
from qsim_ex.steps.plan import Exchange, Migration, Motion, Plan, Stage
from qsim_ex.steps.step import (
    NUMBERED,
    BasisPermutation,
    DenseMatrix,
    Diagonal,
    InitialAmplitudes,
    Item,
    Mix,
    Rename,
    Step,
    Sweep,
    ZeroFill,
)

Places = NDArray[np.int64]

_NUMBERED = frozenset(int(entry) for entry in NUMBERED)


@lru_cache(maxsize=16)
def resumed(plan: Plan, parts: int, levels: Levels | None, shape: Shape) -> Plan:
    """Return a plan for what is left after some parts of a plan (`cut`), for a state that is divided by other levels.

    levels: None for a state in one piece. The new plan begins where the parts end, in the same layout, and ends in a
    layout of its own. Its operands are `operands_of` the old plan.
    """
    num_wires, divided = plan.num_wires, levels or Levels(plan.num_wires)
    every = cut(plan)
    start, fresh = (plan.start, every[parts].fresh) if parts < len(every) else (plan.end, plan.left)
    fitted = shape.fit(divided.local)
    lowered = _Lowered(plan, fitted)
    for part in every[parts:]:
        lowered.add(part)
    program = NumberProgram(plan.numbers.size() + 1)
    stages: tuple[Stage, ...]
    if divided.local < num_wires:
        stages, packed, positions, program, _ = make_stages(lowered.work, num_wires, divided, fitted, program, fresh)
        homes = positions.homes()
        left = mask_of(tuple(homes[bit] for bit in bits_of_mask(positions.fresh)))
    else:
        steps, remaining = schedule(lowered.work, num_wires, fitted, program, fresh)
        steps += [(ZeroFill(remaining), NOTHING)] if remaining else []
        stages = (Stage(tuple(step for step, _ in steps), fresh=fresh),) if steps else ()
        packed, homes, left = [places for _, places in steps], tuple(range(num_wires)), 0
    return Plan(
        num_wires=num_wires,
        stages=stages,
        start=start,
        end=lowered.end(homes),
        numbers=program.finish(packed),
        shape=fitted,
        num_gates=plan.num_gates,
        made_from=(plan.made_from, "after", parts, divided),
        levels=divided,
        fresh=fresh,
        left=left,
    )


def operands_of(plan: Plan, operands: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return the operands [1, total] of what is left of a plan: all of the plan's numbers, and −1."""
    return np.append(bind(plan, operands).buffer, -1.0).astype(np.complex128)[None]


class _Lowered:
    """The steps of a plan's parts as work on the index bits of the state before them.

    at: the bit on each position. home: the index bit at rest of each position; in a migrated state an exchange changes
    it, since a pass writes amplitudes back to where they came from.
    """

    def __init__(self, plan: Plan, shape: Shape) -> None:
        self.work: list[Work] = []
        self._plan = plan
        self._shape = shape
        self._minus = plan.numbers.size()
        self._at = list(range(plan.num_wires))
        self._home = list(self._at)
        self._migrated = plan.levels.local + plan.levels.peers < plan.num_wires

    def add(self, part: Plan) -> None:
        """Add the work of one part; the parts come in their order."""
        packed = iter(part.numbers.packed)
        for stage in part.stages:
            self._move(stage.motion)
            for step in stage.steps:
                places = next(packed)
                if isinstance(step, Sweep) and _is_linear(step):
                    self._map(inverse(step.loads(range(self._plan.num_wires))))
                for piece in self._pieces(step, places):
                    self._put(piece)
                self._follow(step)

    def _put(self, piece: Work) -> None:
        piece.order = len(self.work)
        self.work.append(moved(piece, self._at))

    def _map(self, columns: Map) -> None:
        """Move amplitudes by a linear map of positions: CX, and then bits move."""
        pairs, places = as_additions(columns)
        for control, target in pairs:
            when = When(1 << control, 1 << control)
            self._put(Work("rename", (target,), (), when, b"", NOTHING, "cx", to=(1, 0)))
        before = list(self._at)
        for bit, to in enumerate(places):
            self._at[to] = before[bit]

    def end(self, homes: Sequence[int]) -> Layout:
        """Return the layout at the end of the plan, if a bit is at ``homes[bit]`` then."""
        end, rest = self._plan.end, self._rest()
        flips = tuple(homes[rest[bit]] for bit in bits_of_mask(end.flip))
        return Layout(tuple(homes[rest[bit]] for bit in end.address), mask_of(flips))

    def _rest(self) -> list[int]:
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
                rest = self._rest()
                for one, other in swaps:
                    rest[one], rest[other] = rest[other], rest[one]
                self._at, self._home = [rest[bit] for bit in bits], list(bits)
            case _:
                assert_never(motion)

    def _follow(self, step: Step) -> None:
        """Follow the bits that a step moves to other positions."""
        before = list(self._at)
        if isinstance(step, Sweep) and _is_linear(step):
            self._map(step.stores(range(self._plan.num_wires)))
        elif isinstance(step, Sweep):
            for bit, to in zip(step.tile, step.stored, strict=True):
                self._at[to] = before[bit]
        elif isinstance(step, BasisPermutation) and (sources := _moved_bits(step)):
            for bit, source in zip(step.bits, sources, strict=True):
                self._at[bit] = before[step.bits[source]]

    def _pieces(self, step: Step, places: Places) -> Iterator[Work]:
        match step:
            case Sweep(phases=phases):
                for phase in phases:
                    yield from (self._item(item, places) for item in phase.items)
            case DenseMatrix(bits, reads, when, label):
                entries = bytes([int(Entry.COMPLEX)]) * len(places)
                yield Work("dense_matrix", bits, reads, when, entries, places, label)
            case BasisPermutation(bits, to, label):
                if not _moved_bits(step):
                    yield Work("basis_permutation", bits, (), ALWAYS, b"", NOTHING, label, to=to)
            case InitialAmplitudes(bits, held, label):
                yield Work("initial_amplitudes", bits, (), ALWAYS, b"", places, label, held=held)
            case ZeroFill():
                pass
            case _:
                assert_never(step)

    def _item(self, item: Item, places: Places) -> Work:
        match item:
            case Mix(bits, reads, when, of, slot, label):
                source = self._source(of, places[slot.at : slot.at + slot.count], whole=bool(reads))
                fits = len(bits) <= self._shape.dense
                work = patterns.mix_work(of, 1 << len(bits))
                return Work("mix" if fits else "dense_matrix", bits, reads, when, of, source, label, work=work)
            case Diagonal(reads, when, of, slot, label):
                source = self._source(of, places[slot.at : slot.at + slot.count], whole=bool(reads))
                return Work("diagonal", (), reads, when, of, source, label, work=patterns.diagonal_work(of))
            case Rename(bits, when, to, label):
                if len(bits) > self._shape.near and not when.mask:
                    return Work("basis_permutation", bits, (), when, b"", NOTHING, label, to=to)
                return Work("rename", bits, (), when, b"", NOTHING, label, to=to)
            case _:
                assert_never(item)

    def _source(self, of: Pattern, numbered: Places, *, whole: bool) -> Places:
        """Return the place of every entry of a pattern, given the places of all, or of those that have numbers."""
        if whole:
            return numbered
        known = {int(Entry.ZERO): ZERO_AT, int(Entry.ONE): ONE_AT, int(Entry.MINUS_ONE): self._minus}
        left = iter(numbered.tolist())
        return np.array([next(left) if entry in _NUMBERED else known[entry] for entry in of], dtype=np.int64)


def _is_linear(sweep: Sweep) -> bool:
    """Return whether a sweep does more than to move bits."""
    return bool(sweep.load) or any(mask & mask - 1 for mask in sweep.store)


def _moved_bits(step: BasisPermutation) -> tuple[int, ...] | None:
    """Return from which of its bits each bit of a permutation gets its content, if all it does is to move bits."""
    found = patterns.affine(step.to)
    return None if found is None or found[1] else found[0]
