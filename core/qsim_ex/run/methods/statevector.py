"""State vectors: circuits as one part, or as the separate parts that they have; noise and measurements are drawn."""

from __future__ import annotations

from qsim_ex.comm import connection
from qsim_ex.errors import NotSupported, OptionError
from qsim_ex.program.separate import separation_of
from qsim_ex.program.separation import How
from qsim_ex.result import BatchResult
from qsim_ex.run.joint import run_parts
from qsim_ex.run.methods.method import RunMethod
from qsim_ex.run.pipeline import BatchCall, run_whole


def run(call: BatchCall) -> BatchResult:
    """Run a call whose circuit may have idle wires and separate parts; see `Simulator.run_batch`."""
    if not call.options.separate:
        return _run(call, "whole")
    how: How = "apart" if call.options.checkpoint is None else "together"
    if not call.options.divides:
        return _run(call, how)
    try:
        return _run(call, how)
    except (OptionError, NotSupported):  # the demanded pieces are too many for the wires that are left
        return _run(call, "whole")


def _run(call: BatchCall, how: How) -> BatchResult:
    """Run a call in one of the ways to part its circuit."""
    separation = separation_of(call.circuit.structure, bool(call.observables), call.groups, how)
    if separation is None or separation.alone is not None:
        return run_whole(call, separation)
    largest = max(len(part.wires) for part in separation.parts)
    if how == "apart" and connection.planned(call.options.processes, largest) > 1:  # a divided state is one part
        return _run(call, "together")
    return run_parts(call, separation)


METHOD = RunMethod(run, run_joined=run_whole)
