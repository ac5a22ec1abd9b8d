"""What a plan promises to those who run it. Tests verify every plan; a broken promise is a `PlanError`."""

from __future__ import annotations

from typing import assert_never

from qsim_ex.circuit.ops import When, mask_of
from qsim_ex.errors import PlanError
from qsim_ex.steps import NUMBERED, Clear, Diagonal, Item, Mix, Phase, Plan, Rename, Shape, Shuffle, Spread, Sweep, Wide


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise PlanError(f"a plan breaks a rule of its own: {what}. This is a bug of qsim-ex; please report it.")


def verify(plan: Plan) -> None:
    """Raise `PlanError` unless every step keeps to the plan's shape and every slot lies within its numbers."""
    shape = plan.shape
    _check(shape.fit(plan.num_wires) == shape, "its shape fits the state")
    for layout in (plan.start, plan.end):
        _check(sorted(layout.address) == list(range(plan.num_wires)), "each wire sits on an index bit of its own")
    _check(len(plan.numbers.packed) == len(plan.steps), "each step has its packed numbers")
    fresh = plan.fresh
    for step, places in zip(plan.steps, plan.numbers.packed, strict=True):
        _check(not fresh or isinstance(step, Sweep | Clear), "only a sweep or a clearing runs on a growing state")
        match step:
            case Clear():
                _check(step.fresh == fresh != 0 and places.size == 0, "a clearing clears what is fresh")
                fresh = 0
            case Sweep():
                _check(step.fresh == fresh, "a sweep knows what is fresh")
                fresh &= ~mask_of(step.tile)
                _check(places.size == step.numbers + step.tables, "a sweep's numbers and tables are all packed")
                _sweep(step, plan.num_wires, shape)
            case Wide(bits, reads, when):
                _check(places.size == 1 << (2 * len(bits) + len(reads)), "a wide matrix has all its entries")
                _apart(bits, reads, when)
            case Shuffle(bits, to):
                _check(sorted(to) == list(range(1 << len(bits))), "a shuffle moves each value to its own place")
            case Spread(bits):
                _check(places.size == 1 << len(bits), "an initial state has all its amplitudes")
            case _:
                assert_never(step)
    _check(not fresh, "nothing is fresh at the end")


def _sweep(sweep: Sweep, num_bits: int, shape: Shape) -> None:
    _check(len(sweep.tile) == shape.tile, "a tile has the shape's number of bits")
    _check(list(sweep.tile) == sorted(set(sweep.tile)), "a tile is in ascending order")
    _check(all(0 <= bit < num_bits for bit in sweep.tile), "a tile's bits exist")
    _check(sweep.tile[: shape.low] == tuple(range(shape.low)), "the low bits are in every tile")
    _check(bool(sweep.phases), "a sweep has a phase")
    _check(shape.phases is None or len(sweep.phases) <= shape.phases, "a sweep has no more phases than allowed")
    for phase in (sweep.phases[0], sweep.phases[-1]):
        _check(all(bit >= shape.edge for bit in phase.near), "edge bits are not near in the first and last phase")
    for phase in sweep.phases:
        _phase(phase, sweep, shape)


def _phase(phase: Phase, sweep: Sweep, shape: Shape) -> None:
    _check(len(phase.near) == shape.near, "a phase has the shape's number of near bits")
    _check(list(phase.near) == sorted(set(phase.near)), "near bits are in ascending order")
    _check(set(phase.near) <= set(sweep.tile), "near bits are in the tile")
    for item in phase.items:
        _item(item, phase, sweep, shape)


def _item(item: Item, phase: Phase, sweep: Sweep, shape: Shape) -> None:
    match item:
        case Mix(bits, reads, when, of, slot):
            _check(0 < len(bits) <= shape.dense, "a matrix in a sweep is no wider than allowed")
            _check(set(bits) <= set(phase.near), "mixed bits are near")
            _check(len(of) == 1 << (2 * len(bits) + len(reads)), "a pattern has all its entries")
            _apart(bits, reads, when)
            count = len(of) if reads else sum(entry in NUMBERED for entry in of)
            _slot(slot.at, slot.count, count, sweep, bool(reads))
        case Diagonal(reads, when, of, slot):
            _check(len(of) == 1 << len(reads), "a table has all its entries")
            count = len(of) if reads else sum(entry in NUMBERED for entry in of)
            _slot(slot.at, slot.count, count, sweep, bool(reads))
        case Rename(bits, when, to):
            _check(set(bits) <= set(phase.near), "renamed bits are near")
            _check(sorted(to) == list(range(1 << len(bits))), "a renaming moves each value to its own place")
            _apart(bits, (), when)
        case _:
            assert_never(item)


def _apart(bits: tuple[int, ...], reads: tuple[int, ...], when: When) -> None:
    mixed = mask_of(bits)
    _check(len(set(bits)) == len(bits), "a bit is mixed once")
    _check(not any(mask & mixed for mask in reads), "what is read is not mixed")
    _check(not when.mask & mixed and not when.value & ~when.mask, "what is asked for is not mixed")


def _slot(at: int, found: int, wanted: int, sweep: Sweep, table: bool) -> None:
    _check(found == wanted, "a slot has room for all its numbers")
    low, high = (sweep.numbers, sweep.numbers + sweep.tables) if table else (0, sweep.numbers)
    _check(low <= at and at + found <= high, "a slot lies in its part of the packed numbers")
