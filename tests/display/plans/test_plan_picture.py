"""Pictures of plans: what they show is in the plan, they can be saved, and they need matplotlib only when asked for."""

from __future__ import annotations

import pickle
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from qiskit.circuit import QuantumCircuit
from support.held import Hold
from support.paths import ROOT

from qsim_ex import Circuit, CircuitBuilder, Progress, Simulator
from qsim_ex.cli import main
from qsim_ex.display.explanation import Explanation
from qsim_ex.display.plans.chart import ChartColumn, ChartStep, PlanChart
from qsim_ex.errors import MissingPackage, OptionError
from qsim_ex_provider import QsimExBackend

GPU = Simulator(device="gpu", precision="single", max_memory=8 << 30)  # need not be there


def fourier(wires: int) -> Circuit:
    """The QFT without its swaps."""
    builder = CircuitBuilder(wires)
    for wire in range(wires):
        builder.gate("h", [wire])
        for other in range(wire):
            builder.gate("cp", [other, wire], 0.1)
    return builder.build()


def pairs(wires: int, layers: int) -> Circuit:
    """Gates on pairs of wires, drawn anew for each layer, so that device bits are exchanged more than once."""
    builder, rng = CircuitBuilder(wires), np.random.default_rng(1)
    for _ in range(layers):
        order = rng.permutation(wires).tolist()
        for one, other in zip(order[::2], order[1::2], strict=False):
            builder.gate("rxx", [one, other], 0.3).gate("ry", [one], 0.2).gate("rz", [one], 0.2)
    return builder.build()


def test_a_chart_has_every_step_and_phase_of_the_plan() -> None:
    """The columns are the register blocks of the plan, with their bits, and the bytes are those of the summary."""
    circuit = fourier(20)
    (chart,) = GPU.explain(circuit).charts
    (plan,) = GPU.plans(circuit)
    blocks = [block for sweep in plan.sweeps for block in sweep.register_blocks]
    assert [column.registers for column in chart.columns] == [
        sum(1 << bit for bit in block.registers) for block in blocks
    ]
    assert len(chart.steps) == len(plan.steps)
    summary = GPU.summary(circuit)
    assert chart.levels["device memory"] == summary.bytes_moved
    assert sum(step.bytes_moved for step in chart.steps) == pytest.approx(summary.bytes_moved)
    assert chart.levels["one pass for each gate"] == 2 * chart.state_bytes * summary.gates


def test_every_gate_is_in_a_phase() -> None:
    """All 20 H and all 190 controlled phases are counted, alone or merged."""
    (chart,) = GPU.explain(fourier(20)).charts
    counts = {"h": 0, "cp": 0, "phase": 0}
    for column in chart.columns:
        for kind, count in column.gates.items():
            counts[kind] += count
    assert counts["h"] == 20
    assert counts["cp"] + counts["phase"] == 190


def test_bits_enter_the_state_and_stay() -> None:
    """A bit that is in the state is never absent again, and none is absent at the end."""
    (chart,) = GPU.explain(fourier(20)).charts
    absent = [column.absent for column in chart.columns]
    assert absent[0] != 0
    assert all(after & ~before == 0 for before, after in pairwise(absent))
    assert absent[-1] == 0


def test_motions_between_memories_are_steps_with_a_mark() -> None:
    """A state on four devices has an exchange before one of its steps, and bytes between devices."""
    simulator = Simulator(device="gpu", devices=[0, 1, 2, 3], max_memory=1 << 22)
    circuit = pairs(19, 12)
    (chart,) = simulator.explain(circuit).charts
    assert chart.local_bits == 17
    exchanges = sum(step.motion == "exchange" for step in chart.steps)
    assert exchanges == simulator.summary(circuit).exchanges > 0
    assert chart.levels["between devices"] == simulator.summary(circuit).bytes_peers > 0


@pytest.mark.parametrize("dark", [False, True])
def test_a_notebook_shows_svg(dark: bool) -> None:
    """The picture is SVG that an XML parser reads, in the colors that were asked for."""
    picture = GPU.explain(fourier(16)).plot(dark=dark)
    text = picture._repr_svg_()
    assert ET.fromstring(text).tag.endswith("svg")
    assert ("#14181f" in text) is dark


def test_a_run_that_has_happened_becomes_a_timeline(tmp_path: Path) -> None:
    """The parts of the run span its timings, and each moment that was watched is a mark."""
    moments: list[Progress] = []
    circuit = fourier(12)
    result = Simulator(device="cpu", watch=moments.append).run(circuit)
    told = Simulator(device="cpu").explain(circuit)
    figure = told.plot(result.timings, moments).figure
    assert len(figure.axes) == len(told.plot().figure.axes) + 1
    timeline = figure.axes[-1]
    parts = ("plan", "prepare", "run", "sample")
    spans = sum(bar.get_width() for bar in timeline.patches)
    assert spans == pytest.approx(1e3 * sum(result.timings.get(part, 0) for part in parts))
    assert len(timeline.lines[0].get_xdata()) == len(moments) > 0
    told.plot(result.timings, moments).save(tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_parts_and_circuits_have_titles(hold: Hold) -> None:
    """Separate parts follow one another in one picture, and circuits of a job under their names."""
    hold(parts_work=0)
    builder = CircuitBuilder(5).gate("h", [0]).gate("cx", [0, 1]).gate("h", [2]).gate("cx", [2, 3]).gate("x", [4])
    charts = Simulator(device="cpu").explain(builder.build()).charts
    assert [chart.title for chart in charts] == ["part 0 and 1 like it", "part 2"]
    made = []
    for name, size in (("small", 2), ("large", 3)):
        circuit = QuantumCircuit(size, name=name)
        circuit.h(0)
        for wire in range(size - 1):
            circuit.cx(wire, wire + 1)
        made.append(circuit)
    told = QsimExBackend(device="cpu").explain(made)
    assert ["small" in chart.title for chart in told.charts] == [True, False]
    assert told.plot().svg()


def test_charts_outlive_a_pickle() -> None:
    """An explanation that went through pickle draws the same picture."""
    told = GPU.explain(fourier(12))
    assert pickle.loads(pickle.dumps(told)).charts == told.charts


def test_without_steps_there_is_no_picture() -> None:
    """A text alone, or a circuit without gates, cannot be drawn, and the error says so."""
    with pytest.raises(OptionError, match="expected a plan with steps"):
        Explanation("words").plot()


def test_an_unknown_suffix_is_an_error(tmp_path: Path) -> None:
    """The error names the known ones."""
    with pytest.raises(OptionError, match=r"png.*svg.*got .*plan\.txt"):
        GPU.explain(fourier(4)).plot().save(tmp_path / "plan.txt")


def test_without_matplotlib_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has the command that installs matplotlib."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackage, match="pip install"):
        GPU.explain(fourier(4)).plot()


def test_explaining_imports_no_matplotlib() -> None:
    """Only `plot` imports it."""
    program = (
        "import sys; from qsim_ex import CircuitBuilder, Simulator; "
        "Simulator(device='cpu').explain(CircuitBuilder(2).gate('h', [0]).build()); "
        "print('matplotlib' in sys.modules)"
    )
    here = {"PYTHONPATH": f"{ROOT}/core:{ROOT}"}
    done = subprocess.run([sys.executable, "-c", program], check=True, env=here, capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_the_command_line_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`qsim-ex explain FILE --plot PICTURE` writes the picture and prints the plan."""
    program = tmp_path / "bell.qasm"
    program.write_text('OPENQASM 2.0; include "qelib1.inc"; qreg q[2]; h q[0]; cx q[0], q[1];')
    assert main(["explain", str(program), "--plot", str(tmp_path / "bell.svg")]) == 0
    assert "sweep" in capsys.readouterr().out
    assert "<svg" in (tmp_path / "bell.svg").read_text()


def test_translation_is_a_part_of_the_timeline() -> None:
    """The timings of a final state of Cirq, which have no plan and no samples, span the timeline."""
    timeline = GPU.explain(fourier(4)).plot({"translate": 0.001, "run": 0.002, "total": 0.003}).figure.axes[-1]
    assert [bar.get_width() for bar in timeline.patches] == pytest.approx([1, 2])


def test_repeated_gates_of_a_fused_operation_are_counted_in_its_row() -> None:
    """The row of an operation that was fused from several gates names a repeated one once, with its number."""
    column = ChartColumn(registers=1, tile=1, absent=0, gates={"rx·rx·ry": 1})
    chart = PlanChart("", 1, 1, 3, 16, (ChartStep("sweep", (column,), 32.0),), {"device memory": 32.0})
    rows = Explanation("", [chart]).plot().figure.axes[2].get_yticklabels()
    assert [row.get_text() for row in rows] == ["rx×2·ry"]


def test_a_step_that_is_no_sweep_is_one_column() -> None:
    """A matrix wider than a register block is a step of its own, whose wires count as register bits."""
    builder = CircuitBuilder(16)
    for wire in range(16):
        builder.gate("h", [wire])
    for wire in range(15):
        builder.gate("cx", [wire, wire + 1])
    builder.unitary(np.linalg.qr(np.random.default_rng(1).normal(size=(256, 256)))[0], range(8))
    told = GPU.explain(builder.build())
    (matrix,) = (step for step in told.charts[0].steps if step.kind == "matrix")
    assert len(matrix.columns) == 1
    assert matrix.columns[0].registers.bit_count() == 8
    assert told.plot().svg()
