"""The cost of a plan: bytes at every level of memory, multiply-adds and seconds, predicted and not measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from itertools import zip_longest
from typing import TypeVar

from qsim_ex.planning.cost.rates import H200, Rates
from qsim_ex.planning.cost.stage_cost import StageCost, seconds, seconds_beside_copies, stage_costs
from qsim_ex.planning.cost.step_cost import Cost, step_cost
from qsim_ex.precision import Precision
from qsim_ex.steps.plan import Exchange, Migration, Plan

__all__ = ["NO_WORK", "Cost", "PlanSummary", "Rates", "StageCost", "stage_costs", "step_cost", "summary"]


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """A plan as a few numbers, for results and tables.

    gates: the number of planned instructions.
    stages: the number of stages, between which a divided state is exchanged or copied; 1 on one device.
    sweeps: the number of passes over the device's memory that do the gates.
    register_blocks: the number of register blocks in all sweeps; in one the same few index bits are in registers.
    items: the number of matrices, diagonals and basis permutations in all register blocks.
    wide: the number of steps that are no sweeps, such as gates on many wires.
    bytes_moved: the bytes that are read and written in device memory.
    fma: the number of real multiply-adds, or of other operations that take as long.
    key: a digest of the plan; equal plans have equal keys.
    exchanges: the number of exchanges between devices.
    passes: the number of passes over host memory.
    bytes_peers: the bytes that are sent from device to device.
    bytes_host: the bytes that are copied between devices and host, both ways together.
    seconds: the predicted time of the gates: on GPUs by the rates of an H200, unless a `Cluster` names others; on a CPU
        by those of as many threads as work, each of which reads and writes 10 GB/s. Plans of 20 wires took 0.6 to 1.3
        times as long on one thread.
    bytes_layers: the part of `bytes_peers` that goes over each layer of the network, nearest first.
    seconds_layers: the part of `seconds` that goes over each layer of the network, nearest first.
    """

    gates: int
    stages: int
    sweeps: int
    register_blocks: int
    items: int
    wide: int
    bytes_moved: int
    fma: float
    key: str
    exchanges: int = 0
    passes: int = 0
    bytes_peers: int = 0
    bytes_host: int = 0
    seconds: float = 0.0
    bytes_layers: tuple[int, ...] = ()
    seconds_layers: tuple[float, ...] = ()

    def __add__(self, other: PlanSummary) -> PlanSummary:
        keys = "+".join(filter(None, (self.key, other.key)))
        names = [f.name for f in fields(self) if f.name not in ("key", "bytes_layers", "seconds_layers")]
        return PlanSummary(
            key=keys,
            bytes_layers=_sums(self.bytes_layers, other.bytes_layers),
            seconds_layers=_sums(self.seconds_layers, other.seconds_layers),
            **{name: getattr(self, name) + getattr(other, name) for name in names},
        )

    def to_json(self) -> dict[str, object]:
        """Return the summary as plain numbers and strings."""
        return asdict(self)


Figure = TypeVar("Figure", int, float)


def _sums(one: tuple[Figure, ...], other: tuple[Figure, ...]) -> tuple[Figure, ...]:
    """Return the sums of the figures of each layer; a plan without exchanges may have none."""
    return tuple(a + b for a, b in zip_longest(one, other, fillvalue=0))


NO_WORK = PlanSummary(0, 0, 0, 0, 0, 0, 0, 0.0, "")


def summary(
    plan: Plan,
    precision: Precision,
    rates: Rates = H200,
    copied: tuple[int, int] | None = None,
    *,
    overlaps: bool = True,
) -> PlanSummary:
    """Return the counts of a plan, for amplitudes of a precision on a machine of these rates.

    copied: bytes from the host to a device and back, where it is known which slices stay on the device from one pass to
    the next; None if no slice stays. overlaps: whether one window is copied while another one is worked on.
    """
    given = plan.stages, plan.num_wires, plan.levels, precision, rates
    costs = stage_costs(*given, shape=plan.shape)
    bytes_host = int(sum(cost.host_in + cost.host_out for cost in costs))
    time = seconds(plan.stages, costs)
    if copied is not None:
        bytes_host = sum(copied)
        time = seconds_beside_copies(costs, rates, copied, overlaps=overlaps)
    sweeps = plan.sweeps
    layers = [*zip(*(cost.layers for cost in costs if cost.layers), strict=True)]
    register_blocks = [block for sweep in sweeps for block in sweep.register_blocks]
    return PlanSummary(
        gates=plan.num_gates,
        stages=len(plan.stages),
        sweeps=len(sweeps),
        register_blocks=len(register_blocks),
        items=sum(len(block.items) for block in register_blocks),
        wide=len(plan.steps) - len(sweeps),
        bytes_moved=int(sum(cost.memory for cost in costs)),
        fma=sum(cost.fma for cost in costs),
        key=plan.key,
        exchanges=sum(isinstance(stage.motion, Exchange) for stage in plan.stages),
        passes=sum(isinstance(stage.motion, Migration) for stage in plan.stages),
        bytes_peers=int(sum(cost.peers for cost in costs)),
        bytes_host=bytes_host,
        seconds=time,
        bytes_layers=tuple(int(sum(one.bytes for one in each)) for each in layers),
        seconds_layers=tuple(sum(one.seconds for one in each) for each in layers),
    )
