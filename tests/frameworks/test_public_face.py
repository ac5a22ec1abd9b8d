"""The names that a framework's package imports."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from qsim_ex import frameworks


@pytest.mark.parametrize("name", frameworks.__all__)
def test_a_name_is_there_and_is_explained(name: str) -> None:
    """Every public name can be imported, however often, and its class or function has a docstring."""
    found = getattr(frameworks, name)
    assert getattr(frameworks, name) is found
    if callable(found) and name not in ("Instruction", "ReadoutErrors", "Values"):  # which are types that are named
        assert found.__doc__


def test_other_names_are_refused() -> None:
    """A name that is not offered is an error that says so, and `dir` lists what is offered."""
    with pytest.raises(AttributeError, match="has no attribute 'StateVector'"):
        _ = frameworks.StateVector
    assert {*frameworks.__all__} <= {*dir(frameworks)}


def test_modules_do_not_hide_names() -> None:
    """A module of the package never stands where a function of the same name is looked for."""
    for module in ("binding_group", "observable_group", "parameter_columns"):
        importlib.import_module(f"qsim_ex.frameworks.{module}")
        assert module not in frameworks.__all__


def test_the_package_alone_loads_nothing() -> None:
    """To import the package loads neither NumPy nor the engine."""
    code = (
        "import sys; import qsim_ex.frameworks; "
        "print([name for name in ('numpy', 'qsim_ex.simulator', 'qsim_ex.circuit') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
