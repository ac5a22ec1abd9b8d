"""`make_plan`: from instructions to a plan.

Native code plans (core/native/planner): absorb → cancel → fuse → join runs → gather → rotate → (grow a tile → grow its
register blocks → items)* → coefficient program; where a state is larger than one device, the work is divided into
stages in between. A circuit full of CX may then be planned once more, in a CNOT frame, and the plan that is predicted
to take less time is taken. Python says what a plan is (`steps`) and what it costs (`cost`).
"""

from __future__ import annotations

import itertools

from qsim_ex.circuit.ops import Unitary
from qsim_ex.errors import NotSupported, OptionError
from qsim_ex.options.network import describe
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.compiled import MOST_WIRES, lows, planned
from qsim_ex.steps.compiled import NativeCoefficients, steps_of
from qsim_ex.steps.layout import Layout, Levels, Shape
from qsim_ex.steps.plan import Exchange, Migration, Plan, Stage
from qsim_ex.steps.step import Step

__all__ = ["bind", "make_plan"]

_NO_MOTION, _EXCHANGE, _MIGRATION = range(3)


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
    _check(levels, num_wires)
    return compiled_stages(instructions, num_wires, start, shape, fresh, levels, place)


def _check(levels: Levels, num_wires: int) -> None:
    """Raise `OptionError` for levels that contradict each other."""
    if not 0 <= levels.slice < levels.local or levels.peers < 0 or levels.local + levels.peers > num_wires:
        raise OptionError(
            f"expected 0 <= slice < local, peers >= 0 and local + peers <= {num_wires} wires, got "
            f"slice={levels.slice}, local={levels.local}, peers={levels.peers}; pass other levels."
        )
    if levels.ranks and levels.migration(num_wires) < 1:
        raise OptionError(
            f"expected migration bits below the bits of ranks, got {levels} for {num_wires} wires; pass other levels."
        )
    if levels.layers and sum(layer.bits for layer in levels.layers) != levels.peers:
        raise OptionError(
            f"expected layers of {levels.peers} bits, one for each device bit, got {describe(levels.layers)}; pass "
            "other layers."
        )


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
    moved = Layout(tuple(arrays.start.tolist()), flip) if reordered or floats else start
    named = ((place,) if reordered else ()) + (("floating",) if floats else ()) + (("linear",) if linear else ())
    steps = steps_of(arrays)
    return Plan(
        num_wires=num_wires,
        stages=(Stage(steps, fresh=fresh),) if steps else (),
        start=moved,
        end=Layout(tuple(arrays.end.tolist()), end_flip),
        coefficients=NativeCoefficients.of(arrays),
        shape=fitted if low == fitted.low else fitted.narrow(),
        num_gates=len(instructions),
        made_from=(instructions, num_wires, start, shape, fresh, *_marks(shape), *named),
        levels=Levels(num_wires),
        fresh=fresh,
    )


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
    rows, parities, left = planner.stages()
    return Plan(
        num_wires=num_wires,
        stages=_stages(rows, steps_of(arrays)),
        start=Layout(tuple(arrays.start.tolist()), flip),
        end=Layout(tuple(arrays.end.tolist()), end_flip),
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


def _marks(shape: Shape) -> tuple[str, ...]:
    """Return what a plan's key needs to know of its shape and the representation of the shape does not show."""
    return *(() if shape.relabels else ("ordered",)), *(f"without {name}" for name in shape.left_out)


def _stages(rows: list[int], steps: tuple[Step, ...]) -> tuple[Stage, ...]:
    """Return the stages of some steps; the integers of `rows` are those of `Planner::stages` in plan.hpp."""
    integers = iter(rows)

    def some(count: int) -> tuple[int, ...]:
        return tuple(itertools.islice(integers, count))

    found, begin = [], 0
    for end in integers:
        fresh, kind, count = some(3)
        flat = some(2 * count)
        swaps = tuple(zip(flat[::2], flat[1::2], strict=True))
        bits = some(next(integers))
        motion = {_NO_MOTION: None, _EXCHANGE: Exchange(swaps), _MIGRATION: Migration(bits, swaps)}[kind]
        found.append(Stage(steps[begin:end], motion, fresh))
        begin = end
    return tuple(found)
