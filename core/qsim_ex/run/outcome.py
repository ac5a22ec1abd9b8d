"""The outcome of a run: its result, and where, how and how fast that was made."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from qsim_ex.result import BatchResult, Provenance

if TYPE_CHECKING:
    from qsim_ex.devices.base import Device
    from qsim_ex.options import Options
    from qsim_ex.planning.cost.rates import Rates
    from qsim_ex.run.collector import Collector
    from qsim_ex.run.methods.method import HasRun, SimulatesStates
    from qsim_ex.run.planned import PlannedRun
    from qsim_ex.run.request import Request


LATEST = 256
"""Results that keep their plans; older ones keep only the counts of their plans, unless these are small."""

KEPT_GATES, _PLAN = 1 << 18, 128
"""How many gates the plans of all results that keep them may have, beyond the latest, and how many each counts as at
least: 32 MiB, since a plan takes about 125 bytes a gate and 17 KiB in all. To count those of a small one takes longer
than a part of its run, which a list of a thousand circuits would wait for."""


class _Latest:
    """The results that keep their plans, as long as somebody keeps them."""

    def __init__(self) -> None:
        self._lock, self._gates = Lock(), 0
        self._results: deque[tuple[ref[Provenance], int]] = deque()

    def append(self, provenance: Provenance) -> Provenance | None:
        """Add a result, and return the oldest one if it is too much to be kept with its plans."""
        every = *provenance.plans, *[plan for other in provenance.others for plan in other.plans]
        gates = sum([max(plan.num_gates, _PLAN) for plan in every])
        with self._lock:
            self._results.append((ref(provenance), gates))
            self._gates += gates
            while (oldest := self._results[0][0]()) is None:
                self._drop()
            if len(self._results) <= LATEST or self._gates <= KEPT_GATES:
                return None
            self._drop()
            return oldest

    def _drop(self) -> None:
        self._gates -= self._results.popleft()[1]


_latest = _Latest()


def remembered(provenance: Provenance) -> Provenance:
    """Keep the plans of a new result, which are large, and count and drop those of the one before the latest ones."""
    if (oldest := _latest.append(provenance)) is not None:
        _ = oldest.plan
        object.__setattr__(oldest, "plans", ())
        object.__setattr__(oldest, "others", ())
    return provenance


def result_of(
    run: PlannedRun,
    collector: Collector,
    workers: Sequence[HasRun],
    seeds: tuple[int, ...],
    seconds: tuple[float, float],
) -> BatchResult:
    """Return the result of a run with its provenance; seconds: of planning, and of the whole run."""
    request = run.request
    values, errors = means(collector.sums, collector.squares, request)
    return BatchResult(
        shots=request.shots,
        num_clbits=run.circuit.num_clbits,
        packed=collector.packed,
        saved={label: values.result() for label, values in collector.saves.items()},
        values=values,
        errors=errors,
        seeds=seeds,
        trajectories=request.trajectories if run.program.branches else None,
        provenance=remembered(provenance_of(run, collector.report, workers, seconds)),
        records=() if collector.records is None else collector.records.result(),
    )


def provenance_of(
    run: PlannedRun,
    report: Mapping[str, Any],
    workers: Sequence[HasRun],
    seconds: tuple[float, float],
) -> Provenance:
    """Return the provenance of a run; report: of its placements; seconds: of planning, and of the whole run."""
    where = run.machines[0].where
    rows = max(worker.most_rows for worker in workers)
    return Provenance(
        device=where.device.name,
        device_description=where.device.description,
        precision=run.options.precision,
        deployment=where.deployment,
        plans=run.machines[0].plans,
        timings=_timings(*seconds, run.machines),
        peak_bytes=where.deployment.device_bytes * max(1, rows),
        facts=_facts(run, report, workers, rows),
        rates=partial(_rates, where.device, run.options),
    )


def _rates(device: Device, options: Options) -> Rates:
    return device.rates(options.dtype, options.threads).shared(options.virtual_peers)


def means(
    sums: NDArray[np.complex128], squares: NDArray[np.float64], request: Request
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the mean of each observable over the trajectories of a binding, and its standard error."""
    trajectories = request.trajectories
    if not request.observables:
        return sums.real, squares
    values: NDArray[Any] = sums / trajectories
    spread = np.maximum(squares / trajectories - np.abs(values) ** 2, 0)
    errors = np.sqrt(spread / (trajectories - 1)) if trajectories > 1 else np.zeros(spread.shape)
    if all(complex(term.coefficient).imag == 0 for one in request.observables for term in one.terms):
        values = np.ascontiguousarray(values.real)
    return values, errors


def _facts(run: PlannedRun, report: Mapping[str, Any], workers: Sequence[HasRun], rows: int) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "method": run.method,
        "bindings": run.bound.count,
        "rows": rows,
        "states": sum(worker.states for worker in workers),
        **report,
        **run.facts,
    }
    if from_disk := sum(getattr(machine, "kernels_from_disk", 0) for machine in run.machines):
        facts["kernels_from_disk"] = from_disk
    if run.program.branches:
        facts |= {"trajectories": run.request.trajectories, "branch_points": run.program.branch_points}
    if run.program.branches or run.way.names_itself:
        facts["way"] = run.way.name
    if run.separation is not None:
        facts |= run.separation.facts()
    if len(workers) > 1:
        facts["devices"] = [machine.where.device.name for machine in run.machines]
    return facts


def _timings(plan: float, total: float, machines: Sequence[SimulatesStates]) -> dict[str, float]:
    """Return the seconds of each part and of all; of several machines the mean, and sampling is the remainder."""
    prepare = sum([machine.prepare_seconds for machine in machines]) / len(machines)
    run = sum([machine.run_seconds for machine in machines]) / len(machines)
    return {"plan": plan, "prepare": prepare, "run": run, "sample": total - plan - prepare - run, "total": total}
