"""Faults of gradients of divided states that are planted one at a time: each of them leaves out a piece."""

from __future__ import annotations

from typing import Any

import pytest

from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.placement import paired
from qsim_ex.placement.divided import products


def dropped_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums of the second piece are left out."""
    true = CpuDevice.run_adjoint

    def dropped(self: CpuDevice, *given: Any) -> Any:
        found = true(self, *given)
        return None if given[-1] == 1 else found

    monkeypatch.setattr(CpuDevice, "run_adjoint", dropped)


def high_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps backwards take every piece for the first one."""
    true = CpuDevice.run_adjoint
    monkeypatch.setattr(CpuDevice, "run_adjoint", lambda self, *given: true(self, *given[:-1], 0))


def dropped_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """The observable is not applied to one piece."""
    true = products._add
    monkeypatch.setattr(products, "_add", lambda near, parts: None if near.high == 1 else true(near, parts))


def lost_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece of the cotangent is lost on the way back."""
    true = paired.PairedSteps.launch

    def lost(self: paired.PairedSteps, target: Any, step: Any, packed: Any) -> None:
        true(self, target, step, packed)
        if target.high == 1:
            target.buffer[target.buffer.size // 2 :] = 0

    monkeypatch.setattr(paired.PairedSteps, "launch", lost)
