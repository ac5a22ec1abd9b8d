"""Faults of the planner in steps, items and numbers, planted into plans that are made; see `edited_plans.Faults`."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
from support.edited_plans import (
    Faults,
    Packed,
    Planted,
    drawn_step,
    exchanged,
    with_block,
    with_item,
    with_numbers,
    with_packed,
    with_step,
    with_steps,
)

from qsim_ex.circuit.ops import When
from qsim_ex.steps import Diagonal, Mix, Permute, Plan, Sweep
from qsim_ex.steps.coefficients import Coefficients, Product
from qsim_ex.steps.step import BasisPermutation, DenseMatrix, Item, RegisterBlock, ZeroFill

FAULTS = Faults()
"""Kinds of faults in steps, items and numbers."""


# --- steps ---------------------------------------------------------------------------------------------------------


@FAULTS.kind(neutral=True)
def a_step_is_dropped(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """One step is missing, with its numbers."""
    if not plan.steps:
        return None
    at = random.randrange(len(plan.steps))
    order = [k for k in range(len(plan.steps)) if k != at]
    made = with_steps(plan, [None if k == at else step for k, step in enumerate(plan.steps)])
    return with_packed(made, order), [numbers[k] for k in order]


@FAULTS.kind(neutral=True)
def two_steps_change_places(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """Two steps that follow each other are in the wrong order, with their numbers."""
    if len(plan.steps) < 2:
        return None
    at = random.randrange(len(plan.steps) - 1)
    order = list(exchanged(tuple(range(len(plan.steps))), at, at + 1))
    made = with_steps(plan, [plan.steps[k] for k in order])
    return with_packed(made, order), [numbers[k] for k in order]


@FAULTS.kind(neutral=False)
def zeros_stay_unwritten(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A zero fill leaves one bit out."""
    found = drawn_step(plan, random, ZeroFill)
    if found is None:
        return None
    at, step = found
    bit = random.choice([bit for bit in range(plan.num_wires) if step.fresh >> bit & 1])
    return with_step(plan, at, ZeroFill(step.fresh & ~(1 << bit))), numbers


@FAULTS.kind(neutral=False)
def a_sweep_knows_wrong_zeros(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """The mask of a sweep's fresh bits has one bit too many or too few."""
    found = drawn_step(plan, random, Sweep)
    if found is None:
        return None
    at, sweep = found
    return with_step(plan, at, replace(sweep, fresh=sweep.fresh ^ 1 << random.randrange(plan.levels.local))), numbers


@FAULTS.kind(neutral=False)
def a_tile_has_another_bit(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A tile has a bit in place of one that is a register bit at some time."""
    found = drawn_step(plan, random, Sweep)
    others = [] if found is None else [bit for bit in range(plan.levels.local) if bit not in found[1].tile]
    if found is None or not others:
        return None
    at, sweep = found
    gone = random.choice([bit for block in sweep.register_blocks for bit in block.registers])
    tile = sorted([*(bit for bit in sweep.tile if bit != gone), random.choice(others)])
    return with_step(plan, at, replace(sweep, tile=tuple(tile))), numbers


@FAULTS.kind(neutral=True)
def a_tile_is_written_elsewhere(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """Two columns of the map by which a tile is written are in each other's place."""
    found = drawn_step(plan, random, Sweep)
    if found is None or len(found[1].tile) < 2:
        return None
    at, sweep = found
    columns = sweep.stores(range(plan.levels.local))
    one, other = random.sample(sweep.tile, 2)
    return with_step(plan, at, replace(sweep, store=exchanged(columns, one, other))), numbers


@FAULTS.kind(neutral=True)
def a_tile_is_read_along_another_direction(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A column of the map by which a tile is read has another one added."""
    found = drawn_step(plan, random, Sweep)
    if found is None or len(found[1].tile) < 2:
        return None
    at, sweep = found
    columns, (one, other) = list(sweep.loads(range(plan.levels.local))), random.sample(sweep.tile, 2)
    store = sweep.stores(range(plan.levels.local))
    columns[one] ^= columns[other]
    return with_step(plan, at, replace(sweep, load=tuple(columns), store=store)), numbers


# --- items ---------------------------------------------------------------------------------------------------------


@FAULTS.kind(neutral=True)
def an_item_is_dropped(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """One matrix, table or permutation is missing."""
    made = with_item(plan, random, lambda _: None)
    return made and (made, numbers)


@FAULTS.kind(neutral=True)
def two_items_change_places(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """Two items of a register block that follow each other are in the wrong order."""
    places = [
        (k, step, p, i)
        for k, step in enumerate(plan.steps)
        if isinstance(step, Sweep)
        for p, block in enumerate(step.register_blocks)
        for i in range(len(block.items) - 1)
    ]
    if not places:
        return None
    k, sweep, p, i = random.choice(places)
    block = RegisterBlock(sweep.register_blocks[p].registers, exchanged(sweep.register_blocks[p].items, i, i + 1))
    return with_step(plan, k, with_block(sweep, p, block)), numbers


@FAULTS.kind(neutral=True)
def a_condition_is_inverted(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """An item acts at the other value of a bit of its condition."""

    def inverted(item: Item) -> Item:
        bit = random.choice([bit for bit in range(64) if item.when.mask >> bit & 1])
        return replace(item, when=When(item.when.mask, item.when.value ^ 1 << bit))

    made = with_item(plan, random, inverted, lambda item: item.when.mask)
    return made and (made, numbers)


@FAULTS.kind(neutral=True)
def a_condition_is_forgotten(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """An item acts at either value of a bit of its condition."""

    def without(item: Item) -> Item:
        bit = 1 << random.choice([bit for bit in range(64) if item.when.mask >> bit & 1])
        return replace(item, when=When(item.when.mask & ~bit, item.when.value & ~bit))

    made = with_item(plan, random, without, lambda item: item.when.mask)
    return made and (made, numbers)


@FAULTS.kind(neutral=True)
def a_parity_has_another_bit(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A parity that selects a number has one bit too many or too few."""

    def other(item: Item) -> Item:
        assert isinstance(item, Mix | Diagonal)
        at, bit = random.randrange(len(item.reads)), 1 << random.randrange(plan.num_wires)
        return replace(item, reads=(*item.reads[:at], item.reads[at] ^ bit, *item.reads[at + 1 :]))

    made = with_item(plan, random, other, lambda item: isinstance(item, Mix | Diagonal) and item.reads)
    return made and (made, numbers)


@FAULTS.kind(neutral=False)
def a_bit_that_is_not_there_is_read(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A condition or a parity has a bit that the state does not have."""

    def beyond(item: Item) -> Item:
        bit = 1 << plan.num_wires
        if isinstance(item, Mix | Diagonal) and item.reads:
            return replace(item, reads=(item.reads[0] | bit, *item.reads[1:]))
        return replace(item, when=When(item.when.mask | bit, item.when.value))

    made = with_item(plan, random, beyond)
    return made and (made, numbers)


@FAULTS.kind(neutral=True)
def mixed_bits_change_places(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A matrix or a permutation has two of its bits in the wrong order."""
    made = with_item(
        plan, random, lambda item: replace(item, bits=exchanged(item.bits, 0, 1)),
        lambda item: not isinstance(item, Diagonal) and len(item.bits) > 1,
    )  # fmt: skip
    return made and (made, numbers)


@FAULTS.kind(neutral=True)
def a_permutation_goes_elsewhere(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """Two values of a permutation are moved to each other's place."""
    made = with_item(
        plan, random, lambda item: replace(item, to=exchanged(item.to, 0, len(item.to) - 1)),
        lambda item: isinstance(item, Permute),
    )  # fmt: skip
    return made and (made, numbers)


@FAULTS.kind(neutral=False)
def numbers_of_another_item(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A slot begins one place too late, so that the last item reads beyond what is packed."""

    def late(item: Item) -> Item:
        assert isinstance(item, Mix | Diagonal)
        return replace(item, slot=replace(item.slot, at=item.slot.at + 1))

    last = {step.numbers + step.tables for step in plan.steps if isinstance(step, Sweep)}
    made = with_item(
        plan, random, late,
        lambda item: not isinstance(item, Permute) and item.slot.count and item.slot.at + item.slot.count == max(last),
    )  # fmt: skip
    return made and (made, numbers)


@FAULTS.kind(neutral=False)
def a_mixed_bit_is_not_in_registers(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A register block has another bit of the tile in place of one that it mixes."""
    places = [
        (k, step, p, bit)
        for k, step in enumerate(plan.steps)
        if isinstance(step, Sweep)
        for p, block in enumerate(step.register_blocks)
        for item in block.items
        if not isinstance(item, Diagonal) and set(step.tile) - set(block.registers)
        for bit in item.bits
    ]
    if not places:
        return None
    k, sweep, p, bit = random.choice(places)
    block = sweep.register_blocks[p]
    other = random.choice(sorted(set(sweep.tile) - set(block.registers)))
    registers = tuple(sorted([other, *(b for b in block.registers if b != bit)]))
    return with_step(plan, k, with_block(sweep, p, RegisterBlock(registers, block.items))), numbers


# --- numbers -------------------------------------------------------------------------------------------------------


@FAULTS.kind(neutral=True)
def a_sign_is_wrong(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """One number that is not 0 has the other sign."""

    def negate(own: np.ndarray) -> None:
        there = np.flatnonzero(own)
        if len(there):
            own[random.choice(there.tolist())] *= -1

    made = with_numbers(numbers, random, negate)
    return made and (plan, made)


@FAULTS.kind(neutral=False)
def a_number_is_not_made(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A step is given a number that the program does not make."""
    packed = list(plan.coefficients.packed)
    found = [k for k, places in enumerate(packed) if places.size]
    if not found:
        return None
    k = random.choice(found)
    packed[k] = packed[k].copy()
    packed[k][random.randrange(packed[k].size)] = plan.coefficients.size()
    made = Coefficients(plan.coefficients.num_operands, plan.coefficients.program, tuple(packed))
    return replace(plan, coefficients=made), numbers


@FAULTS.kind(neutral=False)
def a_number_is_used_too_early(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A product is made of a number that is made later."""
    program = list(plan.coefficients.program)
    found = [k for k, instruction in enumerate(program) if isinstance(instruction, Product)]
    if not found:
        return None
    k = random.choice(found)
    left = program[k].left.copy()  # type: ignore[union-attr]
    left.flat[random.randrange(left.size)] = plan.coefficients.size() - 1
    program[k] = replace(program[k], left=left)  # type: ignore[arg-type]
    made = Coefficients(plan.coefficients.num_operands, tuple(program), plan.coefficients.packed)
    return replace(plan, coefficients=made), numbers


@FAULTS.kind(neutral=True)
def two_numbers_change_places(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """Two numbers of a step that differ are in each other's place."""

    def exchange(own: np.ndarray) -> None:
        one = random.randrange(len(own))
        others = np.flatnonzero(np.abs(own - own[one]) > 1e-3).tolist()
        if others:
            other = random.choice(others)
            own[[one, other]] = own[[other, one]]

    made = with_numbers(numbers, random, exchange)
    return made and (plan, made)


# --- steps that are no sweeps --------------------------------------------------------------------------------------


@FAULTS.kind(neutral=True)
def a_wide_step_has_bits_in_another_order(plan: Plan, numbers: Packed, random: Random) -> Planted | None:
    """A wide matrix or permutation has two of its bits in the wrong order."""
    found = drawn_step(plan, random, DenseMatrix | BasisPermutation)
    if found is None or len(found[1].bits) < 2:
        return None
    at, step = found
    return with_step(plan, at, replace(step, bits=exchanged(step.bits, 0, len(step.bits) - 1))), numbers
