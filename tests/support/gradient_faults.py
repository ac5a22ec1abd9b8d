"""Faults of gradients that are planted one at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from qsim_ex.circuit.parameters import pullback
from qsim_ex.run import gradient, gradient_task, reversed_plan
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


def shared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter of several gates counts once."""

    def put(to: Any, places: Any, values: Any) -> None:
        to[..., places] = values

    monkeypatch.setattr(pullback, "add_at", put)
