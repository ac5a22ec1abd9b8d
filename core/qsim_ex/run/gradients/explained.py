"""A gradient in words: its plans forward and back, the application of observables, memory, and predicted seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.deployment.hypothetical import assign_hypothetical
from qsim_ex.devices.base import Batches
from qsim_ex.devices.memory import state_bytes
from qsim_ex.display.amounts import human, plural
from qsim_ex.display.explanation import Explanation
from qsim_ex.execution.costs import total_of
from qsim_ex.options import Options
from qsim_ex.placement.deployment import Deployment
from qsim_ex.placement.paired import widened
from qsim_ex.planning.coefficients.pullback import LEFT_OUT
from qsim_ex.planning.cost.rates import H200, Rates
from qsim_ex.run.candidates import AS
from qsim_ex.run.gradients.divided import plans
from qsim_ex.run.gradients.gradient import checked
from qsim_ex.run.gradients.reversed_plan import reverses
from qsim_ex.run.gradients.states import forward_plan
from qsim_ex.run.gradients.targets import Expectations
from qsim_ex.run.gradients.task import GradientTask, back_of
from qsim_ex.run.gradients.written import written_task
from qsim_ex.run.plan_charts import chart_of
from qsim_ex.run.where import Where
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.deployment.elsewhere import Cluster
    from qsim_ex.devices.hypothetical import HypotheticalDevice


AS_IT_CAME = "as it came"


class _PlannedGradient(NamedTuple):
    """The plans of a gradient where its states lie; turns: how often they run for a binding.

    back: None if nothing has parameters. states: that pass the plan back together. words: in which the circuit is
    differentiated.
    """

    device: HypotheticalDevice
    deployment: Deployment
    forward: Plan
    back: Plan | None
    turns: int
    states: int
    words: str


def explained(
    options: Options, sweep: ParameterSweep, observables: Sequence[PauliSum], machine: Cluster | None
) -> Explanation:
    """Return what a gradient will do, in words; it allocates no memory and runs nothing."""
    options = options if machine is None else machine.options(options)
    task = checked(options, sweep, Expectations(tuple(observables)))
    found = _planned(task, machine)
    rates = _rates(found, options, machine)
    columns = 0 if sweep.columns is None else sweep.columns.shape[1]
    lines = [
        f"{found.device.name}: {found.device.description}, {options.dtype.name}",
        found.deployment.describe(),
        (
            f"gradient: {plural(len(observables), 'observable')}, {plural(columns, 'parameter')}, "
            f"{plural(sweep.count, 'binding')}"
        ),
        f"circuit: {found.words}",
        f"forward: {_words(found.forward, found, task)}",
        f"observables: {_observables(observables)}",
        "back: nothing has parameters" if found.back is None else f"back: {_words(found.back, found, task)}",
        _memory(found, task),
        _seconds(found, task, rates),
    ]
    charts = [chart_of(found.forward, options.dtype, found.deployment, "forward")]
    if found.back is not None:
        charts.append(chart_of(found.back, options.dtype, found.deployment, "back"))
    return Explanation("\n".join(lines), charts)


def _planned(task: GradientTask, machine: Cluster | None) -> _PlannedGradient:
    """Return the plans, made as a gradient makes them."""
    options, count = task.options, task.target.cotangents
    wires, elsewhere = task.num_wires, machine is not None
    device, deployment = assign_hypothetical(wires + count.bit_length(), options, elsewhere=elsewhere)
    shape = device.batch_shape(options.dtype) if isinstance(device, Batches) else device.shape(options.dtype)
    if deployment.in_one_piece:
        task = written_task(task, Where(device, deployment, options), again=True)
        ways = _ways(task, replace(shape, left_out=LEFT_OUT), device.grows)
        words = AS_IT_CAME if task.numbers is None else f"written {AS}, which is faster"
        return _PlannedGradient(device, deployment, *ways, 1, 1 + count, words)
    slots, local = options.window_slots, options.device_wires or wires
    paired = options if slots is None else replace(options, window_slots=min(2 * slots, 1 << local))
    device, deployment = assign_hypothetical(wires + 1, paired, elsewhere=elsewhere)
    levels = deployment.planning_levels
    assert levels is not None
    forward, back = plans(task, device.shape(options.dtype), levels)
    backwards = None if back is None else widened(back.plan, levels, fresh=False)
    wide, words = widened(forward, levels, fresh=True), f"{AS_IT_CAME}, since its state is in several pieces"
    return _PlannedGradient(device, deployment, wide, backwards, count, 2, words)


def _ways(task: GradientTask, shape: Shape, grows: bool) -> tuple[Plan, Plan | None]:
    """Return the plan of a state in one piece and that of the way back, which is its own sweeps or the inverse's."""
    forward = forward_plan(task.work, task.num_wires, shape, grows)
    if reverses(forward, task.wanted):
        return forward, replace(forward) if task.backwards().work.instructions else None
    found = back_of(task, task.backwards(), forward.end, shape)
    return forward, None if found is None else found.plan


def _rates(found: _PlannedGradient, options: Options, machine: Cluster | None) -> Rates:
    if machine is not None:
        return machine.speeds.shared(options.virtual_peers)
    return found.device.rates(options.dtype, options.threads) if found.device.in_host_memory else H200


def _words(plan: Plan, found: _PlannedGradient, task: GradientTask) -> str:
    """Return the first line on a plan, and what passes it."""
    total = total_of((plan,), task.options.dtype, found.deployment)
    moved = [f"{plural(total.exchanges, 'exchange')}"] if total.exchanges else []
    moved += [f"{plural(total.passes, 'pass', 'passes')} over host memory"] if total.passes else []
    back = plan is found.back
    each = f"on {found.states} states together" if back else "on the state alone"
    return ", ".join([f"{plural(total.gates, 'gate')} in {plural(total.sweeps, 'sweep')} {each}", *moved])


def _observables(observables: Sequence[PauliSum]) -> str:
    """Return how many strings are applied, in how many X-parts."""
    strings = sum(len(one.terms) for one in observables)
    parts = sum(len({term.x for term in one.terms}) for one in observables)
    return f"{plural(strings, 'Pauli string')} with {plural(parts, 'X-part')}"


def _memory(found: _PlannedGradient, task: GradientTask) -> str:
    state = state_bytes(task.num_wires, task.options.dtype)
    if found.deployment.in_one_piece:
        return f"memory: {found.states} states of {human(state)} for each binding that is worked on at a time"
    again = f"; one observable after another, {found.turns} times" if found.turns > 1 else ""
    return f"memory: a state and a cotangent, {human(2 * state)} together, in pieces that hold both{again}"


def _seconds(found: _PlannedGradient, task: GradientTask, rates: Rates) -> str:
    """Return the predicted time of all bindings."""
    dtype, deployment = task.options.dtype, found.deployment
    forward = total_of((found.forward,), dtype, deployment, rates).seconds
    back = 0.0 if found.back is None else total_of((found.back,), dtype, deployment, rates).seconds
    together = found.states if deployment.in_one_piece else 1  # a divided state's plan is of both
    products = 2 * found.states * state_bytes(task.num_wires, dtype) / rates.memory
    total = task.sweep.count * found.turns * (forward + products + together * back)
    return f"predicted: {total:.3g} s, of which sweeps forward {forward:.3g} s and back {together * back:.3g} s"
