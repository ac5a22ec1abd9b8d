"""State vectors: circuits as one part, or as the separate parts that they have; noise and measurements are drawn."""

from __future__ import annotations

from qsim_ex.run.joint import run_parts as run_parts  # noqa: PLC0414 (the pipeline asks for it when there are parts)
from qsim_ex.run.methods.method import RunMethod
from qsim_ex.run.pipeline import run_separated, run_whole

METHOD = RunMethod(run_separated, run_joined=run_whole)
