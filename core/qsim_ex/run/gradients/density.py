"""Gradients with noise, exact: density matrices as states of twice as many wires (`density.doubled`).

Tr(Hρ) is ⟨⟨H|ρ⟩⟩, linear in ρ, so the cotangent begins as H itself. Gates are phases of unitary work, forward and back
as for states; between them are maps that are not unitary, channels and resets, whose adjoints take the cotangent back.
What a map has made of ρ cannot be undone, so ρ in front of each map is kept: first that at the beginning of blocks of
phases, then, block by block, all in it. So about twice the square root of their number is in memory, for one run more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.inverse import Inverse, adjoint, inverse
from qsim_ex.circuit.ops import Instruction, wires_of
from qsim_ex.circuit.parameters.pullback import pulled, wanted
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.density.doubled import Doubled
from qsim_ex.deployment.assign import Assigner
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.base import Buffer
from qsim_ex.devices.memory import state_bytes
from qsim_ex.errors import NotSupported
from qsim_ex.execution.prepare import bound_rows, plan_of, prepare
from qsim_ex.native.library import check_cancelled
from qsim_ex.options import Options
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import Tick
from qsim_ex.placement.batch import Batch, rows_at_once
from qsim_ex.run.exact.circuit import doubled_for
from qsim_ex.run.gradients.states import DifferentiatingDevice, stored
from qsim_ex.run.gradients.targets import Complex, Expectations, Rows, Target, WeightedExpectations
from qsim_ex.run.gradients.task import Back, Found, back_plan, in_one_piece, prepared, require_derivatives


class Phase(NamedTuple):
    """Unitary work, and behind it maps that are not; either may be empty."""

    work: Structure
    maps: Structure


@dataclass(frozen=True, eq=False, slots=True)
class NoisyTask:
    """What is differentiated: the circuit on density matrices in phases, of which `first` has the first parameter.

    wanted: which operands of the doubled circuit depend on parameters.
    """

    sweep: ParameterSweep
    target: Target
    doubled: Doubled
    phases: tuple[Phase, ...]
    wanted: NDArray[np.bool_]
    first: int
    options: Options

    @property
    def block(self) -> int:
        """The phases of a block."""
        return isqrt(max(len(self.phases) - 1, 0)) + 1

    @property
    def states(self) -> int:
        """The most states of a binding in memory at a time."""
        return 2 * self.block + 3 * self.target.cotangents + 2

    def pulled(self, found: Complex, which: Rows) -> NDArray[np.float64]:
        """Return derivatives for cotangents of the doubled circuit's operands: gates' numbers, and their conjugates."""
        total = self.sweep.template.operands.shape[1]
        return pulled(self.sweep, which, found[:, :, :total] + found[:, :, total : 2 * total].conj())


def noisy_task(options: Options, sweep: ParameterSweep, target: Target) -> NoisyTask:
    """Return the task, checked before memory is allocated; `NotSupported` in words for what is not."""
    template = sweep.template
    if not isinstance(target, Expectations | WeightedExpectations):
        raise NotSupported(
            "overlap: expected method='statevector', got 'density_matrix'; an overlap with a mixed state is the "
            "expectation value of a projector, so pass that as an observable to gradient."
        )
    target.require(template.num_qubits, sweep.count)
    if any((options.checkpoint, options.progress, options.watch)):
        raise NotSupported(
            "gradient: expected no checkpoint, progress or watch with method='density_matrix', got one of them; leave "
            "it out."
        )
    if template.structure.has_control_flow:
        raise NotSupported(
            "gradient: expected a circuit without loops, variables and blocks under conditions, got one with some; use "
            "gates under conditions, or parameter shifts."
        )
    instructions = tuple(one for one in template.instructions if one.saved is None)
    circuit = Circuit.of_structure(
        structure_of(template.num_qubits, template.num_clbits, instructions), template.operands
    )
    made = doubled_for(circuit, sweep.bindings(), observed=True, sampled=False)
    own = wanted(sweep)
    size = made.operands(template.operands).shape[1]
    flags = np.pad(np.tile(own, 2), (0, size - 2 * len(own)))
    phases = phases_of(made.structure)
    first = next((k for k, one in enumerate(phases) if _depends(one.work, flags)), len(phases))
    for one in phases[first:]:
        adjoint(one.maps)  # raises what has none
    return NoisyTask(sweep, target, made, phases, flags, first, options)


@lru_cache(maxsize=64)
def phases_of(structure: Structure) -> tuple[Phase, ...]:
    """Return a circuit in phases; each instruction is in the first one that its wires allow."""
    phases: list[tuple[list[Instruction], list[Instruction]]] = [([], [])]
    level = [0] * structure.num_qubits
    for instruction in structure.instructions:
        wires = wires_of(instruction.acts_on)
        phase = max((level[wire] for wire in wires), default=0)
        maps = not instruction.unitary
        phases[phase][maps].append(instruction)
        for wire in wires:
            level[wire] = phase + maps
        if phase + maps == len(phases):
            phases.append(([], []))
    n = structure.num_qubits
    return tuple(Phase(structure_of(n, 0, tuple(a)), structure_of(n, 0, tuple(b))) for a, b in phases)


def _depends(work: Structure, flags: NDArray[np.bool_]) -> bool:
    return any(flags[one.operand : one.operand + len(one.pattern)].any() for one in work.operations)


class Passage:
    """Density matrices of some bindings, and cotangents, on their way through the phases of a circuit."""

    def __init__(self, task: NoisyTask, device: DifferentiatingDevice, which: Rows, tick: Tick) -> None:
        self._task, self._device, self._which, self._tick = task, device, which, tick
        self._operands = task.doubled.operands(task.sweep.operands(which))
        self._wires, self._dtype = task.doubled.size, task.options.dtype
        self._shape = device.batch_shape(self._dtype)

    def differentiate(self, found: Found) -> None:
        """Write values and derivatives."""
        task, each = self._task, self._task.block
        states = Batch(self._device, self._wires, len(self._which), self._dtype)
        kept: dict[int, Batch] = {}
        for number, phase in enumerate(task.phases):
            if number % each == 0 and number >= task.first - each:
                kept[number] = self._copy(states)
            self._apply(states, phase.work, self._operands)
            self._apply(states, phase.maps, self._operands)
        cotangents = self._begin(states, found)
        if task.first == len(task.phases):
            return
        total = np.zeros((*found.derivatives.shape[:2], self._operands.shape[1]), dtype=np.complex128)
        for begin in sorted(kept, reverse=True):
            states, inner = kept.pop(begin), {}
            for number in range(begin, min(begin + each, len(task.phases))):
                self._apply(states, task.phases[number].work, self._operands)
                inner[number] = self._copy(states)
                self._apply(states, task.phases[number].maps, self._operands)
            for number in range(min(begin + each, len(task.phases)) - 1, max(begin, task.first) - 1, -1):
                cotangents = self._back(task.phases[number], inner.pop(number), cotangents, total)
        found.derivatives[:] = task.pulled(total, self._which)

    def _copy(self, states: Batch) -> Batch:
        return states.take(np.arange(states.rows, dtype=np.int64))

    def _apply(self, states: Batch, work: Structure, operands: Complex) -> None:
        """Run some work on states, which have these operands."""
        if not work.instructions:
            return
        new = states.fresh == (1 << self._wires) - 1
        plan = plan_of(work, self._wires, states.layout, self._shape, states.fresh, None, new)
        states.layout = at.begun_as(states.layout, plan.start) if new else states.layout
        made = prepare(plan, operands, (self._device,), self._dtype, self._task.options.compile, rows=True)
        states.run(plan, made, self._tick)

    def _begin(self, states: Batch, found: Found) -> Batch:
        """Return the cotangents, each an observable as a vector, and write the values."""
        device, target, n, rows = self._device, self._task.target, self._wires, states.rows
        assert isinstance(target, Expectations | WeightedExpectations)
        half = self._task.doubled.num_wires
        one = np.zeros((1 << n - 2 * half, 1 << 2 * half), dtype=self._dtype)
        one[:, :: (1 << half) + 1] = 1  # the diagonal, for all values of bits that were measured
        identity = Batch(device, n, 1, self._dtype)
        identity.fill(one.reshape(-1))
        identity.arrange(states.layout)
        known, count = stored(target.sums, states.layout), len(target.sums)
        each = device.allocate(count << n, self._dtype)
        device.begin_sums(identity.buffer, each, n, known)()
        for row in range(rows):
            mine = states.buffer[row << n : row + 1 << n]
            found.values[row] = [device.inner(each[k << n : k + 1 << n], mine).real for k in range(count)]
        made = device.allocate(rows * target.cotangents << n, self._dtype)
        if isinstance(target, Expectations):
            device.take_rows(made, each, n, np.arange(rows * count) % count)
        else:
            alike = identity.take(np.zeros(rows, dtype=np.int64))
            device.begin_sums(alike.buffer, made, n, known, target.weights[self._which])()
        return Batch.over(device, made, states.layout)

    def _back(self, phase: Phase, states: Batch, cotangents: Batch, total: Complex) -> Batch:
        """Take cotangents back through a phase, behind whose unitary work the states are; add to derivatives."""
        count = cotangents.rows // states.rows
        maps = adjoint(phase.maps)
        own = maps.operands(self._operands)
        self._apply(cotangents, maps.work, np.repeat(own, count, axis=0) if len(own) > 1 else own)
        inverted = inverse(phase.work)
        if not inverted.work.instructions:
            return cotangents
        buffer = states.buffer  # with all zeros
        cotangents.arrange(states.layout)
        flags = self._task.wanted[inverted.sources].tobytes()
        back = back_plan(inverted.work, states.layout, self._shape, None, flags)
        total += self._passed(back, inverted, buffer, cotangents.buffer)
        return Batch.over(self._device, cotangents.buffer, back.plan.end)

    def _passed(self, back: Back, inverted: Inverse, states: Buffer, cotangents: Buffer) -> Complex:
        """Take both back through unitary work; return the cotangents of all operands."""
        steps = prepared(back, self._device, self._wires, self._dtype)
        numbers, taken = bound_rows(back.plan, inverted.operands(self._operands)), []
        for number, packed in enumerate(numbers):
            self._tick()
            taken.append(self._device.run_adjoint(states, cotangents, self._wires, number, packed, steps))
        return inverted.pulled(back.pulled(numbers.buffer, taken, 1), self._operands.shape[1])


def run(assigner: Assigner, task: NoisyTask, found: Found) -> Assignment:
    """Write all values and derivatives, many bindings at a time; return where the density matrices were.

    Raises `NotSupported` where they do not lie in one piece.
    """
    size, dtype = task.doubled.size, task.options.dtype
    where = assigner.one(size + (task.states - 1).bit_length())  # room for all that are kept
    if not in_one_piece(where):
        raise NotSupported(
            f"gradient: expected density matrices in one piece on one device, got {where.deployment.describe()}, for "
            f"{task.states} of {size} index bits; use fewer wires, or options that do not divide them."
        )
    require_derivatives(where)
    device, count = cast(DifferentiatingDevice, where.device), task.sweep.count
    each = rows_at_once(device, task.states * state_bytes(size, dtype), 16 * task.target.cotangents * len(task.wanted))
    each = max(1, min(each, where.free // (task.states * state_bytes(size, dtype))))
    for begin in range(0, count, each):
        rows = np.arange(begin, min(begin + each, count))
        Passage(task, device, rows, check_cancelled).differentiate(found.of_rows(rows))
    return where
