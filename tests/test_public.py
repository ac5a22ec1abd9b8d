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
        (
            "import qsim_ex.devices.gpu.device, qsim_ex.run.repeated, qsim_ex.deployment.assign",
            "cupy qsim_ex.devices.cpu.device qsim_ex.placement.exchange qsim_ex.kernels.cuda.batch_sweeps",
        ),
        (
            "import qsim_ex.devices.gpu.device",
            "qsim_ex.kernels.cuda.write.emit qsim_ex.kernels.cuda.fixed.wide",
        ),
    ],
)
def test_imports_are_lazy(code: str, absent: str) -> None:
    """Importing loads no compiler, no GPU library, and nothing that a first run on a GPU does without."""
    check = f"import sys; {code}; print([name for name in {absent.split()} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
