"""`make_plan`: from instructions to a plan, which native code makes (core/native/planner).

Absorb → cancel → fuse → join runs → gather → rotate → (grow a tile → grow its register blocks → items)* → coefficient
program; where a state is larger than one device, the work is divided into stages in between. A circuit full of CX may
then be planned once more, in a CNOT frame, and the plan that is predicted to take less time is taken. Native code works
for some milliseconds at a time, so that Ctrl-C and `cancel` end it. `steps` says what a plan is, `cost` its time.
"""

from __future__ import annotations

import ctypes
import random
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, Initialize, Op, Permutation, Unitary
from qsim_ex.errors import NotSupported, PlanError
from qsim_ex.later import later
from qsim_ex.native.library import REFUSED, address, check_cancelled, function, integers, refusal, unchecked
from qsim_ex.planning import rules
from qsim_ex.planning.longer import MOST, Longer
from qsim_ex.steps.compiled import NativeCoefficients, steps_of
from qsim_ex.steps.layout import Layout, Levels, Shape
from qsim_ex.steps.plan import Plan, Stage
from qsim_ex.steps.plan_arrays import LISTED, NAMES, Memory, PlanArrays

if TYPE_CHECKING:
    from qsim_ex.planning import levels as above
else:
    above = later("qsim_ex.planning.levels")

MOST_WIRES = 62
"""Masks of more index bits do not fit into the integers of native code."""

_SLICE = 50
"""Milliseconds for which native code works before it returns to Python."""

_WAITS, _TOO_LARGE, _TOO_WIDE, _LONGER = 2, -2, -3, -4
"""What native code returns while it waits to read on, and of plans that cannot be made."""

Integers = NDArray[np.int64]


def make_plan(
    instructions: tuple[Unitary, ...],
    num_wires: int,
    start: Layout,
    shape: Shape,
    fresh: int = 0,
    levels: Levels | None = None,
    place: bool = False,
) -> Plan:
    """Plan straight-line unitary work on a state in layout `start`, for devices of this shape.

    fresh: mask of index bits that are 0 in all of the state, whose other amplitudes memory need not hold (see
    `steps.Sweep`); all bits for a state of which only amplitude 0 is written, and is 1.
    levels: how the index bits are divided; None, or enough local bits, for one device that holds all of them.
    place: whether wires on fresh index bits may be put on other fresh bits: `Plan.start` then says on which. (They are
    relabelled in any case, since that costs nothing; without `place` it shows in `Plan.end` only.)
    The plan depends on structure alone: circuits that differ in angles share it, see `execution.prepare.plan_of`.
    Raises `OptionError` for levels that do not fit, `NotSupported` for too many wires and for an operation wider than a
    sub state vector.
    """
    if num_wires > MOST_WIRES:
        raise NotSupported(
            f"expected a state of at most {MOST_WIRES} wires, got {num_wires}; use fewer wires that gates join."
        )
    if levels is None or levels.local >= num_wires:
        return compiled_plan(instructions, num_wires, start, shape, fresh, place)
    above.check(levels, num_wires)
    return compiled_stages(instructions, num_wires, start, shape, fresh, levels, place)


def compiled_plan(
    instructions: tuple[Unitary, ...],
    num_wires: int,
    start: Layout,
    shape: Shape,
    fresh: int,
    place: bool,
) -> Plan:
    """Return the plan of `make_plan` for a state on one device. `shape` is fitted to it by this function."""
    fitted = shape.fit(num_wires)
    tries = place and fresh == (1 << num_wires) - 1 and fitted.tile < num_wires
    choices = lows(num_wires, fitted.low) + lows(num_wires, fitted.fewer) if tries else ()
    planner = planned(instructions, num_wires, start, fitted, fresh, choices)
    arrays, (flip, end_flip, *changes, low) = planner.arrays()
    reordered, floats, linear = map(bool, changes)
    moved = Layout(arrays.bits_of("start"), flip) if reordered or floats else start
    named = ((place,) if reordered else ()) + (("floating",) if floats else ()) + (("linear",) if linear else ())
    steps = steps_of(arrays)
    plan = Plan(
        num_wires=num_wires,
        stages=(Stage(steps, fresh=fresh),) if steps else (),
        start=moved,
        end=Layout(arrays.bits_of("end"), end_flip),
        coefficients=NativeCoefficients.of(arrays),
        shape=fitted if low == fitted.low else fitted.narrow(),
        num_gates=len(instructions),
        made_from=(instructions, num_wires, start, shape, fresh, *_marks(shape), *named),
        levels=Levels(num_wires),
        fresh=fresh,
    )
    plan.__dict__["steps"] = steps  # so that nobody collects them from the stages
    return plan


def compiled_stages(
    instructions: tuple[Unitary, ...],
    num_wires: int,
    start: Layout,
    shape: Shape,
    fresh: int,
    levels: Levels,
    place: bool,
) -> Plan:
    """Return the plan of `make_plan` for a state on several levels. `shape` is fitted to a sub state vector."""
    fitted = shape.fit(levels.local)
    choices = lows(num_wires, fitted.low) if fresh == (1 << num_wires) - 1 else ()
    planner = planned(instructions, num_wires, start, fitted, fresh, choices, levels, place)
    arrays, (flip, end_flip, *_) = planner.arrays()
    arrays.staged = True
    (rows, parities, left), steps = planner.stages(), steps_of(arrays)
    plan = Plan(
        num_wires=num_wires,
        stages=above.stages_of(rows, steps),
        start=Layout(arrays.bits_of("start"), flip),
        end=Layout(arrays.bits_of("end"), end_flip),
        coefficients=NativeCoefficients.of(arrays),
        shape=fitted,
        num_gates=len(instructions),
        made_from=(
            *(instructions, num_wires, start, shape, fresh, *_marks(shape), levels, place),
            *((shape.stays, "far parities") if parities else ()),
        ),
        levels=levels,
        fresh=fresh,
        left=left,
    )
    plan.__dict__["steps"] = steps
    return plan


def _marks(shape: Shape) -> tuple[str, ...]:
    """Return what a plan's key needs to know of its shape and the representation of the shape does not show."""
    return *(() if shape.relabels else ("ordered",)), *(f"without {name}" for name in shape.left_out)


def planned(
    instructions: tuple[Unitary, ...],
    num_wires: int,
    start: Layout,
    fitted: Shape,
    fresh: int,
    choices: tuple[int, ...],
    levels: Levels | None = None,
    place: bool = False,
) -> Planner:
    """Return a planner that is done. choices: of the lowest bits of a new state, which it may try."""
    promise = rules.PROMISE
    given = [
        *(fitted.tile, fitted.registers, fitted.low, fitted.edge),
        *(-1 if fitted.most_blocks is None else fitted.most_blocks, fitted.dense),
        *(fitted.table, fitted.start),
        *(fitted.block_made, fitted.block is not None),
        *(start.flip, fresh, fitted.floats, fitted.relabels, fitted.linear, fitted.fewer),
        rules.mask_of_rules(fitted.left_out) if fitted.left_out else 0,
        *(num_wires, *start.address, len(choices), *choices),
        *((0,) if levels is None else (1, *above.as_integers(levels, fitted, place, rules.PARITIES))),
    ]
    rates = [
        *(fitted.item_work, fitted.balance, fitted.block or 0.0, fitted.seen, fitted.transposed),
        *(fitted.counted, fitted.exchanged, fitted.scattered, fitted.elsewhere, fitted.permute),
        *(promise.cx_ratio * (fitted.cx_ratio if fresh else fitted.cx_ratio_there), promise.piece, promise.gain),
        MOST.get(),
        *(() if levels is None else above.rates_of(levels)),
    ]
    planner = Planner(instructions, given, rates)
    planner.run(num_wires if levels is None else levels.local)
    return planner


def _impossible(state: int, instructions: tuple[Unitary, ...], local: int) -> Longer | NotSupported | PlanError:
    """Return the error for what native code says of a plan that it cannot make."""
    if state == _LONGER:
        return Longer()
    if state == _TOO_LARGE:
        return NotSupported(
            f"expected a circuit whose matrices and their products have at most {1 << 32} entries, got more; "
            "divide it into several circuits."
        )
    if state == _TOO_WIDE:
        return above.too_wide(instructions, local)
    return PlanError("expected a sweep to run some of its work, got none. This is a bug of qsim-ex; please report it.")


def worked(handle: int, kind: Literal["plan", "form", "writer"]) -> int:
    """Let native code work on a plan, a form, or what is written of it, slice by slice; return 0, or why there is none.

    Raises `Cancelled`, `KeyboardInterrupt` and `OutOfMemory`.
    """
    advance = unchecked(f"{kind}_advance")
    while (state := advance(handle, _SLICE)) > 0:
        check_cancelled()  # and here Python looks for Ctrl-C
        if state == _WAITS:
            function(f"{kind}_read")(handle)
    if state == REFUSED:
        raise refusal(advance)
    return int(state)


class Planner:
    """A planner in native code, and the memory of the arrays that it makes."""

    handle = 0  # until there is one: Ctrl-C may come before `__init__` begins

    def __init__(self, instructions: tuple[Unitary, ...], given: list[int], rates: list[float]) -> None:
        self._free = function("plan_free")
        ops, types = as_ops(instructions)
        self._instructions, self._read = instructions, (ops, types)  # kept, since a large circuit is read part by part
        sizes, reals = struct.pack(f"{len(given)}q", *given), struct.pack(f"{len(rates)}d", *rates)
        self.handle = function("plan_begin")(ops, 0 if types is None else address(types), sizes, reals)

    def run(self, local: int) -> None:
        """Plan to the end; raises `Longer`, `NotSupported`, `OutOfMemory` or `PlanError`; local: of how many bits."""
        if state := worked(self.handle, "plan"):
            raise _impossible(state, self._instructions, local)
        del self._instructions, self._read

    def arrays(self) -> tuple[PlanArrays, tuple[int, int, int, int, int, int]]:
        """Return the arrays, which keep this object alive, and six integers about the plan.

        The flips of both layouts; whether wires were moved, whether the lowest bits change from sweep to sweep, and
        whether the plan is in a CNOT frame; and how many bits are lowest.
        """
        function("plan_arrays")(self.handle, out := integers(2 * len(NAMES) + 11))
        *found, flip, end_flip, operands, reordered, floats, linear, low, size, program_bytes, others, steps = out[:]
        changes = flip, end_flip, reordered, floats, linear, low
        return PlanArrays(self, steps, found, operands, size, program_bytes, others), changes

    def stages(self) -> tuple[list[int], bool, int]:
        """Return the stages as integers, whether parities are far, and which index bits are fresh in the end."""
        function("plan_stages")(self.handle, out := integers(4))
        at, count, parities, left = out
        return Memory(self, at, count, "i8").array().tolist(), bool(parities), left

    def listed(self) -> list[int]:
        """Return address and length of each array of the listed coefficient program, which this object keeps."""
        out, listed = integers(2 * len(LISTED)), unchecked("plan_listed")
        if listed(self.handle, out) == REFUSED:
            raise refusal(listed)
        return out[:]

    def passes(self) -> float:
        """Return how long a plan for one device takes, in passes over the full state."""
        function("plan_time")(self.handle, ctypes.byref(out := ctypes.c_double()))
        return out.value

    def __del__(self) -> None:
        if self.handle:
            self._free(self.handle)


_OP, _PERMUTATION, _INITIALIZE = range(3)


def as_ops(instructions: tuple[Unitary, ...]) -> tuple[tuple[Op, ...], Integers | None]:
    """Return all as operations, permutations with their indices as reads, and their types; None if all are."""
    if function("structure_alike")(instructions, Op) == len(instructions):
        return cast(tuple[Op, ...], instructions), None
    types = np.zeros(len(instructions), dtype=np.int64)
    ops = []
    for number, instruction in enumerate(instructions):
        match instruction:
            case Op():
                ops.append(instruction)
            case Permutation(wires, indices):
                types[number] = _PERMUTATION
                ops.append(Op(wires, indices, ALWAYS, b"", 0, "permutation"))
            case Initialize(wires, operand):
                types[number] = _INITIALIZE
                ops.append(Op(wires, (), ALWAYS, b"", operand, "initialize"))
    return tuple(ops), types


@lru_cache(maxsize=64)
def lows(num_bits: int, low: int) -> tuple[int, ...]:
    """Return the choices of the lowest bits of a new state that are tried beside those that are lowest already."""
    chance = random.Random(0)
    return tuple(sum(1 << bit for bit in chance.sample(range(num_bits), low)) for _ in range(rules.TRIES))
