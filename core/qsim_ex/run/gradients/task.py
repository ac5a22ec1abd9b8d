"""What a gradient is made from, wherever its states lie: work, the way back, and the chain rule behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.derivatives import add_at
from qsim_ex.circuit.inverse import Inverse, first_wanted, inverse
from qsim_ex.circuit.parameters.pullback import pulled
from qsim_ex.circuit.parameters.sweep import ParameterSweep, Values
from qsim_ex.circuit.structure import Structure
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.adjoint import Differentiates
from qsim_ex.errors import NotSupported
from qsim_ex.execution.prepare import plan_of
from qsim_ex.execution.progress import Ticker, work_of
from qsim_ex.native.library import CANCEL
from qsim_ex.options import Options
from qsim_ex.placement.base import Tick
from qsim_ex.planning.coefficients.pullback import LEFT_OUT, depending, pull_back
from qsim_ex.planning.written.numbers import WrittenNumbers
from qsim_ex.precision import AmplitudeDtype
from qsim_ex.run.gradients.targets import Complex, Rows, Target
from qsim_ex.run.gradients.trajectories import ChosenRows
from qsim_ex.steps.layout import Layout, Levels, Shape
from qsim_ex.steps.plan import Plan

Flags = NDArray[np.bool_]


class Found(NamedTuple):
    """Values, float64 [bindings, values], and derivatives, float64 [bindings, cotangents, columns]."""

    values: Values
    derivatives: Values

    def of_targets(self, targets: Sequence[Target]) -> Iterator[Found]:
        """Yield the part of each of some targets, whose values and cotangents follow one another, to be written."""
        value = cotangent = 0
        for one in targets:
            values, cotangents = slice(value, value + one.values), slice(cotangent, cotangent + one.cotangents)
            yield Found(self.values[:, values], self.derivatives[:, cotangents])
            value, cotangent = values.stop, cotangents.stop

    def of_rows(self, rows: Rows) -> Found:
        """Return those of some bindings that follow one another, to be written."""
        some = slice(rows[0], rows[-1] + 1)
        return Found(self.values[some], self.derivatives[some])


@dataclass(frozen=True, eq=False, slots=True)
class GradientTask:
    """What is differentiated.

    work: of all bindings. wanted: which of its operands depend on parameters. numbers: how the operands follow from
    those of the sweep, if the work is what is written in place of its circuit; see `run.gradients.written`. chosen: the
    rows that are worked on, if they are trajectories; else they are the sweep's bindings.
    """

    sweep: ParameterSweep
    target: Target
    work: Structure
    wanted: Flags
    options: Options
    numbers: WrittenNumbers | None = None
    chosen: ChosenRows | None = None

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.sweep.count if self.chosen is None else len(self.chosen.binding)

    @property
    def num_wires(self) -> int:
        """The number of wires of a state."""
        return self.sweep.template.num_qubits

    def operands(self, which: Rows) -> Complex:
        """Return the operands of the work for some rows, complex128 [rows, total]."""
        if self.chosen is not None:
            return self.chosen.operands(self.sweep.operands(self.chosen.binding[which]), which)
        found = self.sweep.operands(which)
        return found if self.numbers is None else self.numbers(found)

    def backwards(self) -> Inverse:
        """Return the inverse of the work from the first instruction on that has parameters."""
        return _inverse(self.work, self.wanted.tobytes())

    def derivatives(self, backwards: Inverse, found: Complex, which: Rows) -> Values:
        """Return derivatives [rows, cotangents, columns] for cotangents of the inverse's operands, of some rows."""
        return self.pulled(backwards.pulled(found, len(self.wanted)), which)

    def pulled(self, found: Complex, which: Rows) -> Values:
        """Return derivatives [rows, cotangents, columns] for cotangents of the operands, of some rows."""
        total = self.sweep.template.operands.shape[1]
        if self.chosen is not None:
            return pulled(self.sweep, self.chosen.binding[which], self.chosen.pull_back(found, total))
        if self.numbers is not None:
            found = self.numbers.pull_back(self.sweep.operands(which), found[:, :, : self.numbers.size])
        return pulled(self.sweep, which, found[:, :, :total])


def in_one_piece(where: Assignment) -> bool:
    """Return whether states lie in one piece on one device of this process."""
    return where.ranks is None and where.deployment.in_one_piece


def require_derivatives(where: Assignment) -> None:
    """Raise `NotSupported` for a device that does not differentiate."""
    if not isinstance(where.device, Differentiates):
        raise NotSupported(
            f"gradient: expected a device that differentiates, got {where.device.name}, whose kernels do not yet; use "
            "device='cpu'."
        )


@lru_cache(maxsize=64)
def _inverse(work: Structure, wanted_bytes: bytes) -> Inverse:
    return inverse(work, first_wanted(work, np.frombuffer(wanted_bytes, dtype=np.bool_)))


def ticker_of(task: GradientTask, turns: int) -> Ticker:
    """Return the counter of steps of all bindings, each of which passes its circuit so often with each target."""
    size = work_of(task.num_wires, 3 * len(task.work.instructions), task.count * turns)
    return Ticker(CANCEL.get(), task.options.progress, task.options.watch, size)


class Steps(NamedTuple):
    """The counter of steps, the number of all bindings and targets, and what returns the bytes moved so far."""

    ticker: Ticker
    states: int
    moved: Callable[[], int]

    def expected(self, ends: Sequence[int]) -> Tick:
        """Expect the steps of states whose stages have these ends; return what counts a step of one state."""
        self.ticker.expect(self.states, ends, self.moved)
        return self.ticker if self.ticker.reports else self.ticker.tick


@dataclass(frozen=True, eq=False, slots=True)
class Back:
    """A plan of an inverse circuit; wanted: which packed numbers of each step derivatives are needed for."""

    plan: Plan
    wanted: tuple[Flags, ...]

    def pulled(self, numbers: Complex, steps: Sequence[Complex | None], factor: int) -> Complex:
        """Return cotangents of the inverse's operands, [rows, cotangents, operands].

        numbers: whole coefficient buffers [rows or 1, size]. steps: derivatives for each step, [rows, cotangents,
        packed numbers], None where there are none.
        """
        rows = next((one.shape[:2] for one in steps if one is not None), (1, 1))
        found = np.zeros((*rows, self.plan.coefficients.size()), dtype=np.complex128)
        for one, places in zip(steps, self.plan.coefficients.packed, strict=True):
            if one is not None:  # −factor·Re⟨λ|dV|ψ⟩, and Re(conj(g)·dz) is Re(w·dz) with w = conj(g)
                add_at(found, places, -factor * one.conj())
        return pull_back(self.plan.coefficients, numbers, found)


def back_of(
    task: GradientTask, inverted: Inverse, start: Layout, shape: Shape, levels: Levels | None = None
) -> Back | None:
    """Return the way back from states in a layout, with all amplitudes there; None if nothing has parameters."""
    if not inverted.work.instructions:
        return None
    return back_plan(inverted.work, start, shape, levels, task.wanted[inverted.sources].tobytes())


@lru_cache(maxsize=256)
def back_plan(work: Structure, start: Layout, shape: Shape, levels: Levels | None, wanted_bytes: bytes) -> Back:
    """Return a way back; wanted_bytes: the flags of the operands that derivatives are needed for."""
    plan = plan_of(work, len(start), start, replace(shape, left_out=LEFT_OUT), 0, levels)
    flags = depending(plan.coefficients, np.frombuffer(wanted_bytes, dtype=np.bool_))
    return Back(plan, tuple(flags.take(places) for places in plan.coefficients.packed))


@lru_cache(maxsize=256)
def prepared(back: Back, device: Differentiates, num_bits: int, dtype: AmplitudeDtype) -> object:
    """Return the steps of a way back as a device takes them, for states of 2^num_bits amplitudes."""
    return device.prepare_adjoint(back.plan.steps, num_bits, dtype, back.wanted)
