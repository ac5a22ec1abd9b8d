"""The place of a run and the bytes moved, in the form that every command shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Console

from qsim_ex.cli.layout import facts, heading
from qsim_ex.cli.sizes import seconds
from qsim_ex.display.amounts import human, plural
from qsim_ex.later import later
from qsim_ex.placement.deployment import Deployment
from qsim_ex.planning.cost.summary import PlanSummary
from qsim_ex.result import Result

if TYPE_CHECKING:
    from qsim_ex.frameworks import packages
else:
    packages = later("qsim_ex.frameworks.packages")

_PARTS = ("plan", "prepare", "run", "sample")


def plan_line(plan: PlanSummary) -> str:
    """Return a plan in one line: gates, passes over memory, register blocks, other steps."""
    parts = [plural(plan.gates, "gate"), plural(plan.sweeps, "sweep"), plural(plan.register_blocks, "register block")]
    if plan.wide:
        parts.append(plural(plan.wide, "other step"))
    return " · ".join(parts)


def placement_line(how: Deployment) -> str | None:
    """Return how a state is divided; None for a state in one piece."""
    if how.in_one_piece:
        return None
    count = 1 << (how.num_wires - how.levels.local)
    devices = plural(len(how.devices), "device")
    return f"{how.kind}: {count} sub state vectors of {how.levels.local} wires, {devices}"


def memory_line(how: Deployment) -> str:
    """Return the bytes for amplitudes, on each device and on the host."""
    if how.in_one_piece:
        return f"{human(how.device_bytes)} for amplitudes"
    host = f", {human(how.host_bytes)} on the host ({how.host_memory})" if how.host_memory else ""
    return f"{human(how.device_bytes)} for amplitudes on each device{host}"


def times_line(timings: Mapping[str, float]) -> str:
    """Return the time in all, and its parts: "3.80 ms: plan 1.20 ms, …"."""
    parts = [f"{name} {seconds(timings[name])}" for name in _PARTS if name in timings]
    return f"{seconds(timings['total'])}: {', '.join(parts)}"


def show_where(page: Console, result: Result) -> None:
    """Print device, precision, memory, plan, time and seed of a run."""
    heading(page, "Where it ran")
    facts(
        page,
        [
            ("device", f"{result.device}: {result.device_description}"),
            ("because", result.device_reason),
            ("precision", result.precision),
            ("placement", placement_line(result.deployment)),
            ("memory", memory_line(result.deployment)),
            ("plan", plan_line(result.plan)),
            ("moved", human(result.plan.bytes_moved)),
            ("time", times_line(result.timings)),
            ("seed", result.seed),
        ],
    )


def document(command: str, **content: object) -> dict[str, object]:
    """Return the outermost object of every JSON document."""
    return {"qsim_ex": packages.version(), "command": command, **content}
