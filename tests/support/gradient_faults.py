"""Faults of gradients that are planted one at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from qsim_ex.circuit.parameters import pullback
from qsim_ex.planning.written import numbers as written_numbers
from qsim_ex.run.gradients import density as gradient_density
from qsim_ex.run.gradients import gradient, reversed_plan
from qsim_ex.run.gradients import task as gradient_task
from qsim_ex.run.gradients import trajectories as gradient_trajectories
from qsim_ex.steps.reversed import ReversedSweep
from qsim_ex.steps.step import Sweep


def sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derivatives have the other sign."""
    true = pullback.pulled
    monkeypatch.setattr(gradient_task, "pulled", lambda *given: -true(*given))


def conjugate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cotangents of numbers are conjugated."""
    true = reversed_plan.pull_back
    monkeypatch.setattr(reversed_plan, "pull_back", lambda of, numbers, found: true(of, numbers, found.conj()))


def dropped_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way back lacks an item."""
    true = reversed_plan.reversed_sweep

    def dropped(sweep: Sweep) -> ReversedSweep:
        one = true(sweep)
        blocks = [*one.sweep.register_blocks]
        number = next(number for number, block in enumerate(blocks) if len(block.items) > 3)
        blocks[number] = replace(blocks[number], items=blocks[number].items[:2] + blocks[number].items[3:])
        return replace(one, sweep=replace(one.sweep, register_blocks=tuple(blocks)))

    monkeypatch.setattr(reversed_plan, "reversed_sweep", dropped)
    kept = reversed_plan.reversed_plan.__wrapped__  # what is kept stays right
    monkeypatch.setattr(gradient, "reversed_plan", kept)


def whole_norms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The factors of a matrix that a trajectory has chosen are as they are, and only their product is unitary."""
    monkeypatch.setattr(gradient_trajectories, "_unitary_entries", lambda kraus, _choice: kraus.entries)


def lost_conjugates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A density matrix's columns, whose numbers are conjugates, count for nothing."""

    def rows_alone(task: Any, found: Any, which: Any) -> Any:
        return pullback.pulled(task.sweep, which, found[:, :, : task.sweep.template.operands.shape[1]])

    monkeypatch.setattr(gradient_density.NoisyTask, "pulled", rows_alone)


def written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the angles that a phase is in, where a circuit is written out of its form, only one counts."""

    def put(to: Any, places: Any, values: Any) -> None:
        to[..., places] = values

    monkeypatch.setattr(written_numbers, "add_at", put)


def shared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter of several gates counts once."""

    def put(to: Any, places: Any, values: Any) -> None:
        to[..., places] = values

    monkeypatch.setattr(pullback, "add_at", put)
