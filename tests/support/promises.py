"""What every plan promises: its rules, by which tests verify every plan. A broken one is a `PlanError`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Entry, When, mask_of
from qsim_ex.errors import PlanError
from qsim_ex.steps.algebra import Span, units
from qsim_ex.steps.coefficients import Coefficients, Euler, Fold, Product
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.plan import Exchange, Migration, Motion, Plan, written
from qsim_ex.steps.step import (
    NUMBERED,
    BasisPermutation,
    DenseMatrix,
    Diagonal,
    InitialAmplitudes,
    Item,
    Mix,
    Permute,
    RegisterBlock,
    Step,
    Sweep,
    ZeroFill,
)

_PLAIN = frozenset(map(int, Entry))


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise PlanError(f"a plan breaks the rule that {what}. This is a bug of qsim-ex; please report it.")


def verify(plan: Plan) -> None:
    """Raise `PlanError` unless every step and motion fits the plan's shape and levels, and every slot its numbers."""
    _check(plan.shape.fit(plan.levels.local) == plan.shape, "its shape fits a sub state vector")
    for layout in (plan.start, plan.end):
        _check(sorted(layout.address) == list(range(plan.num_wires)), "each wire sits on an index bit of its own")
        _check(not layout.flip >> plan.num_wires, "only index bits are stored inverted")
    _check(len(plan.coefficients.packed) == len(plan.steps), "each step has its packed numbers")
    _check([*plan.steps] == [step for stage in plan.stages for step in stage.steps], "its steps are those of stages")
    _numbers(plan.coefficients)
    packed = iter(plan.coefficients.packed)
    at = Positions(plan)
    for stage in plan.stages:
        at.move(stage.motion)
        _check(stage.fresh == at.fresh, "a stage records the fresh positions")
        _check(bool(stage.steps), "a stage has a step")
        at.fresh = at.fresh & ~at.local | _steps(stage.steps, packed, plan, at.fresh & at.local)
    at.end()
    _check(plan.left == at.fresh, "`left` is the mask of bits that are still fresh at the end")
    _check(not plan.left & at.local, "no local index bit is fresh at the end")


def _numbers(numbers: Coefficients) -> None:
    """Check that every number is made before it is used."""
    for instruction, at in numbers.placed():
        match instruction:
            case Product(left, right):
                used = [left, right]
            case Euler(places):
                used = [places]
            case Fold(_, factors):
                used = [factors]
            case _:
                assert_never(instruction)
        _check(all(_within(places, at) for places in used), "numbers are made of earlier ones")
    size = numbers.size()
    _check(all(_within(places, size) for places in numbers.packed), "packed numbers are among those that are made")


def _within(places: NDArray[np.int64], size: int) -> bool:
    return not places.size or (int(places.min()) >= 0 and int(places.max()) < size)


class Positions:
    """The fresh positions and the homes of all positions, while a plan's motions are followed.

    fresh: mask of positions. home: the index bit at home of each position. local: mask of the local positions.
    """

    def __init__(self, plan: Plan) -> None:
        self.levels = plan.levels
        self.num_bits = plan.num_wires
        self.migrated = plan.num_wires > plan.levels.local + plan.levels.peers
        self.local = (1 << plan.levels.local) - 1
        self.fresh = plan.fresh
        self.home = list(range(plan.num_wires))
        self.in_pass = False

    def move(self, motion: Motion | None) -> None:
        """Follow a motion, and check that it is allowed."""
        match motion:
            case None:
                _check(not self.migrated, "the stages of a migrated state begin with a migration or an exchange")
            case Exchange(swaps):
                _check(self.in_pass or not self.migrated, "a migrated state has no exchange before its first pass")
                self._exchange(swaps)
            case Migration(bits, swaps):
                _check(self.migrated, "only a state with migration bits migrates")
                self._migrate(bits, swaps)
            case _:
                assert_never(motion)

    def end(self) -> None:
        """Put every position back at its home after the last pass."""
        self.fresh, self.home = self._at_home(), list(range(self.num_bits))

    def _exchange(self, swaps: tuple[tuple[int, int], ...]) -> None:
        levels = self.levels
        _check(bool(swaps), "an exchange moves something")
        _check(len({place for pair in swaps for place in pair}) == 2 * len(swaps), "an exchange's pairs are disjoint")
        for local, device in swaps:
            _check(levels.slice <= local < levels.local, "an exchange takes local positions above the slice")
            _check(levels.local <= device < levels.local + levels.peers, "an exchange takes device bits")
            self.home[local], self.home[device] = self.home[device], self.home[local]
            if (self.fresh >> local ^ self.fresh >> device) & 1:
                self.fresh ^= 1 << local | 1 << device

    def _migrate(self, bits: tuple[int, ...], swaps: tuple[tuple[int, int], ...]) -> None:
        on_devices, parts = self.levels.local + self.levels.peers, self.num_bits - self.levels.ranks
        fresh = self._at_home()
        _check(len({place for pair in swaps for place in pair}) == 2 * len(swaps), "an exchange's pairs are disjoint")
        for one, other in swaps:
            _check(self.levels.slice <= one < parts <= other < self.num_bits, "host memories exchange bits with ranks")
            if (fresh >> one ^ fresh >> other) & 1:
                fresh ^= 1 << one | 1 << other
        _check(bits[parts:] == tuple(range(parts, self.num_bits)), "a pass leaves the bits of ranks where they are")
        _check(sorted(bits) == list(range(self.num_bits)), "a migration's bits are a permutation")
        _check(bits[: self.levels.slice] == tuple(range(self.levels.slice)), "a migration leaves slices whole")
        _check(list(bits[on_devices:]) == sorted(bits[on_devices:]), "migration bits are in ascending order")
        self.home, self.in_pass = list(bits), True
        self.fresh = mask_of(tuple(place for place, bit in enumerate(bits) if fresh >> bit & 1))

    def _at_home(self) -> int:
        """Return the fresh index bits at home; without migration bits, exchanges are not undone."""
        if not self.migrated:
            return self.fresh
        return mask_of(tuple(bit for place, bit in enumerate(self.home) if self.fresh >> place & 1))


def _steps(steps: tuple[Step, ...], packed: Iterator[NDArray[np.int64]], plan: Plan, fresh: int) -> int:
    """Check a stage's steps; return which of the fresh local positions are still fresh after them."""
    for step in steps:
        places = next(packed)
        match step:
            case ZeroFill():
                _check(bool(step.fresh) and not step.fresh & ~fresh, "a zero fill clears fresh bits only")
                _check(places.size == 0, "a zero fill has no numbers")
                fresh &= ~written(step)
                continue
            case Sweep():
                _check(step.fresh == fresh, "a sweep records the fresh bits")
                fresh &= ~written(step)
                _check(places.size == step.numbers + step.tables, "a sweep's numbers and tables are all packed")
                _sweep(step, plan)
                continue
            case DenseMatrix(bits, reads, when):
                _check(places.size == 1 << (2 * len(bits) + len(reads)), "a wide matrix has all its entries")
                _apart(bits, reads, when)
                _there(reads, when, plan)
            case BasisPermutation(bits, to):
                _check(sorted(to) == list(range(1 << len(bits))), "a permutation moves each value to its own place")
                _check(len(set(bits)) == len(bits), "a bit is mixed once")
            case InitialAmplitudes(bits, held):
                _check(0 <= held < 1 << len(bits), "what bits hold is one of their values")
                _check(places.size == 1 << len(bits), "an initial state has all its amplitudes")
                _check(len(set(bits)) == len(bits), "a bit is mixed once")
            case _:
                assert_never(step)
        _check(not fresh, "only a sweep or a zero fill runs on a growing state")
        _check(all(0 <= bit < plan.levels.local for bit in bits), "a step mixes local positions only")
    return fresh


def _sweep(sweep: Sweep, plan: Plan) -> None:
    shape, num_bits = plan.shape, plan.levels.local
    _check(len(sweep.tile) == shape.tile, "a tile has the shape's number of bits")
    _check(list(sweep.tile) == sorted(set(sweep.tile)), "a tile is in ascending order")
    _check(all(0 <= bit < num_bits for bit in sweep.tile), "a tile's bits exist")
    _check(sweep.tile[: shape.low] == tuple(range(shape.low)), "the low bits are in every tile")
    _directions(sweep, num_bits, shape)
    _check(bool(sweep.register_blocks), "a sweep has a register block")
    few = shape.most_blocks is None or len(sweep.register_blocks) <= shape.most_blocks
    _check(few, "a sweep has no more register blocks than allowed")
    first, last = (set(sweep.register_blocks[k].registers) for k in (0, -1))
    edges = {bit for bit, mask in zip(sweep.tile, sweep.stores(sweep.tile), strict=True) if mask < 1 << shape.edge}
    _check(all(bit >= shape.edge for bit in first), "edge bits are not in registers in the first register block")
    _check(not edges & last, "bits that are written to edge bits are not in registers in the last register block")
    for block in sweep.register_blocks:
        _register_block(block, sweep, shape)
        for item in block.items:
            _item(item, block, sweep, shape)
            _there(() if isinstance(item, Permute) else item.reads, item.when, plan)


def _directions(sweep: Sweep, num_bits: int, shape: Shape) -> None:
    tile, low, others = mask_of(sweep.tile), (1 << shape.low) - 1, [b for b in range(num_bits) if b not in sweep.tile]
    _check(max(len(sweep.load), len(sweep.store)) <= num_bits, "a map is of local bits")
    span = Span(sweep.loads(sweep.tile))
    for columns, alone in ((sweep.loads, True), (sweep.stores, shape.in_vectors)):
        _check(same_span(columns(sweep.tile), span.vectors), "a tile is written back where it was read")
        lowest = sorted(mask for mask in columns(range(num_bits)) if mask & low and (alone or mask <= low))
        _check(lowest == list(units(range(shape.low))), "the low bits are lanes")
        outside = zip(others, columns(others), strict=True)
        _check(all(mask ^ 1 << bit in span for bit, mask in outside), "a bit outside the tile stays")
    _check(all(0 < mask < 1 << num_bits for mask in span.vectors), "directions are local")
    _check(len(Span(mask & tile for mask in span.vectors)) == len(sweep.tile), "tiles are disjoint and whole")
    _check(sweep.loads(range(shape.low)) == units(range(shape.low)), "the low bits are read where they are")
    every = sweep.loads(range(num_bits))
    for bit, own in enumerate(every):
        _check(not own & sweep.fresh & ~tile & ~(1 << bit), "a fresh bit outside the tile is in no other direction")
        alone = [mask for mask in every if mask >> bit & 1] == [own]
        _check(alone or not (sweep.fresh & tile) >> bit & 1, "a fresh bit is in no direction but its own")


def _register_block(block: RegisterBlock, sweep: Sweep, shape: Shape) -> None:
    _check(len(block.registers) == shape.registers, "a register block has the shape's number of register bits")
    _check(list(block.registers) == sorted(set(block.registers)), "register bits are in ascending order")
    _check(set(block.registers) <= set(sweep.tile), "register bits are in the tile")


def _item(item: Item, block: RegisterBlock, sweep: Sweep, shape: Shape) -> None:
    match item:
        case Mix(bits, reads, when, of, slot):
            _check(0 < len(bits) <= shape.dense, "a matrix in a sweep is no wider than allowed")
            _check(set(bits) <= set(block.registers), "mixed bits are in registers")
            _check(len(of) == 1 << (2 * len(bits) + len(reads)), "a pattern has all its entries")
            _check(_PLAIN.issuperset(of), "patterns are classes of entries, and no numbers that rewriting knows")
            _apart(bits, reads, when)
            count = len(of) if reads else sum(entry in NUMBERED for entry in of)
            _slot(slot.at, slot.count, count, sweep, bool(reads))
        case Diagonal(reads, when, of, slot):
            _check(len(of) == 1 << len(reads), "a table has all its entries")
            _check(_PLAIN.issuperset(of), "patterns are classes of entries, and no numbers that rewriting knows")
            count = len(of) if reads else sum(entry in NUMBERED for entry in of)
            _slot(slot.at, slot.count, count, sweep, bool(reads))
        case Permute(bits, when, to):
            _check(set(bits) <= set(block.registers), "permuted bits are in registers")
            _check(sorted(to) == list(range(1 << len(bits))), "a permutation moves each value to its own place")
            _apart(bits, (), when)
        case _:
            assert_never(item)


def _apart(bits: tuple[int, ...], reads: tuple[int, ...], when: When) -> None:
    mixed = mask_of(bits)
    _check(len(set(bits)) == len(bits), "a bit is mixed once")
    _check(not any(mask & mixed for mask in reads), "a read bit is not mixed")
    _check(not when.mask & mixed and not when.value & ~when.mask, "a bit of a condition is not mixed")


def _there(reads: tuple[int, ...], when: When, plan: Plan) -> None:
    beyond = -1 << plan.num_wires
    _check(not any(mask & beyond for mask in (*reads, when.mask)), "only bits that the state has are read")


def _slot(at: int, found: int, wanted: int, sweep: Sweep, table: bool) -> None:
    _check(found == wanted, "a slot has room for all its numbers")
    low, high = (sweep.numbers, sweep.numbers + sweep.tables) if table else (0, sweep.numbers)
    _check(low <= at and at + found <= high, "a slot is in its part of the packed numbers")


def same_span(one: Iterable[int], other: Iterable[int]) -> bool:
    """Return whether two sets of vectors span the same space."""
    first, second = Span(one), Span(other)
    return len(first) == len(second) and all(vector in first for vector in second.vectors)
