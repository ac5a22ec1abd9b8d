"""What a run gives back: bits, values, saved states, and everything about where and how it ran."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import MeasurementError
from qsim_ex.execution.costs import total_of
from qsim_ex.placement.bits import integers, unpack, words
from qsim_ex.placement.deployment import Deployment
from qsim_ex.planning.cost.summary import PlanSummary
from qsim_ex.precision import PRECISIONS, PrecisionName
from qsim_ex.steps.plan import Plan

LATEST = 256
"""So many results may wait with counting their plans."""

_latest: deque[ref[Provenance]] = deque()


@dataclass(frozen=True, eq=False)
class Provenance:
    """Where and how a run came about.

    device, device_description: where it ran, and what that is. deployment: how the state was divided over devices and
    host memory, and why. plans: that were followed. timings: seconds of plan, prepare, run, sample and total.
    peak_bytes: each device's memory for amplitudes. facts: how many states there were; of a divided state the kind of
    the host's memory, how devices were linked, and bytes copied over each link.
    """

    device: str
    device_description: str
    precision: PrecisionName
    deployment: Deployment
    plans: tuple[Plan, ...]
    timings: Mapping[str, float]
    peak_bytes: int
    facts: Mapping[str, Any]

    @cached_property
    def plan(self) -> PlanSummary:
        """What moved, counted from the plans when it is asked for."""
        return total_of(self.plans, PRECISIONS[self.precision].dtype, self.deployment)

    def remember(self) -> Provenance:
        """Keep the plans, which are large, while this is one of the latest; then count them and let them go."""
        _latest.append(ref(self))
        if len(_latest) > LATEST and (oldest := _latest.popleft()()) is not None:
            _ = oldest.plan
            object.__setattr__(oldest, "plans", ())
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "plan": self.plan, "plans": ()}


class _Ran:
    """What every result says of where and how it ran."""

    __slots__ = ()

    provenance: Provenance

    @property
    def device(self) -> str:
        """Where it ran."""
        return self.provenance.device

    @property
    def device_description(self) -> str:
        """What the device is."""
        return self.provenance.device_description

    @property
    def device_reason(self) -> str:
        """Why it ran there."""
        return self.provenance.deployment.reason

    @property
    def precision(self) -> PrecisionName:
        """Of the amplitudes: 'single' (complex64) or 'double' (complex128)."""
        return self.provenance.precision

    @property
    def placement(self) -> str:
        """'single', 'peers', 'migrated', or 'peers over host'."""
        return self.provenance.deployment.kind

    @property
    def deployment(self) -> Deployment:
        """How the state was divided over devices and host memory, and why."""
        return self.provenance.deployment

    @property
    def plan(self) -> PlanSummary:
        """What moved."""
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
        """How many states there were; of a divided state, what was copied and how; see `Provenance`."""
        return self.provenance.facts


@dataclass(frozen=True, eq=False, slots=True)
class Result(_Ran):
    """The outcome of one circuit.

    shots: how many, or None if none were asked for.
    packed: uint8 [shots, ceil(num_clbits / 8)]; classical bit c is bit c % 8 of byte c // 8. Classical bits that
        nothing was measured into are 0. None without shots.
    saved: label -> amplitudes [2^n] in the order of the wires (bit w of the index = wire w).
    seed: the seed that gives these shots again.
    provenance: where and how it ran; its fields can be asked of the result itself.
    """

    shots: int | None
    num_clbits: int
    packed: NDArray[np.uint8] | None
    saved: Mapping[str, NDArray[np.complexfloating[Any, Any]]]
    seed: int
    provenance: Provenance

    def bits(self) -> NDArray[np.uint8]:
        """0s and 1s, uint8 [shots, num_clbits]; column c is classical bit c. Raises `MeasurementError`."""
        return unpack(self._shots(), self.num_clbits)

    def counts(self) -> dict[int, int]:
        """How often each value of the classical bits was found, bit c of a value = classical bit c.

        Values are Python integers of any size, in increasing order. Raises `MeasurementError` without shots.
        """
        packed = self._shots()
        if not packed.size:
            return {0: len(packed)} if len(packed) else {}
        if packed.shape[1] <= 8:
            values, counts = np.unique(words(packed), return_counts=True)
            return dict(zip(values.tolist(), counts.tolist(), strict=True))
        rows = np.ascontiguousarray(packed[:, ::-1])  # the most significant byte first sorts as the integers do
        keys = rows.view(np.dtype((np.void, rows.shape[1]))).ravel()
        distinct, counts = np.unique(keys, return_counts=True)
        found = np.frombuffer(distinct.tobytes(), dtype=np.uint8).reshape(len(distinct), -1)[:, ::-1]
        return dict(zip(integers(found), counts.tolist(), strict=True))

    def metadata(self) -> dict[str, Any]:
        """Where and how it ran, as what JSON can hold."""
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
            raise MeasurementError("this result holds no shots; give `shots` to `Simulator.run`.")
        return self.packed


@dataclass(frozen=True, eq=False, slots=True)
class BatchResult(_Ran):
    """The outcome of many circuits of one structure, one for each binding; a run is a batch of one.

    packed: uint8 [bindings, shots, ceil(num_clbits / 8)], row by row as in `Result`; None without shots.
    saved: label -> amplitudes [bindings, 2^n] in the order of the wires.
    values: expectation values of the observables, float64 (complex128 if a coefficient is) [bindings, observables].
    errors: their standard errors, float64 [bindings, observables]; 0 where a value is exact.
    seeds: of each binding.
    trajectories: how many trajectories the values of a binding are means of; None where nothing was left to chance.
    provenance: where and how the batch as a whole ran; its fields can be asked of the result itself.
    """

    shots: int | None
    num_clbits: int
    packed: NDArray[np.uint8] | None
    saved: Mapping[str, NDArray[np.complexfloating[Any, Any]]]
    values: NDArray[Any]
    errors: NDArray[np.float64]
    seeds: tuple[int, ...]
    trajectories: int | None
    provenance: Provenance

    def __len__(self) -> int:
        """How many bindings there are."""
        return len(self.seeds)

    def __getitem__(self, binding: int) -> Result:
        """The result of one binding, as a run of its own would give it; times and facts are those of the batch."""
        return Result(
            shots=self.shots,
            num_clbits=self.num_clbits,
            packed=None if self.packed is None else self.packed[binding],
            saved={label: states[binding] for label, states in self.saved.items()},
            seed=self.seeds[binding],
            provenance=self.provenance,
        )
