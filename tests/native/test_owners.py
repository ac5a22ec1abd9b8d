"""Objects of Python that own memory of native code."""

from __future__ import annotations

import pytest

from qsim_ex.kernels.cpu.encoded_plan import EncodedPlan
from qsim_ex.kernels.cuda.interpret.programs import SweepPrograms
from qsim_ex.kernels.cuda.launch.layout import _KeptLaunches
from qsim_ex.native.library import function
from qsim_ex.planning.form import FormInMaking
from qsim_ex.planning.planner import Planner
from qsim_ex.steps.sweep_arrays import SweepArrays


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("owner", [EncodedPlan, SweepPrograms, _KeptLaunches, Planner, FormInMaking, SweepArrays])
def test_an_owner_that_ctrl_c_met_before_it_began_ends_in_silence(owner: type) -> None:
    """An object whose `__init__` has not run has no memory to give back, and says nothing when it ends."""
    owner.__new__(owner).__del__()


FREES = (
    "plan_free_keys plan_free_programs plan_free_launches sweeps_free form_free writer_free plan_free_encoded plan_free"
)


@pytest.mark.parametrize("name", FREES.split())
def test_to_free_nothing_does_nothing(name: str) -> None:
    """A function that frees an object takes 0, which is none, and returns 0: no error."""
    assert function(name)(0) == 0
