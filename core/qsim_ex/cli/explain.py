"""``qsim-ex explain FILE``: the plan of a circuit, made without running it."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from rich.console import Console
from rich.text import Text

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import wires_of
from qsim_ex.cli import options, report
from qsim_ex.cli.layout import facts, heading, table
from qsim_ex.cli.report import Task
from qsim_ex.cli.run import describe, read, title
from qsim_ex.cli.where import document, memory_line, placement_line, plan_line
from qsim_ex.deployment.hypothetical import assign_hypothetical
from qsim_ex.devices.memory import state_bytes
from qsim_ex.display.amounts import human, whole
from qsim_ex.frameworks.frontends import FileInfo
from qsim_ex.later import later
from qsim_ex.options import Options
from qsim_ex.placement.deployment import Deployment
from qsim_ex.planning.cost.summary import NO_WORK, PlanSummary, step_cost, summary
from qsim_ex.planning.explain import explain
from qsim_ex.precision import PRECISIONS, Precision
from qsim_ex.run.plan_charts import chart_of, kinds
from qsim_ex.simulator import Simulator
from qsim_ex.steps.plan import Plan
from qsim_ex.steps.step import BasisPermutation, DenseMatrix, InitialAmplitudes, Step, Sweep, ZeroFill

if TYPE_CHECKING:
    from qsim_ex.display.plans import picture as plan_picture
else:
    plan_picture = later("qsim_ex.display.plans.picture")

MOST_KINDS = 4


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    options.add_file(parser)
    options.add_device(parser)
    options.add_processes(parser)
    options.add_output(parser)
    parser.add_argument("--full", action="store_true", help="also print each register block: its bits, kinds of gates")
    parser.add_argument("--plot", metavar="FILE", help="also draw the plan into this .svg, .png or .pdf file")


def work(args: argparse.Namespace, task: Task) -> ExplainReport:
    """Read the file and plan it."""
    path = Path(args.file)
    circuit, info = read(path, task, args)
    task.stage("planning")
    chosen = options.chosen(args)
    plans = Simulator(chosen).plans(circuit)  # the same plans that a run follows
    width = max((plan.num_wires for plan in plans), default=circuit.num_qubits)  # of the largest separate part
    device, deployment = assign_hypothetical(width, chosen)
    where = f"{device.name}: {device.description}"
    if args.plot is not None:
        plan_picture.drawn([chart_of(plan, chosen.dtype, deployment) for plan in plans], {}).save(args.plot)
    return ExplainReport(path, circuit, info, chosen, where, deployment, plans, args.full)


@dataclass(frozen=True, eq=False, slots=True)
class ExplainReport:
    """A plan, and the device that it was made for."""

    path: Path
    circuit: Circuit
    info: FileInfo
    options: Options
    where: str
    deployment: Deployment
    plans: Sequence[Plan]
    full: bool
    exit_code: int = report.DONE

    @property
    def precision(self) -> Precision:
        """The row of the options' precision."""
        return PRECISIONS[self.options.precision]

    @property
    def total(self) -> PlanSummary:
        """The sum over all plans."""
        return sum((summary(plan, self.precision) for plan in self.plans), NO_WORK)

    def to_json(self) -> dict[str, object]:
        """Return the plan as data: every step, register block and item, and the sums."""
        return document(
            "explain",
            file=describe(self.path, self.circuit, self.info),
            device=self.where,
            device_reason=self.deployment.reason,
            deployment=self.deployment.to_json(),
            precision=self.options.precision,
            state_bytes=state_bytes(self.deployment.num_wires, self.options.dtype),
            summary=self.total.to_json(),
            plans=[
                {**plan.to_json(), "costs": [asdict(self._cost(plan, step)) for step in plan.steps]}
                for plan in self.plans
            ],
        )

    def show(self, page: Console) -> None:
        """Print a row for each pass over memory, and the sums."""
        total = self.total
        title(page, self.path, self.circuit, self.info)
        page.print()
        rows = [(plan, step) for plan in self.plans for step in plan.steps]
        if not self.deployment.in_one_piece:
            for plan in self.plans:
                page.print(Text(explain(plan, self.precision, register_blocks=self.full)), soft_wrap=True)
            page.print()
        elif rows:
            page.print(self._table(rows))
            page.print()
        passes = total.sweeps + total.wide
        facts(
            page,
            [
                ("planned for", self.where),
                ("because", self.deployment.reason),
                ("precision", self.options.precision),
                ("placement", placement_line(self.deployment)),
                ("plan", plan_line(total)),
                ("memory", memory_line(self.deployment)),
                ("moved", f"{human(total.bytes_moved)}{_saved(total.gates, passes)}"),
                ("arithmetic", f"{whole(total.fma)} multiply-adds"),
            ],
        )
        if self.full and self.deployment.in_one_piece:
            heading(page, "Every register block")
            for plan in self.plans:
                page.print(Text(explain(plan, self.precision)), soft_wrap=True)

    def _table(self, rows: Sequence[tuple[Plan, Step]]) -> Any:
        columns = [("", "right"), ("step", "left"), ("bits", "left"), ("blocks", "right"), ("moved", "right")]
        return table(
            [*columns, ("gates", "left")],
            [
                (number, *_what(step), human(int(self._cost(plan, step).bytes)), _gates(step))
                for number, (plan, step) in enumerate(rows, 1)
            ],
        )

    def _cost(self, plan: Plan, step: Step) -> Any:
        return step_cost(step, plan.num_wires, self.precision, plan.shape)


def _saved(gates: int, passes: int) -> str:
    """Return how much one pass for each gate would have moved."""
    if passes == 0 or gates <= passes:
        return ""
    return f", {gates / passes:.1f} times less than one pass for each gate"


def _what(step: Step) -> tuple[str, str, str]:
    """Return the kind of a step, the index bits that it works on, and its register blocks."""
    match step:
        case Sweep(tile, register_blocks):
            return "sweep", ranges(tile), str(len(register_blocks))
        case DenseMatrix(bits):
            return "matrix", ranges(bits), ""
        case BasisPermutation(bits):
            return "shuffle", ranges(bits), ""
        case InitialAmplitudes(bits):
            return "spread", ranges(bits), ""
        case ZeroFill(fresh):
            return "clear", ranges(wires_of(fresh)), ""
        case _:
            assert_never(step)


def _gates(step: Step) -> str:
    """Return the kinds of gates in a step, the most frequent first."""
    if isinstance(step, ZeroFill):
        return "zeros"
    if not isinstance(step, Sweep):
        return step.label
    counts = sum((kinds(block) for block in step.register_blocks), Counter[str]())
    shown = [f"{kind} ×{count}" if count > 1 else kind for kind, count in counts.most_common(MOST_KINDS)]
    return ", ".join(shown) + (f", {len(counts) - MOST_KINDS} more kinds" if len(counts) > MOST_KINDS else "")


def ranges(bits: Sequence[int]) -> str:
    """Return bits as ranges: "0–4 9 11–13"."""
    found: list[list[int]] = []
    for bit in sorted(bits):
        if found and bit == found[-1][-1] + 1:
            found[-1][1:] = [bit]
        else:
            found.append([bit])
    return " ".join("–".join(map(str, part)) for part in found)
