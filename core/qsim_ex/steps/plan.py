"""The `Plan`: steps in stages, with the motions of amplitudes between them.

`fresh_after` is the one rule by which steps change which positions are fresh; planning, the verifier, costs and
placements all use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, assert_never

from qsim_ex import thresholds
from qsim_ex.circuit.digest import digest_of
from qsim_ex.circuit.ops import Op, When, mask_of
from qsim_ex.errors import PlanError
from qsim_ex.steps.coefficients import Coefficients
from qsim_ex.steps.layout import Layout, Levels, Shape
from qsim_ex.steps.step import BasisPermutation, DenseMatrix, InitialAmplitudes, Step, Sweep, ZeroFill


@dataclass(frozen=True, slots=True)
class Exchange:
    """Position ``swaps[k][0]`` (local) and position ``swaps[k][1]`` (a device bit) are exchanged, all pairs at once.

    Half of every sub state vector (with one pair) moves to another device and stays there: the former device bit is
    local from now on, and the former local bit is a device bit. Pairs are disjoint; local positions are `Levels.slice`
    or higher.
    """

    swaps: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Migration:
    """The beginning of a pass over a state kept in host memory: the choice of the index bits of its windows.

    The window of 2^(local + peers) amplitudes is filled 2^(migration bits) times, worked on, and written back to where
    it came from, so no amplitude has moved after a pass. bits: a permutation; position p of an index, as the steps of
    this pass see it, is index bit ``bits[p]`` at home. ``bits[p] == p`` below `Levels.slice`; the positions of the
    migration bits come last, ascending. With bits of ranks (`Levels.ranks`) these are the last ones, each on itself.
    swaps: pairs of an index bit and a rank's bit at home that are exchanged before the pass: half of each part, with
    one pair, moves to the host memory of another process, and stays there.
    """

    bits: tuple[int, ...]
    swaps: tuple[tuple[int, int], ...] = ()


Motion = Exchange | Migration


@dataclass(frozen=True, slots=True)
class Stage:
    """Steps between two motions: they mix local positions only, and may read all positions.

    motion: the motion before the steps; None where nothing has to move. The stages from one `Migration` up to the next
    are one pass: all of them run on a window before the next window is brought.
    fresh: mask of all positions that are fresh after the motion and before the steps (see `Sweep`); a sub state vector
    in which a fresh position from `Levels.local` up is 1 is zero: it is neither moved nor worked on.
    """

    steps: tuple[Step, ...]
    motion: Motion | None = None
    fresh: int = 0


def written(step: Step) -> int:
    """Return the mask of positions whose zeros a step writes: they are not fresh after it."""
    match step:
        case Sweep(tile=tile):
            return mask_of(tile)
        case ZeroFill(fresh):
            return fresh
        case (
            DenseMatrix() | BasisPermutation() | InitialAmplitudes()
        ):  # only sweeps know of fresh positions, so none is local here
            return 0
        case _:
            assert_never(step)


def fresh_after(fresh: int, steps: Iterable[Step]) -> int:
    """Return the mask of the positions that are still fresh after some steps, given the mask before them."""
    for step in steps:
        fresh &= ~written(step)
    return fresh


def begins_alike(stages: Sequence[Stage], num_bits: int, levels: Levels) -> bool:
    """Return whether all devices make the beginning of a new state alike, and then divide it without an exchange.

    Until device bits are mixed, one device has all of a new state. As long as it is small, the others can
    compute it themselves sooner than it could be sent to them; then each keeps the part of its number.
    """
    if len(stages) < 2 or not levels.peers or levels.local + levels.peers < num_bits:
        return False
    first, then = stages[:2]
    if first.motion is not None or first.fresh != (1 << num_bits) - 1 or not isinstance(then.motion, Exchange):
        return False
    return num_bits - fresh_after(first.fresh, first.steps).bit_count() <= thresholds.now.alike_bits


@dataclass(frozen=True, eq=False)
class Plan:
    """Straight-line unitary work, ready for any operands of the right structure.

    start, end: layouts before and after; SWAPs and Xs are contained in their difference and cost nothing.
    fresh: index bits that are fresh at the start (see `Sweep`).
    left: index bits that are still fresh at the end: bits from `Levels.local` up that nothing has mixed.
    levels: how the index bits are divided. Without migration bits, exchanges are contained in the difference of `start`
        and `end`; with them, both are layouts at home, which passes change by relabelling only.
    made_from: everything that the plan was made from.
    """

    num_wires: int
    stages: tuple[Stage, ...]
    start: Layout
    end: Layout
    coefficients: Coefficients
    shape: Shape
    num_gates: int
    made_from: tuple[object, ...]
    levels: Levels
    fresh: int = 0
    left: int = 0

    def __repr__(self) -> str:
        return f"Plan({self.num_gates} gates on {self.num_wires} wires in {len(self.steps)} steps, key {self.key})"

    @cached_property
    def key(self) -> str:
        """A digest of everything that the plan was made from, the same in every process; computed on first use."""
        return digest_of(self.made_from, Op)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All steps of all stages, in order; `Coefficients.packed` has one array for each."""
        return tuple(step for stage in self.stages for step in stage.steps)

    @property
    def sweeps(self) -> tuple[Sweep, ...]:
        """The steps that are sweeps."""
        return tuple(step for step in self.steps if isinstance(step, Sweep))

    def to_json(self) -> dict[str, object]:
        """Return the plan as plain lists, numbers and strings."""
        import dataclasses

        def plain(value: object) -> Any:
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                fields = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
                return {"type": type(value).__name__, **fields}
            if isinstance(value, When):
                return list(value)
            if isinstance(value, bytes):
                return value.hex()
            if isinstance(value, tuple | list):
                return [plain(v) for v in value]
            return value

        names = "num_wires stages start end shape num_gates key levels fresh left"
        return {name: plain(getattr(self, name)) for name in names.split()}


class Pass(NamedTuple):
    """A pass over a state that is at home in another memory: its windows are brought near, one after another.

    bits: the index bit at home of each position. stages: those of the pass. swaps: the pairs of index bits that ranks
    trade before it.
    """

    bits: tuple[int, ...]
    stages: list[Stage]
    swaps: tuple[tuple[int, int], ...]

    @property
    def steps(self) -> list[Step]:
        """The steps of all stages."""
        return [step for stage in self.stages for step in stage.steps]

    def windows(self, local: int, home: int) -> int:
        """Return how many windows of `local` bits a part of `home` bits has that are not known to be zero."""
        return 1 << ((1 << home) - (1 << local) & ~self.stages[0].fresh).bit_count()


def passes_of(plan: Plan) -> list[Pass]:
    """Return the passes of a plan; raise `PlanError` where one does not leave slices whole."""
    found: list[Pass] = []
    every = tuple(range(plan.num_wires))
    for stage in plan.stages:
        match stage.motion:
            case Migration(bits, swaps):
                found.append(Pass(bits, [stage], swaps))
            case Exchange() if not plan.levels.peers:
                raise PlanError("expected no exchange in a plan without device bits, got one.")
            case Exchange() | None:
                if not found:
                    found.append(Pass(every, [], ()))
                found[-1].stages.append(stage)
            case _:
                assert_never(stage.motion)
    for bits, _, _ in found:
        if sorted(bits) != list(every) or bits[: plan.levels.slice] != every[: plan.levels.slice]:
            raise PlanError(
                f"expected a permutation that keeps the {plan.levels.slice} bits of a slice, got a migration to {bits}."
            )
    return found
