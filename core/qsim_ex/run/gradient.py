"""Values and their derivatives with respect to all parameters: adjoint differentiation (decision 0061).

A circuit U ends in ψ, and a value is ⟨ψ|H|ψ⟩. From ψ and the cotangent λ = H|ψ⟩ on both go backwards, by the plan of
the inverse circuit V = U†, as if it ran on a batch of states with equal numbers. An operation that takes ψ to Vψ and λ
to Vλ changes the value by −2·Re⟨Vλ|dV|ψ⟩: devices add that up for the numbers of each step while a tile is in the
cache. Numbers follow from operands by the plan's coefficient program, operands from parameters by the gate table, and
both are passed backwards (Jones and Gacon, arXiv:2009.02823, gate by gate; here sweep by sweep).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from time import perf_counter
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.derivatives import add_at
from qsim_ex.circuit.inverse import Inverse, first_wanted, inverse
from qsim_ex.circuit.observables import PauliSum, StoredSum
from qsim_ex.circuit.parameters.pullback import pulled, wanted
from qsim_ex.circuit.parameters.sweep import ParameterSweep, Values
from qsim_ex.circuit.structure import Structure
from qsim_ex.deployment.assign import Assigner
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.adjoint import Differentiates
from qsim_ex.devices.base import Buffer
from qsim_ex.devices.memory import state_bytes
from qsim_ex.errors import CircuitError, NotSupported
from qsim_ex.execution.prepare import bound_rows, plan_of, prepare
from qsim_ex.observe import expectation
from qsim_ex.options import Options
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.batch import Batch, BatchDevice, rows_at_once
from qsim_ex.planning.coefficients.pullback import LEFT_OUT, depending, pull_back
from qsim_ex.planning.compiled import check_cancelled
from qsim_ex.precision import AmplitudeDtype, PrecisionName
from qsim_ex.program.one_state import unitary_program
from qsim_ex.run.reversed_plan import reversed_plan
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan

Complex = NDArray[np.complex128]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Gradient:
    """Expectation values and all their derivatives.

    values: float64 [bindings, observables]. jacobian: float64 [bindings, observables, columns], with respect to the
    columns of the sweep, in the order in which its builder met them. device, precision: where the states were, and as
    what. seconds: of the whole call.
    """

    values: Values
    jacobian: Values
    device: str
    precision: PrecisionName
    seconds: float


class DifferentiatingDevice(BatchDevice, Differentiates):
    """A device that works on batches and differentiates."""


@dataclass(frozen=True, eq=False, slots=True)
class _Task:
    """What is differentiated, and where.

    work: of all bindings. wanted: which operands depend on parameters. backwards: the inverse of the work from the
    first of them on.
    """

    sweep: ParameterSweep
    observables: tuple[PauliSum, ...]
    work: Structure
    wanted: Flags
    backwards: Inverse
    device: DifferentiatingDevice
    options: Options

    def rows_at_once(self) -> int:
        """Return how many bindings are worked on together."""
        states = 1 + len(self.observables)
        numbers = 16 * states * self.sweep.template.operands.shape[1]
        return rows_at_once(
            self.device, states * state_bytes(self.sweep.template.num_qubits, self.options.dtype), numbers
        )


def gradient(assigner: Assigner, options: Options, sweep: ParameterSweep, observables: Sequence[PauliSum]) -> Gradient:
    """Return values and derivatives of all bindings of a sweep; see `Simulator.gradient`."""
    began = perf_counter()
    task, where = _task(assigner, options, sweep, tuple(observables))
    columns = 0 if sweep.columns is None else sweep.columns.shape[1]
    values = np.empty((sweep.count, len(observables)))
    jacobian = np.zeros((sweep.count, len(observables), columns))
    each = task.rows_at_once()
    for first in range(0, sweep.count, each):
        last = min(first + each, sweep.count)
        _differentiate(task, np.arange(first, last), values[first:last], jacobian[first:last])
        check_cancelled()
    return Gradient(values, jacobian, where.device.name, options.precision, perf_counter() - began)


def _task(
    assigner: Assigner, options: Options, sweep: ParameterSweep, observables: tuple[PauliSum, ...]
) -> tuple[_Task, Assignment]:
    """Return the task and its place, checked before memory is allocated; `NotSupported` in words for what is not."""
    num_wires, structure = sweep.template.num_qubits, sweep.template.structure
    _check(observables, num_wires)
    if options.method not in ("automatic", "statevector"):
        raise NotSupported(
            f"gradient: expected method='statevector', got {options.method!r}, which has no derivatives; leave it out."
        )
    if any((options.checkpoint, options.progress, options.watch)):
        raise NotSupported(
            "gradient: expected no checkpoint, progress or watch, got one of them, which gradients do not have yet; "
            "leave it out."
        )
    work = unitary_program(structure).whole
    assert work.operands is None  # nothing is chosen, so that the operands are the circuit's
    where = assigner.one(num_wires + len(observables).bit_length())  # room for a state and all cotangents
    if where.ranks is not None or not where.deployment.in_one_piece:
        raise NotSupported(
            f"gradient: expected states in one piece on one device, got {where.deployment.describe()}; use fewer "
            "wires or observables, or options that do not divide the state."
        )
    if not isinstance(where.device, Differentiates):
        raise NotSupported(
            f"gradient: expected a device that differentiates, got {where.device.name}, whose kernels do not yet; use "
            "device='cpu'."
        )
    flags = wanted(sweep)
    device = cast(DifferentiatingDevice, where.device)
    return _Task(sweep, observables, work.work, flags, _inverse(work.work, flags.tobytes()), device, options), where


@lru_cache(maxsize=16)
def _check(observables: tuple[PauliSum, ...], num_wires: int) -> None:
    """Raise `CircuitError` unless all observables are Hermitian and there is one, `WireError` if one is too wide."""
    if not observables:
        raise CircuitError("gradient: expected at least one observable, got none; pass a list of PauliSum.")
    expectation.fit(observables, num_wires)
    for number, one in enumerate(observables):
        for term in one.terms:
            if complex(term.coefficient).imag:
                raise CircuitError(
                    f"gradient: expected real coefficients, got {term.coefficient} in observable {number}; "
                    "differentiate the real and the imaginary part by themselves."
                )


@lru_cache(maxsize=64)
def _inverse(work: Structure, wanted_bytes: bytes) -> Inverse:
    return inverse(work, first_wanted(work, np.frombuffer(wanted_bytes, dtype=np.bool_)))


def _differentiate(task: _Task, which: NDArray[np.intp], values: Values, jacobian: Values) -> None:
    """Write the values and the derivatives of some bindings, which are worked on together."""
    device, dtype, num_wires = task.device, task.options.dtype, task.sweep.template.num_qubits
    operands = task.sweep.operands(which)
    states = Batch(device, num_wires, len(which), dtype)
    shape = replace(device.batch_shape(dtype), left_out=LEFT_OUT)
    plan = plan_of(task.work, num_wires, states.layout, shape, states.fresh, None, states.fresh != 0)
    states.layout = at.begun_as(states.layout, plan.start)
    states.run(plan, prepare(plan, operands, (device,), dtype, task.options.compile, rows=True), check_cancelled)
    nothing = not task.backwards.work.instructions
    backwards = None if nothing else reversed_plan(plan, device, dtype, task.wanted.tobytes(), task.options.compile)
    numbers = backwards.bind(operands) if backwards else None  # while the device works
    cotangents = device.allocate(len(which) * len(task.observables) << num_wires, dtype)
    sums = device.begin_sums(states.buffer, cotangents, num_wires, _stored(task.observables, states.layout))
    if backwards is not None and numbers is not None:
        jacobian[:] = pulled(task.sweep, which, backwards.run(states.buffer, cotangents, num_wires, numbers))
    elif not nothing:
        found = _backwards(task, states, cotangents, task.backwards.operands(operands))
        jacobian[:] = pulled(task.sweep, which, task.backwards.pulled(found, operands.shape[1]))
    values[:] = sums()


@lru_cache(maxsize=16)
def _stored(observables: tuple[PauliSum, ...], layout: Layout) -> tuple[StoredSum, ...]:
    """Return observables as operators on stored amplitudes; cached, since loops ask for the same ones again."""
    return tuple(_stored_sum(one, layout) for one in observables)


def _stored_sum(observable: PauliSum, layout: Layout) -> StoredSum:
    found = []
    for term in observable.terms:
        x, z = at.index_mask(layout, term.x), at.index_mask(layout, term.z)
        turned = (1, 1j, -1, -1j)[term.num_y % 4]
        found.append((x, z, at.parity_sign(layout, z) * turned * term.coefficient))
    return tuple(found)


class _Backwards(NamedTuple):
    """A plan of an inverse circuit, and its steps as its device has prepared them."""

    plan: Plan
    prepared: object


@lru_cache(maxsize=64)
def _plan(
    work: Structure, layout: Layout, device: DifferentiatingDevice, dtype: AmplitudeDtype, wanted_bytes: bytes
) -> _Backwards:
    """Return the plan of an inverse circuit on states in some layout, all of whose amplitudes are there."""
    shape = replace(device.batch_shape(dtype), left_out=LEFT_OUT)
    plan = plan_of(work, len(layout), layout, shape, 0)
    flags = depending(plan.coefficients, np.frombuffer(wanted_bytes, dtype=np.bool_))
    wanted = [flags.take(places) for places in plan.coefficients.packed]
    return _Backwards(plan, device.prepare_adjoint(plan.steps, len(layout), dtype, wanted))


def _backwards(task: _Task, states: Batch, cotangents: Buffer, operands: Complex) -> Complex:
    """Take states and cotangents back; return cotangents of the inverse's operands, [rows, observables, operands]."""
    device, num_wires, dtype = task.device, states.num_wires, task.options.dtype
    own = task.wanted[task.backwards.sources]
    plan, prepared = _plan(task.backwards.work, states.layout, device, dtype, own.tobytes())
    numbers = bound_rows(plan, operands)
    found = np.zeros((states.rows, len(task.observables), plan.coefficients.size()), dtype=np.complex128)
    given = states.buffer, cotangents, num_wires
    for number, (packed, places) in enumerate(zip(numbers, plan.coefficients.packed, strict=True)):
        derivatives = device.run_adjoint(*given, number, packed, prepared)
        check_cancelled()
        if derivatives is not None:  # −2·Re⟨λ|dV|ψ⟩, and Re(conj(g)·dz) is Re(w·dz) with w = conj(g)
            add_at(found, places, -2 * derivatives.conj())
    return pull_back(plan.coefficients, numbers.buffer, found)
