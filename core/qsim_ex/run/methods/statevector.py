"""State vectors: circuits as one part, or as the separate parts that they have; noise and measurements are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qsim_ex.later import later
from qsim_ex.run.methods.method import RunMethod
from qsim_ex.run.pipeline import BatchCall, run_separated, run_whole

if TYPE_CHECKING:
    from qsim_ex.program.separation import Separation
    from qsim_ex.result import BatchResult
    from qsim_ex.run import joint
else:
    joint = later("qsim_ex.run.joint")


def run_parts(call: BatchCall, separation: Separation) -> BatchResult:
    """Run the parts of a circuit; the pipeline asks for it when there are some."""
    return joint.run_parts(call, separation)


METHOD = RunMethod(run_separated, run_joined=run_whole)
