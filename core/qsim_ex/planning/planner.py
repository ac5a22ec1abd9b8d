"""`make_plan`: from instructions to a plan. This is the only place that fixes the order of planning's steps.

absorb → cancel → fuse → join runs → gather → rotate → (grow a tile → grow its phases → assemble)* → number program;
where a state is larger than one device, the work is divided into stages in between. A new state full of CX may then be
planned once more, over subspaces (`linear`), and the plan that is foretold to take less time is taken.

Plans are made by native code (`compiled`), which takes the same steps in the same order. The Python of this room plans
states of more than `MOST_WIRES` wires and full states over subspaces, and is what tests compare compiled plans with.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from qsim_ex.circuit import thresholds
from qsim_ex.circuit.ops import Initialize, Op, Unitary
from qsim_ex.errors import OptionError
from qsim_ex.planning.compiled import MOST_WIRES, compiled_plan, compiled_stages
from qsim_ex.planning.numbers.binding import bind
from qsim_ex.steps.algebra import Map
from qsim_ex.steps.layout import Layout, Levels, Shape
from qsim_ex.steps.plan import Plan, Stage

if TYPE_CHECKING:
    from qsim_ex.planning.attempt import Attempt, Given
    from qsim_ex.planning.linear.sweep import LinearPlan
    from qsim_ex.planning.numbers.program import NumberProgram
    from qsim_ex.planning.work import Work

__all__ = ["bind", "make_plan"]

LARGE = 1 << 13
"""A plan of more instructions than this is large; it takes about half a KiB for each of them."""

_MANY, _FEW = 256, 4

Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")


class Kept(Generic[Arguments, Made]):
    """A function that keeps its results; `size_of` says how many instructions its first argument has."""

    def __init__(self, make: Callable[Arguments, Made], size_of: Callable[[Any], int]) -> None:
        self._size_of = size_of
        self._many = lru_cache(maxsize=_MANY)(make)
        self._few = lru_cache(maxsize=_FEW)(make)
        update_wrapper(self, make)
        thresholds.depends(self)

    def __call__(self, *given: Arguments.args, **named: Arguments.kwargs) -> Made:
        """Return the result, made now or before."""
        kept = self._few if self._size_of(given[0]) > LARGE else self._many
        return kept(*given, **named)  # type: ignore[arg-type]  # all arguments are hashable

    def cache_info(self) -> Any:
        """Return the counts of `functools.lru_cache`, of small circuits and large ones together."""
        many, few = self._many.cache_info(), self._few.cache_info()
        return many._replace(
            hits=many.hits + few.hits, misses=many.misses + few.misses, currsize=many.currsize + few.currsize
        )

    def cache_clear(self) -> None:
        """Forget all results."""
        self._many.cache_clear()
        self._few.cache_clear()


def kept(size_of: Callable[[Any], int]) -> Callable[[Callable[Arguments, Made]], Kept[Arguments, Made]]:
    """Return a decorator for functions whose results are kept; see `Kept`."""
    return lambda make: Kept(make, size_of)


@kept(size_of=len)
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
    The plan depends on structure alone: circuits that differ in angles share it, and this function's cache.
    Raises `OptionError` for levels that do not fit, `NotSupported` for an operation wider than a sub state vector.
    """
    if levels is None or levels.local >= num_wires:
        if num_wires <= MOST_WIRES and not (shape.opens and not fresh):
            return compiled_plan(instructions, num_wires, start, shape, fresh, place)
        levels = Levels(num_wires)
    else:
        _check(levels, num_wires)
        if num_wires <= MOST_WIRES:
            plan = compiled_stages(instructions, num_wires, start, shape, fresh, levels, place)
            if plan is not None:
                return plan  # else Python says why not: an operation may be too wide
    return python_plan(instructions, num_wires, start, shape, fresh, levels, place)


def python_plan(
    instructions: tuple[Unitary, ...],
    num_wires: int,
    start: Layout,
    shape: Shape,
    fresh: int,
    levels: Levels,
    place: bool,
) -> Plan:
    """Return the plan of `make_plan`, made in Python: for states of many wires, and to test native code against."""
    from qsim_ex.planning.stages.staging import make_stages

    if levels.local < num_wires:
        _check(levels, num_wires)
    fitted = shape.fit(levels.local)
    work, end, program = _rewritten(instructions, num_wires, start, fitted, fresh)
    left = 0
    undone: Map = ()
    stages: tuple[Stage, ...]
    made_from: tuple[object, ...] = (instructions, num_wires, start, shape, fresh)
    made_from += () if shape.relabels else ("ordered",)
    if levels.local == num_wires:
        from qsim_ex.planning.attempt import Given, attempt, fastest
        from qsim_ex.planning.ways import Ways

        whole = fresh == (1 << num_wires) - 1
        given = Given(work, start, end, fitted, program, fresh, place and whole)
        ways = Ways(work, num_wires, fitted, fresh, new=given.new)
        made = attempt(ways.usual, given)
        linear = _linear(made, given, grows=whole) if fitted.linear and (whole or not fresh) else None
        if linear:
            steps, program, undone = linear.steps, linear.program, linear.undone
            end = Layout(end.address, end.flip ^ linear.flip).moved(linear.at)
            made_from += ("open",) if fitted.opens and not whole else ()
            made_from += (("floating",) if fitted.floats and not whole else ()) + ("linear",)
        else:
            made = fastest([made, *(attempt(way, given) for way in ways.others())])
            steps, start, end, program, fitted = made.steps, made.start, made.end, made.program, made.shape
            made_from += ((place,) if made.reordered else ()) + (("floating",) if made.floats else ())
        stages = (Stage(tuple(step for step, _ in steps), fresh=fresh),) if steps else ()
        packed = [places for _, places in steps]
    else:
        found = make_stages(work, num_wires, levels, fitted, program, fresh, linear=shape.relabels)
        stages, packed, positions, program, renamed = found
        end = renamed.behind(end) if renamed else end
        homes, starts = positions.homes(), positions.starts() if place else None
        left = sum(1 << homes[bit] for bit in range(num_wires) if positions.fresh >> bit & 1)
        start, end = start if starts is None else start.moved(starts), end.moved(homes)
        made_from += (levels, place)
        made_from += (shape.stays, "far parities") if renamed else ()
    return Plan(
        num_wires=num_wires,
        stages=stages,
        start=start,
        end=end,
        numbers=program.finish(packed),
        shape=fitted,
        num_gates=len(instructions),
        made_from=made_from,
        levels=levels,
        fresh=fresh,
        left=left,
        undone=undone,
    )


def _rewritten(
    instructions: tuple[Unitary, ...], num_wires: int, start: Layout, shape: Shape, fresh: int
) -> tuple[list[Work], Layout, NumberProgram]:
    """Return the work of instructions after all rewriting, the layout at its end, and the program of its numbers."""
    from qsim_ex.planning.numbers.program import NumberProgram
    from qsim_ex.planning.rewrite.absorb import absorb
    from qsim_ex.planning.rewrite.fuse import MOST_BITS, fuse
    from qsim_ex.planning.rewrite.rotate import gather, rotate

    work, end = absorb(instructions, start, shape, fresh)
    renamed = [piece.touch for piece in work if piece.kind == "rename"]
    if shape.relabels and len(set(renamed)) < len(renamed):  # which may exchange bits
        from qsim_ex.planning.rewrite.cancel import cancel

        work, exchanged = cancel(work, num_wires)
        end = end.moved(exchanged)
    program = NumberProgram(_num_operands(instructions))
    if shape.relabels:
        from qsim_ex.planning.rewrite.controls import controls

        work = controls(work, program)
    work = fuse(work, program, shape.item_work)
    if num_wires >= shape.start and shape.dense >= MOST_BITS:
        from qsim_ex.planning.rewrite.runs import join_runs

        work = join_runs(work, program, shape.item_work)
    cheap = shape.item_work <= thresholds.now.rewriting.item_work
    if sum(piece.kind == "diagonal" for piece in work) > 1:
        work = gather(work, program, cheap=cheap)
    if cheap:
        work = rotate(work, program)
    return work, end, program


def _linear(made: Attempt, given: Given, *, grows: bool) -> LinearPlan | None:
    """Return a plan over subspaces that takes clearly less time than the one that is made."""
    from qsim_ex.planning.linear.schedule import cheaper
    from qsim_ex.planning.linear.sweep import time_of

    time = time_of(made.steps, len(given.end), made.shape)
    return cheaper(time, given.work, len(given.end), given.shape, given.program, grows=grows)


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
        from qsim_ex.options.network import describe

        raise OptionError(
            f"expected layers of {levels.peers} bits, one for each device bit, got {describe(levels.layers)}; pass "
            "other layers."
        )


def _num_operands(instructions: tuple[Unitary, ...]) -> int:
    """Return the least length of an operand array that contains the numbers of all instructions."""
    size = 2
    for instruction in instructions:
        if isinstance(instruction, Op):
            size = max(size, instruction.operand + len(instruction.pattern))
        elif isinstance(instruction, Initialize):
            size = max(size, instruction.operand + (1 << len(instruction.wires)))
    return size
