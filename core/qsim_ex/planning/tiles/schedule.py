"""From the work of a stage to its steps: sweeps, and the steps that are not sweeps.

States grow (`Growth`). As long as nothing has mixed a bit, the state is as large as if the bit did not exist. So the
bits that the state has are one more set of near bits, a level above the tiles, to which `locality.grow` adds as it does
to a tile: all work within the light cone of few bits runs while the state is small, and less work is left for larger
states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import PlanError
from qsim_ex.planning.cancellation import CANCEL, check_cancelled
from qsim_ex.planning.locality import WINDOW, chosen, fill, grow, reasons, split
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.tiles.assemble import Packer, items_of
from qsim_ex.planning.tiles.blocks import gathered
from qsim_ex.planning.work import NOTHING, Work
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.step import BasisPermutation, DenseMatrix, InitialAmplitudes, Item, Step, Sweep, ZeroFill

if TYPE_CHECKING:
    from qsim_ex.planning.tiles.floating import Floating

Places = NDArray[np.int64]
Packed = list[tuple[Step, Places]]
"""Steps in order, each with the places of its numbers."""

AT_ONCE = (1, 2, 3, 4, 6)
"""The numbers of bits by which growing a large state is tried."""


def schedule(
    work: Sequence[Work],
    num_bits: int,
    shape: Shape,
    program: NumberProgram,
    fresh: int,
    floating: Floating | None = None,
    worth: float = 0.0,
) -> tuple[Packed, int]:
    """Return work that mixes only bits 0 … num_bits − 1 as steps.

    fresh: mask of those bits that are fresh. Also returns the bits that are fresh after the steps.
    floating: where bits are, if sweeps may move them; steps are still in the bits that the work names.
    worth: see `Growth`.
    """
    growth = Growth(num_bits, shape, fresh, worth=worth)
    steps: Packed = []
    pending = list(work)
    while pending:
        if CANCEL.get() is not None:
            check_cancelled()
        alone = _alone(pending[0])
        if alone is not None:
            if growth.fresh:  # only sweeps may run on fresh bits
                steps.append((ZeroFill(growth.fresh), NOTHING))
                growth.complete()
            steps.append((alone, pending[0].source))
            if floating:
                floating.follow(len(steps))
            pending = pending[1:]
            continue
        before = growth.fresh
        tile, found = growth.tile(pending)
        ready, left = split(pending, tile, found)
        visited = num_bits - growth.fresh.bit_count()
        edges = (1 << shape.edge) - 1, (1 << shape.edge) - 1
        if floating:
            first = floating.edge
            growth.float_low(ready, left, tile & ~floating.high)
            floating.store(growth.low)
            edges = first, floating.edge
        sweep, places, undone = sweep_of(ready, tile, shape, program, edges, visited)
        if len(undone) == len(ready):
            raise PlanError(
                f"expected a sweep over tile {tile:#x} to run some of {len(ready)} pieces of work, got none. This is a "
                "bug of qsim-ex; please report it."
            )
        steps.append((replace(sweep, fresh=before), places))
        if floating:
            floating.follow(len(steps))
        pending = sorted([*undone, *left], key=lambda piece: piece.order)
    return steps, growth.fresh


def _alone(piece: Work) -> Step | None:
    """Return the step that a piece of work makes alone, None if it runs in a sweep."""
    match piece.kind:
        case "dense_matrix":
            return DenseMatrix(piece.bits, piece.reads, piece.when, piece.label)
        case "basis_permutation":
            return BasisPermutation(piece.bits, piece.to, piece.label)
        case "initial_amplitudes":
            return InitialAmplitudes(piece.bits, piece.held, piece.label)
        case _:
            return None


def sweep_of(
    ready: list[Work], tile: int, shape: Shape, program: NumberProgram, edges: tuple[int, int], visited: int
) -> tuple[Sweep, Places, list[Work]]:
    """Cut a sweep's work into phases; also return the work that did not fit into its phases.

    edges: the bits that lie across the lanes when the tile is read, and when it is written. visited: log2 of the
    amplitudes that are visited.
    """
    phases, undone = phases_of(ready, tile, shape, edges)
    packer, making = Packer(), None if shape.block is None else shape.making(visited)
    made: list[tuple[int, list[Item]]] = []
    held: list[Work] = []
    for k, (near, work) in enumerate(phases):
        if shape.block is not None and making is not None:
            work, held = gathered([*held, *work], near, shape.block, program, making), []
        items, held = items_of(work, held, packer, program, shape.table, last=k == len(phases) - 1)
        made.append((near, items))
    return *packer.finish(tile, made), undone


def phases_of(
    work: list[Work], tile: int, shape: Shape, edges: tuple[int, int]
) -> tuple[list[tuple[int, list[Work]]], list[Work]]:
    """Return the phases of a tile's work, and the work left; edge bits are not near in the first and last phase."""
    reading, writing = edges
    phases: list[tuple[int, list[Work]]] = []
    while work or not phases:
        first, last = not phases, shape.phases is not None and len(phases) == shape.phases - 1
        allowed = tile & ~(reading if first else writing if last else 0)
        choice = grow(work, 0, allowed, shape.near)
        near = fill(choice.bits, tile & ~reading & ~writing, shape.near, lowest=False)
        near = fill(near, allowed, shape.near, lowest=False)
        ready, work = split(work, near, choice.found)
        phases.append((near, ready))
        if last:
            break
    if phases[-1][0] & writing:
        phases.append((fill(0, tile & ~writing, shape.near, lowest=False), []))
    return phases, work


_WEIGHED = (0.0, 1.5, 0.5)
"""The most that a phase weighs as a part of a table, by the number of bits that it touches, the last for all others.

One that touches none is part of any table, and a table has many phases of pairs with one bit, but fewer of one.
"""


@dataclass
class Growth:
    """The bits that a state has while its plan is made.

    fresh: bits that no sweep has added yet. low: bits that are in the next tile; the lowest by default.
    reach: bits that sweeps may have now.
    worth: the share of a pass's arithmetic for which the state grows, where phases weigh what they take in a table. 0
        for a whole pass, and phases that weigh what they take alone.
    """

    num_bits: int
    shape: Shape
    fresh: int
    low: int = -1
    reach: int = 0
    worth: float = 0.0

    def __post_init__(self) -> None:
        if self.low < 0:
            self.low = (1 << self.shape.low) - 1
        self.reach = (1 << self.num_bits) - 1 & ~self.fresh | self.low

    def work_of(self, piece: Work) -> float:
        """Return the multiply-adds per amplitude of a piece of work, as a part of a table if phases weigh that."""
        if not self.worth or piece.kind != "diagonal":
            return piece.work
        return min(piece.work, _WEIGHED[min(len(piece.touched), 2)])

    def float_low(self, ready: Sequence[Work], left: Sequence[Work], tile: int) -> None:
        """Let a sweep leave on the lowest places what the next tile wants; see `floating.next_low`."""
        from qsim_ex.planning.tiles.floating import next_low

        self.low = next_low(ready, left, tile, self.low, self.reach, self.shape)

    def tile(self, pending: Sequence[Work]) -> tuple[int, list[int]]:
        """Return the next tile: the low bits, bits that let work run, and the lowest of the others.

        Also returns the reasons of the pending work. The reach grows when the work within it is not worth a sweep.
        """
        everything = (1 << self.num_bits) - 1
        if self.shape.tile >= self.num_bits and len(pending) <= WINDOW:  # nothing is to be chosen
            self.complete()
            return everything, reasons(pending, everything)
        found = reasons(pending, self.low)
        while (bits := self._worth_a_sweep(pending, found)) is None:
            self.reach = self._larger(pending)
        tile = fill(bits, everything & ~self.fresh, self.shape.tile, lowest=True)
        tile = fill(tile, self.reach, self.shape.tile, lowest=True)
        tile = fill(tile, everything, self.shape.tile, lowest=True)
        self.fresh &= ~tile
        self.reach |= tile
        return tile, found

    def complete(self) -> None:
        """Record that all bits are there: the zeros of fresh bits have been written."""
        self.fresh, self.reach = 0, (1 << self.num_bits) - 1

    def _worth_a_sweep(self, pending: Sequence[Work], found: Sequence[int]) -> int | None:
        """Return bits for a tile within the reach; None if all work should run later, in a larger state.

        The larger state has at least two bits more. Running work later costs its arithmetic three times more; running
        it now costs one more pass over the state as it is.
        """
        last = self.reach == (1 << self.num_bits) - 1
        if not last and self.reach.bit_count() < self.shape.start:
            return None
        bits = chosen(pending, found, self.low, self.reach & ~self.low, self.shape.tile - self.shape.low)
        return bits if last or 3 * self._arithmetic(pending, found, bits) >= self._least() else None

    def _arithmetic(self, pending: Sequence[Work], found: Sequence[int], near: int) -> float:
        """Return the multiply-adds per amplitude of the pieces that can run with `near` bits near; see `split`."""
        far = ~near
        return sum(self.work_of(piece) for piece, reason in zip(pending, found, strict=False) if not reason & far)

    def _least(self) -> float:
        return (self.worth or 1.0) * self.shape.balance

    def _larger(self, pending: Sequence[Work]) -> int:
        """Return the reach with as few added bits as let enough work run to occupy a pass over the state."""
        everything = (1 << self.num_bits) - 1
        others = everything & ~self.reach
        room = others.bit_count()
        free = min(room, max(0, self.shape.start - self.reach.bit_count()))
        counts = [count for count in sorted({max(1, free), *(free + k for k in AT_ONCE)}) if count < room]
        found = reasons(pending, self.reach) if counts else []
        for count in counts:
            bits = chosen(pending, found, self.reach, others, count)
            if bits != self.reach and self._arithmetic(pending, found, bits) >= self._least():
                return bits
        return everything
