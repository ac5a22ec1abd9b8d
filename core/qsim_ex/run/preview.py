"""A preview of a run: its plans, their costs, and a description in words; runs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Save
from qsim_ex.deployment.assign import assign_hypothetical
from qsim_ex.execution.costs import total_of
from qsim_ex.execution.prepare import plans_of
from qsim_ex.options import Options
from qsim_ex.placement.deployment import Deployment
from qsim_ex.placement.kinds import KINDS
from qsim_ex.planning.cost.summary import PlanSummary
from qsim_ex.planning.explain import explain as explain_plan
from qsim_ex.program.divide import program_of
from qsim_ex.program.kraus import entropy
from qsim_ex.program.program import BranchPoint, Segment
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.devices.hypothetical import HypotheticalDevice


def plans(circuit: Circuit, options: Options) -> tuple[tuple[Plan, ...], HypotheticalDevice, Deployment]:
    """Return the plans of the segments of a circuit, and their device and placement; the device may be absent."""
    device, deployment = assign_hypothetical(circuit.num_qubits, options)
    shape, levels = device.shape(options.dtype), deployment.planning_levels
    program = program_of(circuit.structure, False, 0, ())
    return plans_of(program, circuit.num_qubits, shape, levels, device.grows), device, deployment


def summary(circuit: Circuit, options: Options) -> PlanSummary:
    """Return the costs of the plans of a circuit."""
    found, _, deployment = plans(circuit, options)
    return total_of(found, options.dtype, deployment)


def explain(circuit: Circuit, options: Options) -> str:
    """Return the device and the steps of a run of a circuit in words, segment by segment."""
    found, device, deployment = plans(circuit, options)
    program = program_of(circuit.structure, False, 0, ())
    head = f"{device.name}: {device.description}"
    if deployment.in_one_piece:
        lines = [f"{head} ({deployment.reason}), {options.dtype.name}"]
    else:
        lines = [f"{head}, {options.dtype.name}", deployment.describe()]
    lines += program.describe(entropy(program, circuit.operands[0]))
    if program.branches:
        from qsim_ex.run import trajectories

        if trajectories.suits(program, device, deployment, options):
            lines.append(trajectories.DESCRIPTION)
    following = iter(found)
    for node in program.nodes:
        match node:
            case Segment():
                lines.append(explain_plan(next(following), options.dtype.itemsize))
            case Save(label):
                lines.append(f"the state is saved as {label!r}")
            case BranchPoint():
                pass
            case _:
                assert_never(node)
    if (told := _migration(found, deployment, options)) is not None:
        lines.append(told)
    return "\n".join(lines)


def _migration(found: tuple[Plan, ...], deployment: Deployment, options: Options) -> str | None:
    """Return a line on the copies between host and device for a placement that migrates; None for others."""
    if KINDS[deployment.kind].copies is None:
        return None
    from qsim_ex.devices.memory import human

    total = total_of(found, options.dtype, deployment)
    return (
        f"windows that are on the device already are not copied: {human(total.bytes_host)} are copied from and to the "
        f"host, with {deployment.in_flight} sub state vectors on the device; predicted: {total.seconds:.3g} s"
    )
