"""`qsim-ex warm`: kernels of circuits in files, compiled for a GPU that is not here."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from support.command_line import REAL, CommandLine
from support.cuda.emulated_runtime import EmulatedRuntime
from support.paths import DATA

from benchmarks.engine import circuit_of
from benchmarks.families import by_name
from qsim_ex import Options
from qsim_ex.cli.report import BAD_INPUT, NOT_POSSIBLE
from qsim_ex.devices import discover
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.devices.hypothetical import HypotheticalGpu
from qsim_ex.errors import Cancelled, MissingPackage
from qsim_ex.kernels.cuda.compile import beforehand, compilation
from qsim_ex.precision import SINGLE
from qsim_ex.run import preview

pytest.importorskip(
    "qiskit", reason="OpenQASM is read through Qiskit, which is not to be imported by a thread that ends"
)


ALWAYS_WRITTEN = {"written_microseconds": 0, "written_nanoseconds": 0, "written_percent": 1 << 20}
"""Thresholds with which another circuit runs in a circuit's place as soon as the time of its runs pays for that."""


class Nvrtc:
    """A compiler of some version, of which only that is asked."""

    @staticmethod
    def getVersion():
        """Its version."""
        return 13, 0


@pytest.fixture
def made(monkeypatch, tmp_path):
    """The architectures of all kernels that were compiled, by a compiler that copies its text; an empty cache."""
    found = []

    def translate(code, arch):
        found.append(arch)
        return code.encode(), ""

    monkeypatch.setattr(compilation, "compiler", lambda: Nvrtc)
    monkeypatch.setattr(compilation, "translate", translate)
    monkeypatch.setenv("QSIM_EX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("QSIM_EX_FRONTENDS", REAL)
    return found


@pytest.fixture
def qsim_ex(capsys: pytest.CaptureFixture[str], made) -> CommandLine:  # noqa: ARG001 - no kernel is really compiled
    """The command line."""
    return CommandLine(capsys)


def test_kernels_are_made_once(qsim_ex, made):
    """A circuit's kernels are compiled for the named architecture, and are there the second time and on the page."""
    command = ("warm", DATA / "bell2.qasm", DATA / "grover.qasm", "--arch", "sm_90")
    first, second = (qsim_ex(*command, "--json").document for _ in range(2))
    assert first["architecture"] == "sm_90"
    assert [file["found"] for file in first["files"]] == [0, 0]
    assert sum(file["made"] for file in first["files"]) == len(made) > 1
    assert {*made} == {"90"}
    assert [(file["found"], file["made"]) for file in second["files"]] == [(file["made"], 0) for file in first["files"]]
    assert len(list(Path(first["folder"]).glob("*.cubin"))) == len(made)
    page = qsim_ex(*command)
    assert page.code == 0
    assert "0 kernels in" in page.out
    assert "grover.qasm" in page.out
    assert qsim_ex("warm", DATA / "bell2.qasm", "--arch", "80", "--json").document["files"][0]["found"] == 0


@pytest.mark.parametrize(("arch", "tensor"), [("90", True), ("86", False)])
def test_a_run_asks_for_the_kernels_that_were_made(monkeypatch, arch, tensor):
    """A GPU of the architecture, with and without tensor cores, compiles the same texts from the same plans."""
    circuit, options = circuit_of(by_name("qv").build(24, 0), 24), Options(device="gpu", precision="single")
    plans = preview.plans(circuit, options, HypotheticalGpu(0, beforehand.multiplies(arch)))
    texts = beforehand.texts([step for plan in plans for step in plan.steps], SINGLE, arch)

    runtime = EmulatedRuntime(tensor=tensor)
    asked = []
    monkeypatch.setattr(runtime, "kernels", lambda given: asked.extend(text.code for text in given) or given)
    device = GpuDevice.on(runtime)
    monkeypatch.setattr(discover, "gpu_missing", lambda: None)
    monkeypatch.setattr(discover, "gpu", lambda _number: device)
    monkeypatch.setattr(discover, "gpu_count", lambda: 1)
    for plan in preview.plans(circuit, options):
        device.prepare(plan.steps, 24, "complex64", compile="always")
    assert len(texts) > 1
    assert list(dict.fromkeys(asked)) == texts
    assert any("mma" in text for text in texts) == tensor


def test_the_first_run_of_a_process_finds_the_kernels(qsim_ex, monkeypatch, tmp_path, hold):
    """What was made without a GPU serves a circuit's very first run there: no text is written, nothing interpreted.

    The circuit is one for which another one is written out when it comes again.
    """
    from qiskit import QuantumCircuit, qasm2, transpile

    circuit = QuantumCircuit(14)
    for wire in range(14):
        circuit.h(wire)
        circuit.rz(0.1 + wire, wire)
    for wire in range(13):
        circuit.rzz(0.3 * wire + 0.1, wire, (wire + 3) % 14)
    for wire in (0, 5, 13):
        circuit.h(wire)
    circuit.measure_all()
    circuit = transpile(circuit, basis_gates=["rz", "sx", "x", "cz"], seed_transpiler=1)
    hold(loaded_microseconds=0, **ALWAYS_WRITTEN)
    (tmp_path / "circuit.qasm").write_text(qasm2.dumps(circuit))
    same = tmp_path / "circuit.qasm", "--precision", "single"
    assert qsim_ex("warm", *same, "--arch", "sm_90").code == 0

    runtime = EmulatedRuntime(tensor=True, arch="90")
    monkeypatch.setattr(discover, "gpu_missing", lambda: None)
    device = GpuDevice.on(runtime)
    monkeypatch.setattr(discover, "gpu", lambda _number: device)
    monkeypatch.setattr(discover, "gpu_count", lambda: 1)
    assert qsim_ex("run", *same, "--device", "gpu").code == 0
    assert {text.name for text in runtime.compiled}.isdisjoint({"sweep", "interpret"})
    assert len(runtime.taken) > 1


def test_a_gpu_of_this_machine_needs_no_name(qsim_ex, made, monkeypatch):
    """Without --arch the kernels are for the GPU that is here."""
    monkeypatch.setattr(discover, "gpu_missing", lambda: None)
    monkeypatch.setattr(discover, "generation", lambda number: {0: "90", 1: "80"}[number])
    assert qsim_ex("warm", DATA / "bell2.qasm", "--device-id", "1", "--json").document["architecture"] == "sm_80"
    assert {*made} == {"80"}


def test_errors_say_what_to_do(qsim_ex, made, monkeypatch, tmp_path):
    """No GPU and no architecture, an architecture that is none, and a folder that cannot be used are errors."""
    monkeypatch.setattr(discover, "gpu_missing", lambda: MissingPackage("no CuPy."))
    ended = qsim_ex("warm", DATA / "bell2.qasm")
    assert ended.code == NOT_POSSIBLE
    assert "--arch sm_90" in ended.err
    ended = qsim_ex("warm", DATA / "bell2.qasm", "--arch", "hopper")
    assert ended.code == BAD_INPUT
    assert "expected an architecture such as sm_90, got 'hopper'" in ended.err
    (tmp_path / "file").touch()
    monkeypatch.setenv("QSIM_EX_CACHE_DIR", str(tmp_path / "file"))
    ended = qsim_ex("warm", DATA / "bell2.qasm", "--arch", "sm_90")
    assert ended.code == NOT_POSSIBLE
    assert "QSIM_EX_CACHE_DIR" in ended.err
    assert not made


@pytest.mark.usefixtures("made")
def test_what_is_made_before_ctrl_c_is_kept():
    """Compiling stops behind the kernel under way, and says how many are there."""
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled, match="cancelled after 1 of 40 kernels"):
        beforehand.compile_all([f"text {k}" for k in range(40)], "90", lambda _done, _total: None, cancel)
    assert compilation.is_stored(compilation.key("text 0", "90"))
    assert not compilation.is_stored(compilation.key("text 39", "90"))
