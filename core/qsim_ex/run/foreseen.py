"""What a run would plan: its plans, their device and placement, and what would run in place of the circuit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.structure import Structure
from qsim_ex.deployment.hypothetical import assign_hypothetical
from qsim_ex.execution.prepare import plan_of, plans_of
from qsim_ex.options import Options
from qsim_ex.options.methods import USUAL
from qsim_ex.placement.deployment import Deployment
from qsim_ex.program.divide import program_of
from qsim_ex.program.program import Program, Segment
from qsim_ex.program.seen import seen
from qsim_ex.run.candidates import gates_of
from qsim_ex.run.instead import CHECKPOINT
from qsim_ex.run.pipeline import BatchCall
from qsim_ex.run.request import own_bindings
from qsim_ex.run.stretches import Planning, StretchLook, in_stretches
from qsim_ex.run.tried import least_microseconds
from qsim_ex.run.where import Where
from qsim_ex.run.worker import PLANS, way_of
from qsim_ex.run.written_out import written_out
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.deployment.elsewhere import Cluster
    from qsim_ex.devices.hypothetical import HypotheticalDevice, HypotheticalGpu

SHORT = "it takes too little time to be written anew"
SLOWER = "nothing that is written of its gates is predicted to be faster"
BRANCHES = "density matrices of circuits with blocks or loops are followed branch by branch"


class Foreseen(NamedTuple):
    """A circuit that is simulated as a whole.

    written: what runs in its place, in words; "" for nothing. why: it runs as it came, if it is to be told.
    """

    program: Program
    plans: tuple[Plan, ...]
    device: HypotheticalDevice
    deployment: Deployment
    written: str = ""
    why: str = ""


def foreseen(
    circuit: Circuit,
    program: Program,
    options: Options,
    machine: Cluster | None = None,
    gpu: HypotheticalGpu | None = None,
    *,
    again: bool = True,
) -> Foreseen:
    """Return the plans of a circuit that is simulated as a whole, their device and their placement."""
    device, deployment = assign_hypothetical(circuit.num_qubits, options, elsewhere=machine is not None, gpu=gpu)
    shape, levels = device.shape(options.dtype), deployment.planning_levels

    def planned(program: Program) -> tuple[Plan, ...]:
        return tuple(plans_of(program, circuit.num_qubits, shape, levels, device.grows).values())

    def anew(written: Structure) -> tuple[Program, tuple[Plan, ...]]:
        program = program_of(seen(written, whole=False), False, 0, ())
        return program, planned(program)

    def one(segment: Segment, start: Layout, fresh: int) -> Plan:
        own = shape.staying() if program.loops else shape
        return plan_of(segment.work, circuit.num_qubits, start, own, fresh, levels)

    plans, where, bound = planned(program), Where(device, deployment, options), own_bindings(circuit)
    came = Foreseen(program, plans, device, deployment)
    if not BatchCall.of_shots(circuit, options).may_be_heavy:
        return came
    exact = USUAL[options.method].index_bits > 1
    if why := CHECKPOINT if options.checkpoint is not None else BRANCHES if exact and program.loops else "":
        return came._replace(why=why)
    if not exact and gates_of(circuit.structure):
        if other := written_out(circuit.structure, bound, lambda: plans, where, anew, again=again):
            return Foreseen(other.program, planned(other.program), device, deployment, other.in_words)
        short = int(1e6 * where.times(plans).first) < least_microseconds()
        return came._replace(why=SHORT if short else SLOWER)
    if way_of([(device, deployment)], program, options) is not PLANS:
        return came
    look = StretchLook(program, circuit.num_qubits, bound, Planning(lambda: plans, planned, one), where)
    if isinstance(found := in_stretches(look, lambda: 0, again=again), str):
        return came._replace(why=found)
    return Foreseen(found.program, planned(found.program), device, deployment, found.fact)
