"""The public names are there, and cost nothing until they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import qsim_ex


@pytest.mark.parametrize("name", qsim_ex.__all__)
def test_names_are_there(name: str) -> None:
    """Every public name can be imported and is listed."""
    assert getattr(qsim_ex, name) is not None
    assert name in dir(qsim_ex)


def test_other_names_are_not() -> None:
    """A misspelt name is an AttributeError that repeats it."""
    with pytest.raises(AttributeError, match="StateVektor"):
        qsim_ex.StateVektor  # noqa: B018


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import qsim_ex", "numpy cupy qsim_ex.errors"),
        ("from qsim_ex import CircuitBuilder, Simulator, StateVector, Result", "cupy"),
        ("import qsim_ex.planning.planner", "cupy qsim_ex.devices"),
    ],
)
def test_imports_are_lazy(code: str, absent: str) -> None:
    """Importing loads no compiler and no GPU library that may not be needed."""
    check = f"import sys; {code}; print([name for name in {absent.split()} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
