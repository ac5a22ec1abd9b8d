"""What a run tells `logging`: a line for programs that ask for it, made after the run.

Records hold texts and no results or states, since a handler may keep them for long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.display.log import LOGGER
from qsim_ex.execution.prepare import plan_of
from qsim_ex.result import BatchResult

if TYPE_CHECKING:
    from qsim_ex.state.vector import StateVector


def log_run(circuit: Circuit, result: BatchResult) -> None:
    """Log what ran, where and why, and its seconds; at DEBUG also the parts of the time and the plans' cache."""
    LOGGER.info("ran %s: %s (%s)", repr(circuit), repr(result), result.device_reason)
    known = plan_of.cache_info()
    parts = ", ".join(f"{part} {seconds:.3g} s" for part, seconds in result.timings.items())
    LOGGER.debug("%s; %d plans in the cache, which were found %d times", parts, known.currsize, known.hits)


def log_state(circuit: Circuit | None, state: StateVector, seconds: float) -> None:
    """Log a new state: after which circuit, where and why, and the seconds of the host."""
    after = "" if circuit is None else f" after {circuit!r}"
    LOGGER.info("%s%s (%s), %.3g s", repr(state), after, state.where.deployment.reason, seconds)
