"""Faults of gradients that are planted one at a time."""

from __future__ import annotations

from typing import Any

import pytest

from qsim_ex.circuit import inverse
from qsim_ex.circuit.parameters import pullback
from qsim_ex.run import gradient_task as under_test


def sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derivatives have the other sign."""
    true = pullback.pulled
    monkeypatch.setattr(under_test, "pulled", lambda *given: -true(*given))


def conjugate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cotangents of operands are conjugated."""
    true = inverse.Inverse.pulled
    monkeypatch.setattr(inverse.Inverse, "pulled", lambda self, of, total: true(self, of.conj(), total))


def dropped_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way back lacks a gate."""
    true = under_test.inverse

    def dropped(work: Any, first: int) -> inverse.Inverse:
        whole = true(work, first)
        kept = whole.work.instructions[:3] + whole.work.instructions[4:]
        return inverse.Inverse(inverse.structure_of(work.num_qubits, 0, kept), whole.sources)

    monkeypatch.setattr(under_test, "inverse", dropped)
    monkeypatch.setattr(under_test, "_inverse", under_test._inverse.__wrapped__)  # what is kept stays right


def shared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter of several gates counts once."""

    def put(to: Any, places: Any, values: Any) -> None:
        to[..., places] = values

    monkeypatch.setattr(pullback, "add_at", put)
