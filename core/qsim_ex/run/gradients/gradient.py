"""Values and their derivatives with respect to all parameters: adjoint differentiation (decision 0061).

A circuit U ends in ψ, and a value is ⟨ψ|H|ψ⟩. From ψ and the cotangent λ = H|ψ⟩ on both go backwards, by the plan of
the inverse circuit V = U†, as if it ran on a batch of states with equal numbers. An operation that takes ψ to Vψ and λ
to Vλ changes the value by −2·Re⟨Vλ|dV|ψ⟩: devices add that up for the numbers of each step while a tile is in the
cache. Numbers follow from operands by the plan's coefficient program, operands from parameters by the gate table, and
both are passed backwards (Jones and Gacon, arXiv:2009.02823, gate by gate; here sweep by sweep).

Here are states in one piece on one device. `divided` has all others, and `targets` what may stand in
place of an expectation value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.parameters.pullback import wanted
from qsim_ex.circuit.parameters.sweep import ParameterSweep, Values
from qsim_ex.circuit.structure import Structure
from qsim_ex.comm.agreed import Asking, digest
from qsim_ex.deployment.assign import Assigner
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.base import Buffer
from qsim_ex.devices.memory import state_bytes
from qsim_ex.errors import NotSupported, OptionError, OutOfMemory
from qsim_ex.execution.prepare import bound_rows
from qsim_ex.later import later
from qsim_ex.options import Options
from qsim_ex.options.methods import USUAL
from qsim_ex.placement.base import Tick
from qsim_ex.placement.batch import Batch, rows_at_once
from qsim_ex.planning.coefficients.pullback import LEFT_OUT
from qsim_ex.precision import PrecisionName
from qsim_ex.program.one_state import unitary_program
from qsim_ex.run.gradients.results import Gradient, Overlap, VectorJacobianProduct
from qsim_ex.run.gradients.reversed_plan import ReversedPlan, reversed_plan
from qsim_ex.run.gradients.states import DifferentiatingDevice, final_states, forward_plan
from qsim_ex.run.gradients.targets import Complex, Expectations, Given, Overlaps, Rows, Target, WeightedExpectations
from qsim_ex.run.gradients.task import (
    Back,
    Found,
    GradientTask,
    Steps,
    back_of,
    in_one_piece,
    prepared,
    require_derivatives,
    ticker_of,
)
from qsim_ex.run.gradients.trajectories import AskedTrajectories, ChosenRows, chosen_rows
from qsim_ex.run.gradients.written import written_task
from qsim_ex.run.where import Where
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.run.gradients import density as gradient_density
    from qsim_ex.run.gradients import divided as gradient_divided
else:
    gradient_density = later("qsim_ex.run.gradients.density")
    gradient_divided = later("qsim_ex.run.gradients.divided")


def gradient(
    assigner: Assigner,
    options: Options,
    sweep: ParameterSweep,
    observables: Sequence[PauliSum],
    asked: AskedTrajectories | None = None,
) -> Gradient:
    """Return values and derivatives of all bindings of a sweep; see `Simulator.gradient`."""
    target, chosen = Expectations(tuple(observables)), _chosen(options, sweep, asked)
    found, about = _differentiated(assigner, options, sweep, target, chosen)
    if chosen is None:
        return Gradient(found.values, found.derivatives, *about)
    (values, errors), (jacobian, spread) = (chosen.means(one, sweep.count) for one in found)
    return Gradient(values, jacobian, *about, chosen.trajectories, errors, spread)


def vjp(
    assigner: Assigner,
    options: Options,
    sweep: ParameterSweep,
    observables: Sequence[PauliSum],
    weights: Values,
    asked: AskedTrajectories | None = None,
) -> VectorJacobianProduct:
    """Return values, and derivatives of weighted sums of them; see `Simulator.vjp`."""
    target, chosen = WeightedExpectations(tuple(observables), weights), _chosen(options, sweep, asked)
    if chosen is None:
        found, about = _differentiated(assigner, options, sweep, target)
        return VectorJacobianProduct(found.values, found.derivatives[:, 0], *about)
    target.require(sweep.template.num_qubits, sweep.count)
    of_rows = replace(target, weights=weights[chosen.binding])
    found, about = _differentiated(assigner, options, sweep, of_rows, chosen)
    (values, errors), (products, spread) = (chosen.means(one, sweep.count) for one in found)
    return VectorJacobianProduct(values, products[:, 0], *about, chosen.trajectories, errors, spread[:, 0])


def overlap(assigner: Assigner, options: Options, sweep: ParameterSweep, other: ParameterSweep) -> Overlap:
    """Return overlaps and their derivatives; see `Simulator.overlap`."""
    found, about = _differentiated(assigner, options, sweep, Overlaps(other))
    values, derivatives = (one[:, 0] + 1j * one[:, 1] for one in found)
    return Overlap(values, derivatives, *about)


def _chosen(options: Options, sweep: ParameterSweep, asked: AskedTrajectories | None) -> ChosenRows | None:
    """Return the trajectories that are differentiated; None where nothing is random."""
    if asked is None:
        return None
    if USUAL[options.method].index_bits > 1:
        raise OptionError(
            f"gradient: expected no trajectories with method={options.method!r}, which is exact, got "
            f"{asked.trajectories}; leave one of them out."
        )
    return chosen_rows(sweep, asked, options)


def _differentiated(
    assigner: Assigner, options: Options, sweep: ParameterSweep, target: Target, chosen: ChosenRows | None = None
) -> tuple[Found, tuple[str, PrecisionName, float]]:
    """Return values and derivatives, and on which device, in which precision and in how many seconds they were made.

    They are those of all rows that were chosen, or of all bindings.
    """
    began, columns = perf_counter(), 0 if sweep.columns is None else sweep.columns.shape[1]
    count = sweep.count if chosen is None else len(chosen.binding)
    found = Found(np.empty((count, target.values)), np.zeros((count, target.cotangents, columns)))
    if USUAL[options.method].index_bits > 1:
        where = gradient_density.run(assigner, gradient_density.noisy_task(options, sweep, target), found)
    else:
        task = checked(options, sweep, target, chosen)
        where, targets = placed(assigner, task)
        if in_one_piece(where):
            task = written_task(task, Where(where.device, where.deployment, options))
        run = _in_one_piece if in_one_piece(where) else gradient_divided.run
        run(task, where, targets, found)
    return found, (where.device.name, options.precision, perf_counter() - began)


def checked(options: Options, sweep: ParameterSweep, target: Target, chosen: ChosenRows | None = None) -> GradientTask:
    """Return the task, checked before memory is allocated; `NotSupported` in words for what is not."""
    structure = sweep.template.structure
    target.require(structure.num_qubits, sweep.count if chosen is None else len(chosen.binding))
    if not USUAL[options.method].index_bits:
        raise NotSupported(
            f"gradient: expected method='statevector' or 'density_matrix', got {options.method!r}, which has no "
            "derivatives; leave it out."
        )
    if options.checkpoint is not None:
        raise NotSupported("gradient: expected no checkpoint, got one; a gradient is not resumed yet, so leave it out.")
    flags = wanted(sweep)
    if chosen is not None:
        task = GradientTask(sweep, target, chosen.work, chosen.wanted(flags), options, chosen=chosen)
    else:
        task = GradientTask(sweep, target, _unitary_work(structure), flags, options)
    task.backwards()  # raises what has no inverse
    return task


def _unitary_work(structure: Structure) -> Structure:
    """Return the work of a circuit with one final state; `NotSupported` for another one."""
    try:
        work = unitary_program(structure).whole
    except NotSupported as error:
        raise NotSupported(
            f"gradient: {error} With method='density_matrix' noise is differentiated too, and with trajectories=1000 "
            "mixtures of unitary matrices are."
        ) from None
    assert work.operands is None  # nothing is chosen, so that the operands are the circuit's
    return work.work


def placed(assigner: Assigner, task: GradientTask) -> tuple[Assignment, Sequence[Target]]:
    """Return where states and cotangents lie, and the targets one after another: one if there is room for all.

    Raises `NotSupported` for a device that does not differentiate.
    """
    num_wires, target, options = task.num_wires, task.target, task.options

    def ask() -> Asking:
        template, columns = task.sweep.template, task.sweep.columns
        made_of = [template.operands.tobytes()] + ([] if columns is None else [columns.tobytes()])
        made_of += [] if task.chosen is None else [task.chosen.branches.outcomes.tobytes()]
        return Asking({"circuit": template.key, "numbers": digest(made_of), "values": target.told()})

    where, more = None, target.cotangents.bit_length()  # room for a state and all cotangents
    try:
        where = assigner.one(num_wires + more, ask)
    except OutOfMemory:
        if more == 1:
            raise
    targets: Sequence[Target] = (target,)
    if where is None or not in_one_piece(where):
        targets = target.apart()
        slots, local = options.window_slots, options.device_wires or num_wires
        # The cotangent has half of each window, and wires of the state trade places in the other.
        paired = assigner if slots is None else Assigner(replace(options, window_slots=min(2 * slots, 1 << local)))
        where = where if more == 1 and slots is None and where is not None else paired.one(num_wires + 1, ask)
    require_derivatives(where)
    return where, targets


# --- states in one piece ---------------------------------------------------------------------------------------------


def _in_one_piece(task: GradientTask, where: Assignment, targets: Sequence[Target], found: Found) -> None:
    """Write all values and derivatives, many bindings at a time."""
    device, count = cast(DifferentiatingDevice, where.device), task.count
    with ticker_of(task, len(targets)) as ticker:
        steps = Steps(ticker, count * len(targets), int)
        for target, part in zip(targets, found.of_targets(targets), strict=True):
            one, states = replace(task, target=target), 1 + target.cotangents
            numbers = 16 * states * len(task.wanted)
            each = rows_at_once(device, states * state_bytes(task.num_wires, task.options.dtype), numbers)
            for first in range(0, count, each):
                rows = np.arange(first, min(first + each, count))
                _differentiate(one, device, rows, part.of_rows(rows), steps)
        ticker.finish()


def _differentiate(task: GradientTask, device: DifferentiatingDevice, which: Rows, found: Found, steps: Steps) -> None:
    """Write the values and the derivatives of some bindings, which are worked on together."""
    num_wires, options, operands = task.num_wires, task.options, task.operands(which)
    way = _way_of(task, device)
    ends = list(accumulate(way.lengths))
    tick, share = steps.expected(ends), steps.ticker.of_states(len(which), ends[-1])
    tick = share if steps.ticker.reports else tick
    began = final_states(way.forward, operands, device, options, tick)
    numbers = None if way.reversed is None else way.reversed.bind(operands)  # while the device works
    cotangents = device.allocate(len(which) * task.target.cotangents << num_wires, options.dtype)
    values = task.target.begin(began, cotangents, Given(device, options, which, steps.ticker.check))
    if way.reversed is not None and numbers is not None:
        taken = way.reversed.run(began, cotangents, numbers, task.target.factor, tick)
        found.derivatives[:] = task.pulled(taken, which)
    elif way.back is not None:
        inverted = task.backwards()
        taken = _backwards(task, way.back, began, cotangents, inverted.operands(operands), tick)
        found.derivatives[:] = task.derivatives(inverted, taken, which)
    found.values[:] = values()
    share.end()


class _Way(NamedTuple):
    """The plan of a state, and how it is gone back: its sweeps, or a plan of the inverse circuit, or neither."""

    forward: Plan
    reversed: ReversedPlan | None
    back: Back | None

    @property
    def lengths(self) -> Iterator[int]:
        """How many steps each stage has, and the way back."""
        plans = [self.forward] if self.back is None else [self.forward, self.back.plan]
        yield from (len(stage.steps) for one in plans for stage in one.stages)
        if self.reversed is not None:
            yield len(self.reversed.steps)


def _way_of(task: GradientTask, device: DifferentiatingDevice) -> _Way:
    """Return the plans of a task on one device."""
    options, inverted = task.options, task.backwards()
    shape = replace(device.batch_shape(options.dtype), left_out=LEFT_OUT)
    plan = forward_plan(task.work, task.num_wires, shape, device.grows)
    if not inverted.work.instructions:
        return _Way(plan, None, None)
    found = reversed_plan(plan, device, options.dtype, task.wanted.tobytes(), options.compile)
    return _Way(plan, found, None if found else back_of(task, inverted, plan.end, shape))


def _backwards(
    task: GradientTask, back: Back, states: Batch, cotangents: Buffer, operands: Complex, tick: Tick
) -> Complex:
    """Take states and cotangents back; return cotangents of the inverse's operands, [rows, cotangents, operands]."""
    device, num_wires = cast(DifferentiatingDevice, states.device), states.num_wires
    steps = prepared(back, device, num_wires, task.options.dtype)
    numbers, taken = bound_rows(back.plan, operands), []
    for number, packed in enumerate(numbers):
        tick()
        taken.append(device.run_adjoint(states.buffer, cotangents, num_wires, number, packed, steps))
    return back.pulled(numbers.buffer, taken, task.target.factor)
