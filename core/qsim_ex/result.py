"""Results of runs: bits, expectation values, saved states, and the devices, plans and times of the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.display.amounts import plural
from qsim_ex.errors import MeasurementError
from qsim_ex.later import later
from qsim_ex.placement.deployment import Deployment
from qsim_ex.placement.index_bits import unpack
from qsim_ex.placement.outcomes import counts_of
from qsim_ex.precision import PRECISIONS, PrecisionName
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.execution import costs
    from qsim_ex.planning.cost import summary
else:
    costs = later("qsim_ex.execution.costs")
    summary = later("qsim_ex.planning.cost.summary")


@dataclass(frozen=True, eq=False)
class Provenance:
    """The devices, plans and times of a run.

    device, device_description: the name of the device, and its description. precision: 'single' (complex64) or
    'double' (complex128). deployment: how the state was divided over devices and host memory, and why. plans: the
    plans of the run. timings: seconds of plan, prepare, run, sample and total. peak_bytes: each device's memory for
    amplitudes. facts: the method, and why if it was chosen; the number of states; how many kernels came from disk; for
    a divided state the kind of host memory, the links between devices, and the bytes copied over each. others: the
    provenance of smaller separate parts; the fields above are those of the largest. rates: the speed of its device.
    """

    device: str
    device_description: str
    precision: PrecisionName
    deployment: Deployment
    plans: tuple[Plan, ...]
    timings: Mapping[str, float]
    peak_bytes: int
    facts: Mapping[str, Any]
    others: tuple[Provenance, ...] = ()
    rates: Callable[[], Any] | None = None

    @cached_property
    def plan(self) -> summary.PlanSummary:
        """The costs of the run (sweeps, bytes moved, …), counted from the plans at the first access."""
        what = self.plans, PRECISIONS[self.precision].storage.dtype, self.deployment
        own = costs.total_of(*what) if self.rates is None else costs.total_of(*what, self.rates())
        return sum([other.plan for other in self.others], own)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "plan": self.plan, "plans": (), "others": (), "rates": None}

    def __repr__(self) -> str:
        return f"Provenance({self.describe()})"

    def describe(self) -> str:
        """Return the device, the precision, the placement if it is divided, and the seconds in words."""
        divided = "" if self.deployment.in_one_piece else f", {self.deployment.kind}"
        return f"{self.device}, {self.precision} precision{divided}, {self.timings['total']:.3g} s"


class _Ran:
    """The fields of `Provenance` as properties of every result."""

    __slots__ = ()

    provenance: Provenance

    @property
    def device(self) -> str:
        """The name of the device of the run."""
        return self.provenance.device

    @property
    def device_description(self) -> str:
        """The description of the device."""
        return self.provenance.device_description

    @property
    def device_reason(self) -> str:
        """The reason for the device and the placement."""
        return self.provenance.deployment.reason

    @property
    def precision(self) -> PrecisionName:
        """The precision of the amplitudes: 'single' (complex64) or 'double' (complex128)."""
        return self.provenance.precision

    @property
    def placement(self) -> str:
        """The kind of placement: 'single', 'peers', 'migrated', 'peers over host', 'ranks', or 'ranks over host'."""
        return self.provenance.deployment.kind

    @property
    def deployment(self) -> Deployment:
        """The division of the state over devices and host memory, with the reason."""
        return self.provenance.deployment

    @property
    def plan(self) -> summary.PlanSummary:
        """The costs of the run: sweeps, bytes moved, multiply-adds."""
        return self.provenance.plan

    @property
    def timings(self) -> Mapping[str, float]:
        """Seconds of plan, prepare, run, sample and total."""
        return self.provenance.timings

    @property
    def peak_bytes(self) -> int:
        """Each device's memory for amplitudes."""
        return self.provenance.peak_bytes

    @property
    def facts(self) -> Mapping[str, Any]:
        """The number of states, and for a divided state the bytes copied over each link; see `Provenance`."""
        return self.provenance.facts


def _held(result: Result | BatchResult) -> list[str]:
    """Return the shots and the saved states of a result in words."""
    shots, labels = result.shots, ", ".join(map(repr, result.saved))
    sampled = [] if shots is None else [f"{plural(shots, 'shot')} of {plural(result.num_clbits, 'bit')}"]
    return sampled + [f"saved {labels}"] * bool(labels)


@dataclass(frozen=True, eq=False, slots=True)
class Records:
    """What the shots of a run have recorded under one label (`CircuitBuilder.record`): of each shot a list of values.

    values: uint8 [all, bits], shot after shot, each shot's in order; the least significant bit first.
    counts: the number of values of each shot, int64 [shots].
    """

    values: NDArray[np.uint8]
    counts: NDArray[np.int64]

    def padded(self) -> NDArray[np.uint8]:
        """Return the values as uint8 [shots, the longest list, bits], with 0 where a list is shorter."""
        most = int(self.counts.max(initial=0))
        found = np.zeros((len(self.counts), most, self.values.shape[1]), dtype=np.uint8)
        found[np.arange(most) < self.counts[:, None]] = self.values
        return found


@dataclass(frozen=True, eq=False, slots=True)
class Result(_Ran):
    """The outcome of one circuit.

    shots: the number of shots, or None if there are none.
    num_clbits: the number of classical bits.
    packed: uint8 [shots, ceil(num_clbits / 8)], bit c is bit c % 8 of byte c // 8, or 0 unmeasured; None without shots.
    saved: the saved values by their labels: amplitudes [2^n] of a state vector in the order of the wires (bit w of the
        index = wire w), or another kind of value, of the shape that `circuit.saves.SAVE_KINDS` says. A list has one
        more axis, the first: the trajectories. Values by classical memory are a dictionary: classical bits -> value.
    seed: the seed that gives these shots again.
    provenance: the devices, plans and times of the run; its fields are properties of the result too.
    records: what the shots have recorded, by its label; empty without shots.
    """

    shots: int | None
    num_clbits: int
    packed: NDArray[np.uint8] | None
    saved: Mapping[str, Any]
    seed: int
    provenance: Provenance
    records: Mapping[str, Records] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Result({', '.join([*_held(self), self.provenance.describe()])})"

    def bits(self) -> NDArray[np.uint8]:
        """Return the bits of all shots, uint8 [shots, num_clbits]; column c is classical bit c.

        Raises `MeasurementError` without shots.
        """
        return unpack(self._shots(), self.num_clbits)

    def counts(self) -> dict[int, int]:
        """Return the number of shots with each value of the classical bits, bit c of a value = classical bit c.

        Values are Python integers of any size, in increasing order. Raises `MeasurementError` without shots.
        """
        return counts_of(self._shots())

    def metadata(self) -> dict[str, Any]:
        """Return the fields of the run and of its provenance as a dictionary for JSON."""
        return {
            "shots": self.shots,
            "seed": self.seed,
            "device": self.device,
            "device_description": self.device_description,
            "device_reason": self.device_reason,
            "precision": self.precision,
            "placement": self.placement,
            "plan": self.plan.to_json(),
            "timings": dict(self.timings),
            "peak_bytes": self.peak_bytes,
            "deployment": self.deployment.to_json(),
            **self.facts,
        }

    def _shots(self) -> NDArray[np.uint8]:
        if self.packed is None:
            raise MeasurementError("expected a result with shots, got one without; pass shots=1000 to Simulator.run.")
        return self.packed


@dataclass(frozen=True, eq=False, slots=True)
class BatchResult(_Ran):
    """The outcome of many circuits of one structure, one for each binding; a run is a batch of one.

    shots: the number of shots of each binding, or None if there are none.
    num_clbits: the number of classical bits.
    packed: uint8 [bindings, shots, ceil(num_clbits / 8)], row by row as in `Result`; None without shots.
    saved: the saved values by their labels: an array [bindings, …], or a list with the dictionary of each binding.
    values: expectation values of the observables, float64 (complex128 if a coefficient is) [bindings, observables].
    errors: their standard errors, float64 [bindings, observables]; 0 where a value is exact.
    seeds: the seed of each binding.
    trajectories: the number of trajectories whose mean each value is; None without random outcomes before the end.
    provenance: the devices, plans and times of the whole batch; its fields are properties of the result too.
    records: for each binding what its shots have recorded, by its label; empty if nothing is recorded.
    """

    shots: int | None
    num_clbits: int
    packed: NDArray[np.uint8] | None
    saved: Mapping[str, Any]
    values: NDArray[Any]
    errors: NDArray[np.float64]
    seeds: tuple[int, ...]
    trajectories: int | None
    provenance: Provenance
    records: Sequence[Mapping[str, Records]] = ()

    def __repr__(self) -> str:
        held = [plural(len(self), "binding"), *_held(self)]
        held += [plural(self.values.shape[1], "expectation value")] * bool(self.values.size)
        return f"BatchResult({', '.join([*held, self.provenance.describe()])})"

    def __len__(self) -> int:
        """Return the number of bindings."""
        return len(self.seeds)

    def __getitem__(self, binding: int) -> Result:
        """Return the result of one binding, equal to that of its own run; times and facts are those of the batch."""
        return Result(
            shots=self.shots,
            num_clbits=self.num_clbits,
            packed=None if self.packed is None else self.packed[binding],
            saved={label: states[binding] for label, states in self.saved.items()},
            seed=self.seeds[binding],
            provenance=self.provenance,
            records=self.records[binding] if self.records else {},
        )
