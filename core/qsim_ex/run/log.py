"""What a run tells `logging`: a line for programs that ask for it, made after the run."""

from __future__ import annotations

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.display.log import LOGGER
from qsim_ex.execution.prepare import plan_of
from qsim_ex.result import BatchResult


def log_run(circuit: Circuit, result: BatchResult) -> None:
    """Log what ran, where and why, and its seconds; at DEBUG also the parts of the time and the plans' cache."""
    LOGGER.info("ran %r: %r (%s)", circuit, result, result.device_reason)
    known = plan_of.cache_info()
    parts = ", ".join(f"{part} {seconds:.3g} s" for part, seconds in result.timings.items())
    LOGGER.debug("%s; %d plans in the cache, which were found %d times", parts, known.currsize, known.hits)
