"""Old public paths still work, and warn with the public home of the name."""

from __future__ import annotations

import importlib
import sys

import pytest

import qsim_ex
from qsim_ex import moved


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("qsim_ex.circuit.noise", "depolarizing", "depolarizing"),
        ("qsim_ex.circuit.noise", "reset", "reset_channel"),
        ("qsim_ex.circuit.noise", "pauli", "pauli_channel"),
        ("qsim_ex.circuit.noise_model", "NoiseModel", "NoiseModel"),
        ("qsim_ex.circuit.noise_model", "NoisyBuilder", "NoisyBuilder"),
        ("qsim_ex.circuit.readout", "Misread", "ReadoutError"),
        ("qsim_ex.circuit.readout", "confusion", "confusion"),
        ("qsim_ex.circuit.bindings", "Bindings", "Bindings"),
        ("qsim_ex.batched", "BatchedStateVector", "BatchedStateVector"),
        ("qsim_ex.circuit.circuit", "CircuitBuilder", "CircuitBuilder"),
        ("qsim_ex.state", "StateVector", "StateVector"),
    ],
)
def test_an_old_path_gives_the_public_object_and_warns(module: str, old: str, new: str) -> None:
    """The old path names the same object as `qsim_ex`, and the warning names that home."""
    sys.modules.pop(module, None) if module in moved.MODULES else None
    with pytest.warns(DeprecationWarning, match=f"{module}.*has moved: use .*qsim_ex\\.{new}"):
        found = getattr(importlib.import_module(module), old)
    assert found is getattr(qsim_ex, new)


def test_names_that_never_were_are_not_found() -> None:
    """A name that no version had raises the error that Python raises."""
    with pytest.raises(AttributeError, match=r"'qsim_ex\.circuit\.noise' has no attribute 'nonsense'"):
        importlib.import_module("qsim_ex.circuit.noise").nonsense  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("qsim_ex.circuit.nonsense")


@pytest.mark.parametrize("old", moved.MODULES)
def test_every_home_is_there(old: str) -> None:
    """Each row of the table of modules names a module that exists."""
    assert importlib.import_module(moved.MODULES[old][0])


@pytest.mark.parametrize(
    ("package", "old"), [(package, old) for package in moved.NAMES for old in moved.NAMES[package]]
)
def test_every_name_is_public_now(package: str, old: str) -> None:
    """Each name of the table has a public home in `qsim_ex`."""
    assert moved.NAMES[package][old] in qsim_ex.__all__
