"""What a plan costs, as data that adds up: bytes and multiply-adds, counted and not measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, assert_never

from qsim_ex.circuit.ops import mask_of
from qsim_ex.planning import patterns
from qsim_ex.steps import Clear, Diagonal, Item, Mix, Plan, Rename, Shuffle, Spread, Step, Sweep, Wide


@dataclass(frozen=True, slots=True)
class Cost:
    """bytes: read and written in the memory of the sub state vector. fma: real multiply-adds."""

    bytes: float = 0.0
    fma: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.bytes + other.bytes, self.fma + other.fma)

    def seconds(self, bytes_per_second: float, fma_per_second: float) -> float:
        """The longer of the two times that a machine of these rates needs."""
        return max(self.bytes / bytes_per_second, self.fma / fma_per_second)


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """A plan in a line of numbers, for results and tables.

    gates: instructions that were planned. stages, sweeps, phases, items: see `steps`. wide: steps that are not sweeps.
    bytes_moved: read and written in device memory. fma: real multiply-adds. key: the plan's digest.
    """

    gates: int
    stages: int
    sweeps: int
    phases: int
    items: int
    wide: int
    bytes_moved: int
    fma: float
    key: str

    def __add__(self, other: PlanSummary) -> PlanSummary:
        return PlanSummary(
            self.gates + other.gates,
            self.stages + other.stages,
            self.sweeps + other.sweeps,
            self.phases + other.phases,
            self.items + other.items,
            self.wide + other.wide,
            self.bytes_moved + other.bytes_moved,
            self.fma + other.fma,
            "+".join(filter(None, (self.key, other.key))),
        )

    def to_json(self) -> dict[str, Any]:
        """The summary as plain numbers and strings."""
        return asdict(self)


NO_WORK = PlanSummary(0, 0, 0, 0, 0, 0, 0, 0.0, "")


def item_work(item: Item) -> float:
    """Multiply-adds for one amplitude; a condition on k bits leaves one in 2^k amplitudes."""
    match item:
        case Mix(bits, _, when, of):
            return patterns.mix_work(of, 1 << len(bits)) * 0.5 ** when.mask.bit_count()
        case Diagonal(_, when, of):
            return patterns.diagonal_work(of) * 0.5 ** when.mask.bit_count()
        case Rename():
            return 0.0
        case _:
            assert_never(item)


def step_cost(step: Step, num_bits: int, itemsize: int) -> Cost:
    """The cost of one step on a state of 2^num_bits amplitudes of `itemsize` bytes."""
    amplitudes = float(1 << num_bits)
    passes = 2.0 * amplitudes * itemsize  # one read and one write
    match step:
        case Sweep(tile, phases, _, _, fresh):
            work = sum(item_work(item) for phase in phases for item in phase.items)
            before = amplitudes / (1 << fresh.bit_count())
            after = amplitudes / (1 << (fresh & ~mask_of(tile)).bit_count())
            return Cost((before + after) * itemsize, work * after)
        case Clear(fresh):
            return Cost((amplitudes - amplitudes / (1 << fresh.bit_count())) * itemsize)
        case Wide(bits, _, when):
            share = 0.5 ** when.mask.bit_count()
            return Cost(passes * share, 4.0 * (1 << len(bits)) * amplitudes * share)
        case Shuffle() | Spread():
            return Cost(passes)
        case _:
            assert_never(step)


def plan_cost(plan: Plan, itemsize: int) -> Cost:
    """The cost of a whole plan."""
    return sum((step_cost(step, plan.num_wires, itemsize) for step in plan.steps), Cost())


def summary(plan: Plan, itemsize: int) -> PlanSummary:
    """Count what is in a plan, for amplitudes of `itemsize` bytes."""
    cost = plan_cost(plan, itemsize)
    phases = [phase for sweep in plan.sweeps for phase in sweep.phases]
    return PlanSummary(
        gates=plan.num_gates,
        stages=len(plan.stages),
        sweeps=len(plan.sweeps),
        phases=len(phases),
        items=sum(len(phase.items) for phase in phases),
        wide=len(plan.steps) - len(plan.sweeps),
        bytes_moved=int(cost.bytes),
        fma=cost.fma,
        key=plan.key,
    )
