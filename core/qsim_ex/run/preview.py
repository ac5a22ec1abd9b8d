"""A preview of a run: its plans, their costs, and a description in words; runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.deployment.hypothetical import assign_hypothetical
from qsim_ex.devices.base import KeepsKernels
from qsim_ex.devices.memory import state_bytes
from qsim_ex.display.amounts import human
from qsim_ex.display.explanation import Explanation
from qsim_ex.display.plans.chart import PlanChart
from qsim_ex.errors import OptionError
from qsim_ex.execution.costs import first_of, total_of
from qsim_ex.observe import expectation
from qsim_ex.options import Options
from qsim_ex.options.methods import UNDER, USUAL, MethodRow
from qsim_ex.placement.deployment import Deployment
from qsim_ex.placement.kinds import KINDS
from qsim_ex.planning.cost.rates import H200, Rates
from qsim_ex.planning.cost.summary import NO_WORK, PlanSummary
from qsim_ex.planning.explain import explain as explain_plan
from qsim_ex.planning.explain import predicted, predicted_runs
from qsim_ex.planning.form import TOLERANCE, begun
from qsim_ex.precision import PRECISIONS
from qsim_ex.program.choices import entropy
from qsim_ex.program.divide import program_of
from qsim_ex.program.program import Program
from qsim_ex.program.seen import parted, seen
from qsim_ex.program.separate import separation_of
from qsim_ex.program.separation import Separation
from qsim_ex.run.candidates import beginning_of, gates_of
from qsim_ex.run.foreseen import foreseen
from qsim_ex.run.methods.method import RunMethod, Suited, loaded
from qsim_ex.run.pipeline import BatchCall
from qsim_ex.run.plan_charts import chart_of
from qsim_ex.run.worker import way_of
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.deployment.elsewhere import Cluster
    from qsim_ex.devices.hypothetical import HypotheticalDevice, HypotheticalGpu

_ROTATIONS = 1 << 14  # of a form that is told of; one with more is long to find


def plans(circuit: Circuit, options: Options, gpu: HypotheticalGpu | None = None, *, again: bool = True) -> list[Plan]:
    """Return the plans of the segments of a circuit, part by part; the device may be absent.

    gpu: the one that is meant, whatever this machine has. again: those of a circuit that comes again; else those of its
    first run, before which nothing is planned that takes longer than it may gain.
    """
    if _without_plans(circuit, options) is not None:
        return []
    parts = _parts(circuit, options)[1]
    return [plan for part in parts for plan in foreseen(*part, options, gpu=gpu, again=again).plans]


def _parts(
    circuit: Circuit, options: Options, machine: Cluster | None = None
) -> tuple[Separation | None, list[tuple[Circuit, Program]]]:
    """Return the separate parts of a circuit as circuits with their programs, as `run.pipeline` runs them.

    The separation is None if there is one part.
    """
    if (parts := _method(USUAL[options.method]).parts) is not None:
        return parts(circuit, options)
    call = BatchCall.of_shots(circuit, options)
    if heavy := call.may_be_heavy:
        circuit = Circuit.of_structure(parted(circuit.structure), circuit.operands)
    separation = None
    if not call.is_light:
        separation = separation_of(circuit.structure, how="apart" if options.separate else "whole")
    if separation is not None and options.divides:
        try:
            for part in separation.parts:
                assign_hypothetical(len(part.wires), options, elsewhere=machine is not None)
        except OptionError:  # the demanded pieces are too many for the wires of a part
            separation = separation_of(circuit.structure, how="whole")
    if separation is None:
        made = seen(circuit.structure, whole=True) if heavy else circuit.structure
        return None, [(circuit, program_of(made, False, 0, ()))]
    found = []
    for part in separation.parts:
        operands = circuit.operands if part.columns is None else circuit.operands[:, part.columns]
        found.append((Circuit.of_structure(part.structure, operands), part.program(False)))
    return separation, found


def summary(circuit: Circuit, options: Options, machine: Cluster | None = None) -> PlanSummary:
    """Return the costs of the plans of a circuit, on this machine or on another one."""
    options = options if machine is None else machine.options(options)
    if _without_plans(circuit, options) is not None:
        return NO_WORK
    totals = []
    for part, program in _parts(circuit, options, machine)[1]:
        found = foreseen(part, program, options, machine)
        rates = found.device.rates(options.dtype, options.threads) if machine is None else machine.speeds
        rates = rates.shared(options.virtual_peers)
        totals.append(total_of(found.plans, options.dtype, found.deployment, rates))
    return sum(totals[1:], totals[0])


def explain(
    circuit: Circuit, options: Options, machine: Cluster | None = None, observables: Sequence[PauliSum] = ()
) -> Explanation:
    """Return the device and the steps of a run of a circuit in words, part by part and segment by segment.

    observables: those of which expectation values are taken at the end, and whose cost is told last.
    """
    told = _of_circuit(circuit, options, machine)
    if not observables:
        return told
    options = options if machine is None else machine.options(options)
    device, _ = assign_hypothetical(circuit.num_qubits, options, elsewhere=machine is not None)
    cost = _of_observables(observables, circuit.num_qubits, options, device.in_host_memory)
    return Explanation(f"{told}\nobservables at the end: {cost}", told.charts)


def _of_circuit(circuit: Circuit, options: Options, machine: Cluster | None) -> Explanation:
    """Return what `explain` says of a circuit without observables."""
    options = options if machine is None else machine.options(options)
    if (told := _without_plans(circuit, options)) is not None:
        return Explanation("\n".join(told))
    separation, parts = _parts(circuit, options, machine)
    looks = USUAL[options.method].index_bits == 1 and BatchCall.of_shots(circuit, options).may_be_heavy
    run = seen(circuit.structure, whole=True) if looks else circuit.structure
    left_out = circuit.structure.num_gates - run.num_gates
    head = [f"{left_out:,} of its gates are not run: no measurement at the end sees them"] if left_out else []
    if separation is None:
        told, charts = _explained(*parts[0], options, machine)
        return Explanation("\n".join([*head, *told, *_of_shots(circuit, options)]), charts)
    lines, charts = [*head, separation.describe()], []
    alike: dict[int, list[int]] = {}
    for number, (one, _) in enumerate(parts):
        alike.setdefault(id(one.structure), []).append(number)
    for numbers in alike.values():
        first, title = numbers[0], ""
        if len(parts) > 1:
            title = f"part {first}" + f" and {len(numbers) - 1} like it" * (len(numbers) > 1)
            wires = separation.parts[first].members
            more = f"; {len(numbers) - 1} other parts have the same plan" if len(numbers) > 1 else ""
            lines.append(f"part {first}, wires {', '.join(map(str, wires))}{more}")
        told, drawn = _explained(*parts[first], options, machine, title)
        lines += told
        charts += drawn
    return Explanation("\n".join([*lines, *_of_shots(circuit, options)]), charts)


def _method(row: MethodRow) -> RunMethod:
    """Return the method of a row."""
    method: RunMethod = loaded(row.name).METHOD
    return method


def _suited(circuit: Circuit, options: Options) -> list[tuple[RunMethod, Suited]]:
    """Return the methods that would take a circuit's shots of their own accord."""
    call = BatchCall.of_shots(circuit, options)
    rows = [row for row in UNDER[options.method][:-1] if row.only_if is None or getattr(call, row.only_if)]
    found = [(method, method.suits(call)) for method in map(_method, rows)]
    return [(method, suited) for method, suited in found if suited is not None]


def _without_plans(circuit: Circuit, options: Options) -> list[str] | None:
    """Return what a run does in words, if its method has no plans."""
    usual = _method(USUAL[options.method])
    chosen, why = next(((method, f" ({suited.why})") for method, suited in _suited(circuit, options)), (usual, ""))
    if chosen.explains is None:
        return None
    first, *others = chosen.explains(BatchCall.of_shots(circuit, options))
    return [f"{first}{why}", *others]


def _of_shots(circuit: Circuit, options: Options) -> list[str]:
    """Return a line on the shots of a circuit, if a method of their own draws them."""
    return [method.adds for method, _ in _suited(circuit, options) if method.adds]


def _explained(
    circuit: Circuit, program: Program, options: Options, machine: Cluster | None, title: str = ""
) -> tuple[list[str], list[PlanChart]]:
    """Return lines and charts on a circuit that is simulated as a whole; title: the charts' title."""
    program, found, device, deployment, written, why = foreseen(circuit, program, options, machine)
    rates = (H200 if machine is None else machine.speeds).shared(options.virtual_peers)
    head = f"{device.name}: {device.description}"
    if deployment.in_one_piece:
        lines = [f"{head} ({deployment.reason}), {options.dtype.name}"]
    else:
        lines = [f"{head}, {options.dtype.name}", deployment.describe()]
    if machine is not None:
        lines.append(machine.describe(deployment))
    if (heads := _method(USUAL[options.method]).heads) is not None:
        lines.append(heads(circuit))
    lines += _form(circuit)
    if why:
        lines.append(f"the circuit runs as it came: {why}")
    if written:
        lines.append(f"the circuit runs {written}; that takes less time")
    lines += program.describe(entropy(program, circuit.operands[0]))
    if program.branches and USUAL[options.method].draws:
        lines += filter(None, [way_of([(device, deployment)], program, options).description])
    following = iter(found)
    interprets = device.interprets and options.compile != "always"
    migrates = KINDS[deployment.kind].copies is not None
    for place, node in enumerate(program.nodes):
        if node.work is not None:
            told = explain_plan(
                next(following), PRECISIONS[options.precision], rates=rates, interprets=interprets and not migrates
            )
            lines.append(told)
        elif words := node.describe():
            lines.append(words + _price(program, place, circuit, options, device))
    if found and deployment.in_one_piece and not device.interprets and not program.branches:
        lines.append(predicted(found, PRECISIONS[options.precision], device.rates(options.dtype, options.threads)))
    if found and deployment.in_one_piece and device.interprets:
        lines.append(predicted_runs(found, PRECISIONS[options.precision], options.compile, rates))
        if options.compile != "never" and isinstance(device, KeepsKernels):
            kept = sum(device.kept_kernels(plan.steps, plan.num_wires, options.dtype) for plan in found)
            lines += [f"on disk: the kernels of {kept} sweeps, which a first run takes"] if kept else []
    if migrates:
        lines.append(_migration(found, deployment, options, rates, interprets))
    return lines, [chart_of(plan, options.dtype, deployment, title) for plan in found]


def _form(circuit: Circuit) -> list[str]:
    """Return a line on the form of the gates that a circuit begins with; none where there are others, or too many."""
    if not (gates := gates_of(circuit.structure)):
        return []
    beginning = Circuit.of_structure(beginning_of(circuit.structure, gates), circuit.operands[:1])
    made = begun(beginning, TOLERANCE, _ROTATIONS, zeros=False)
    return [f"form: {made.form().describe()}"] if made.run() else []


def _price(program: Program, place: int, circuit: Circuit, options: Options, device: HypotheticalDevice) -> str:
    """Return what the observable that a node saves costs, in words; empty for any other node."""
    save = program.nodes[place].saved
    if save is None or save.observable is None:
        return ""
    if save.what == "expectation_value" and place not in program.read_together:
        return " in the same passes"
    saves = [program.nodes[one].saved for one in program.read_together.get(place, (place,))]
    observables = [one.observable for one in saves if one is not None and one.observable is not None]
    told = _of_observables(observables, circuit.num_qubits, options, device.in_host_memory)
    return f": {told}" if len(saves) == 1 else f": with the {len(saves) - 1} after it {told}"


def _of_observables(sums: Sequence[PauliSum], num_wires: int, options: Options, in_host_memory: bool) -> str:
    """Return in words what the expectation values of sums of Pauli strings cost."""
    strings, over = expectation.passes(sums, num_wires, in_host_memory)
    read = human(over * state_bytes(num_wires, options.dtype))
    counted = f"{strings:,} Pauli string{'s' * (strings != 1)} in {over} pass{'es' * (over != 1)}"
    return f"{counted} over the state, {read} read"


def _migration(
    found: tuple[Plan, ...], deployment: Deployment, options: Options, rates: Rates, interprets: bool
) -> str:
    """Return a line on the copies between host and device for a placement that migrates, and on the times of runs."""
    total = total_of(found, options.dtype, deployment, rates)
    told = (
        f"windows that are on the device already are not copied: {human(total.bytes_host)} are copied from and to the "
        f"host, with {deployment.in_flight} sub state vectors on the device; predicted: {total.seconds:.3g} s"
    )
    if interprets:
        first = first_of(found, options.dtype, deployment, rates)
        told += f"; a first run, interpreted: {first.total:.3g} s, of which planning {first.host:.3g} s"
    return told
