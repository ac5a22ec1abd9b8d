"""Kernels on disk are found by their sweeps, by all that they depend on, and only if they are whole."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.gpus import gpu_missing

from benchmarks.engine import circuit_of
from benchmarks.families import by_name
from qsim_ex import Options, Simulator
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.devices import discover
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.kernels.cuda.compile import compilation, compiler_library, kernel_index, policy
from qsim_ex.kernels.cuda.compile.kernel_index import FILES, SOURCES, KernelIndex
from qsim_ex.kernels.cuda.write.emit import emit
from qsim_ex.options import PrecisionName
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import DOUBLE, SINGLE
from qsim_ex.steps.compiled import key_of
from qsim_ex.steps.layout import Layout, Shape

BITS = 8

SMALL = Shape(tile=5, registers=4, low=2, edge=2, most_blocks=None, dense=3, start=5)
"""Tiles of five bits, so that states of few wires take several sweeps."""


class Nvrtc:
    """A compiler of some version, of which only that is asked."""

    @staticmethod
    def getVersion():
        """Its version."""
        return 13, 0


@pytest.fixture(autouse=True)
def compiled(monkeypatch, tmp_path):
    """All texts that were compiled, by a compiler that copies its text; an empty folder of kernels."""
    texts = []

    def translate(code, arch):
        texts.append((code, arch))
        return code.encode(), ""

    monkeypatch.setattr(compilation, "compiler", lambda: Nvrtc)
    monkeypatch.setattr(compilation, "translate", translate)
    monkeypatch.setenv("QSIM_EX_CACHE_DIR", str(tmp_path / "cache"))
    return texts


def swept(family="qaoa", n=BITS):
    """The sweeps of a planned circuit."""
    circuit = circuit_of(by_name(family).build(n, 0), n)
    shape = GpuDevice.on(EmulatedRuntime()).shape(np.complex64)
    return make_plan(circuit.instructions, n, Layout.identity(n), shape, (1 << n) - 1, None, True).steps


def kept(index, sweep, precision=SINGLE):
    """A sweep's kernel, with its machine code and its entry on disk."""
    kernel = emit(sweep, precision)
    compilation.machine_code(kernel.code, "90")
    index.keep(key_of(sweep), precision, kernel, compilation.key(kernel.code, "90"))
    return kernel


def test_an_entry_holds_what_a_launch_needs():
    """The data of each launch come back as they were written, with the machine code of its text."""
    index, sweeps = KernelIndex("90", 32_764, False), swept("qv")
    kernels = [kept(index, sweep) for sweep in sweeps]
    found = index.found([key_of(sweep) for sweep in sweeps], SINGLE)
    for kernel, one in zip(kernels, found, strict=True):
        assert one.code == kernel.code.encode()
        assert (one.kernel.threads, one.kernel.skipped_bits) == (kernel.threads, kernel.skipped_bits)
        for name in ("values", "table", "pivots"):
            np.testing.assert_array_equal(getattr(one.kernel, name), getattr(kernel, name))
            assert getattr(one.kernel, name).dtype == getattr(kernel, name).dtype


@pytest.mark.parametrize("other", ["arch", "room", "tensor", "precision", "sources", "compiler", "options", "sweep"])
def test_what_a_kernel_depends_on_is_part_of_its_name(monkeypatch, other):
    """A kernel of another GPU, precision, writer, compiler or sweep is not found."""
    sweep, precision = swept()[0], SINGLE
    kept(KernelIndex("90", 32_764, False), sweep)
    given = {"arch": "90", "room": 32_764, "tensor": False}
    if other in given:
        given[other] = {"arch": "80", "room": 4_096, "tensor": True}[other]
    elif other == "precision":
        precision = DOUBLE
    elif other == "sources":
        monkeypatch.setattr(kernel_index, "edition", lambda: "of another writer")
    elif other == "compiler":
        monkeypatch.setattr(compiler_library, "size", lambda: 12_345_678)
    elif other == "options":
        monkeypatch.setattr(kernel_index, "OPTIONS", ("-G",))
    else:
        sweep = swept("qv")[0]
    assert KernelIndex(**given).found([key_of(sweep)], precision) == [None]
    assert KernelIndex("90", 32_764, False).found([b"of no sweep", sweep], SINGLE) == [None, None]


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "counts", "name", "no code", "changed code"])
def test_what_is_damaged_is_not_there(damage):
    """A file that was cut or changed, an entry that contradicts itself, and one without its code are ignored."""
    index, sweep = KernelIndex("90", 32_764, False), swept()[0]
    kept(index, sweep)
    (entry,), (code,) = (list(compilation.folder().glob(kind)) for kind in ("*.sweep", "*.cubin"))
    whole = entry.read_bytes()
    if damage == "cut":
        entry.write_bytes(whole[:-1])
    elif damage == "changed":
        entry.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    elif damage == "empty":
        entry.write_bytes(b"")
    elif damage == "counts":  # its checksum fits
        compilation.keep_whole(entry.name, compilation.whole_file(entry) + b"more")
    elif damage == "name":
        compilation.keep_whole(entry.name, b"../" * 21 + b"x" + compilation.whole_file(entry)[64:])
    elif damage == "no code":
        code.unlink()
    else:
        code.write_bytes(code.read_bytes() + b"x")
    assert index.found([key_of(sweep)], SINGLE) == [None]
    kept(index, sweep)
    assert index.found([key_of(sweep)], SINGLE) != [None]


def test_the_digest_is_of_all_sources_that_write():
    """Whatever the writers of texts import of the package is digested, or cannot change a text."""
    without = (
        "errors",
        "later",
        "display",
        "options",
        "native",
        "circuit",
        "kernels.cuda.runtime",
    )  # write nothing
    root = kernel_index.ROOT
    read = {*(path for folder in SOURCES for path in (root / folder).glob("*.py")), *(root / file for file in FILES)}
    for path in read:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("qsim_ex."):
                continue
            for alias in node.names:
                name = node.module.removeprefix("qsim_ex.")
                inner = root / name.replace(".", "/") / f"{alias.name}.py"
                file = inner if inner.exists() else root / f"{name.replace('.', '/')}.py"
                file = file if file.exists() else root / name.replace(".", "/") / "__init__.py"
                others = any(name == each or name.startswith(f"{each}.") for each in without)
                assert file in read or others, f"{path} imports {name}.{alias.name}"
    assert kernel_index.edition() is not None


def test_a_changed_source_has_another_digest(monkeypatch, tmp_path):
    """A letter more in a writer of texts, or a file more, is another edition; a package without sources has none."""
    root = tmp_path / "qsim_ex"
    for name in (*(f"{folder}/one.py" for folder in SOURCES), *FILES):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("text")
    monkeypatch.setattr(kernel_index, "ROOT", root)
    digests = [kernel_index.edition.__wrapped__()]
    for folder in SOURCES:
        (root / folder / "one.py").write_text("texts")
        digests.append(kernel_index.edition.__wrapped__())
    (root / SOURCES[0] / "two.cu").write_text("text")
    digests.append(kernel_index.edition.__wrapped__())
    assert None not in digests
    assert len({*digests}) == len(digests)
    (root / FILES[0]).unlink()
    assert kernel_index.edition.__wrapped__() is None


class Process:
    """A process with a GPU of its own, which shares the folder of kernels with others."""

    def __init__(self, monkeypatch, **options):
        self.runtime = EmulatedRuntime(arch="90")
        self.device = GpuDevice.on(self.runtime)
        monkeypatch.setattr(self.device, "shape", lambda _dtype: SMALL)
        monkeypatch.setattr(discover, "gpu_missing", lambda: None)
        monkeypatch.setattr(discover, "gpu", lambda _number: self.device)
        monkeypatch.setattr(discover, "gpu_count", lambda: 1)
        self.simulator = Simulator(Options(device="gpu", **options))

    def amplitudes(self, circuit):
        """The state of a circuit."""
        return self.simulator.state(circuit).to_numpy()

    @property
    def sweeps(self):
        """How many kernels of sweeps were taken from disk, and how many were written."""
        return len(self.runtime.taken), sum(text.name == "sweep" for text in self.runtime.compiled)


def on_disk(process, circuit):
    """Let a process make all kernels of a circuit, as it does in its first run with compile='always'."""
    found = process.amplitudes(circuit)
    for text in process.runtime.compiled:
        if text.name == "sweep":
            compilation.machine_code(text.code, "90")
    return found


def layers(measured=False):
    """Rotations and CX on few wires, some sweeps in tiles of five bits."""
    builder, rng = CircuitBuilder(BITS, BITS), np.random.default_rng(1)
    for _ in range(6):
        for wire in range(BITS):
            builder.gate("ry", [wire], float(rng.uniform(-3, 3)))
        for wire, target in rng.permutation(BITS).reshape(-1, 2).tolist():
            builder.gate("cx", [wire, target])
    if measured:
        builder.measure(range(BITS), range(BITS))
    return builder.build()


@pytest.fixture
def circuit():
    """A circuit of several sweeps, on few wires."""
    return layers()


@pytest.fixture
def pays(hold):
    """However small a sweep is, its kernel is loaded from disk."""
    hold(loaded_microseconds=0)


@pytest.mark.usefixtures("pays")
@pytest.mark.parametrize("precision", ["single", "double"])
def test_the_first_run_of_a_process_takes_what_is_on_disk(monkeypatch, circuit, precision: PrecisionName):
    """Another process runs all sweeps by their kernels from its first run on, writes no text, and is right."""
    expected = on_disk(Process(monkeypatch, precision=precision, compile="always"), circuit)
    process = Process(monkeypatch, precision=precision)
    for _ in range(3):
        np.testing.assert_array_equal(process.amplitudes(circuit), expected)
        taken, written = process.sweeps
        assert taken > 1
        assert written == 0
        assert not any(text.name == "interpret" for text in process.runtime.compiled)


@pytest.mark.usefixtures("pays")
@pytest.mark.parametrize("lacks", ["some", "refused"])
def test_what_is_not_on_disk_is_interpreted(monkeypatch, circuit, lacks):
    """A first run takes what is there and can be loaded, and interprets the other sweeps."""
    expected = on_disk(Process(monkeypatch, compile="always"), circuit)
    process = Process(monkeypatch)
    if lacks == "some":
        for entry in sorted(compilation.folder().glob("*.sweep"))[:2]:  # three are looked at
            entry.unlink()
    else:
        monkeypatch.setattr(process.runtime, "take", lambda _file, _code: 1 / 0)
    np.testing.assert_allclose(process.amplitudes(circuit), expected, atol=1e-6)
    taken, written = process.sweeps
    assert (taken > 0) == (lacks == "some")
    assert written == 0
    assert any(text.name == "interpret" for text in process.runtime.compiled)


def test_kernels_of_small_sweeps_are_not_loaded(monkeypatch, circuit):
    """Where interpreting takes less time than loading, a first run is interpreted; later ones load without writing."""
    expected = on_disk(Process(monkeypatch, compile="always"), circuit)
    process = Process(monkeypatch)
    np.testing.assert_allclose(process.amplitudes(circuit), expected, atol=1e-6)
    assert process.sweeps == (0, 0)
    for _ in range(policy.RETURNS + 1):
        process.amplitudes(circuit)
    taken, written = process.sweeps
    assert taken > 1
    assert written == 0


def test_always_takes_what_is_on_disk(monkeypatch, circuit):
    """With compile='always' no text is written either, whatever the size of the state."""
    expected = on_disk(Process(monkeypatch, compile="always"), circuit)
    process = Process(monkeypatch, compile="always")
    np.testing.assert_array_equal(process.amplitudes(circuit), expected)
    assert process.sweeps[1] == 0


@pytest.mark.usefixtures("pays")
def test_a_kernel_whose_file_is_gone_is_made_anew(monkeypatch, circuit):
    """A kernel that was unloaded, and cannot be loaded again, is interpreted until it is compiled."""
    expected = on_disk(Process(monkeypatch, compile="always"), circuit)
    process = Process(monkeypatch)
    process.amplitudes(circuit)
    process.runtime.taken.clear()
    process.device._sweeps._plans.clear()
    process.simulator = Simulator(device="gpu")  # the one before keeps what is settled
    for file in compilation.folder().iterdir():
        file.unlink()
    for _ in range(policy.RETURNS + 2):
        np.testing.assert_allclose(process.amplitudes(circuit), expected, atol=1e-6)
    taken, written = process.sweeps
    assert taken == 0
    assert written > 1


@pytest.mark.usefixtures("pays")
def test_results_and_explanations_say_so(monkeypatch, circuit):
    """A result says how many sweeps ran by kernels from disk, and an explanation how many a first run would take."""
    on_disk(Process(monkeypatch, compile="always"), circuit)
    process = Process(monkeypatch)
    told = str(process.simulator.explain(circuit))
    result = process.simulator.run(layers(measured=True), shots=10, seed=1)
    assert result.facts["kernels_from_disk"] == process.sweeps[0]
    assert f"on disk: the kernels of {process.sweeps[0]} sweeps" in told
    assert "on disk" not in str(Process(monkeypatch, compile="never").simulator.explain(circuit))


@pytest.mark.gpu
@pytest.mark.skipif(bool(gpu_missing()), reason=gpu_missing())
@pytest.mark.usefixtures("pays")
@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("name", ["qft", "su2", "qv"])
def test_a_gpu_takes_what_is_on_disk(monkeypatch, tmp_path, name, precision: PrecisionName):
    """On a GPU, too, a first run loads kernels, and has the state of later ones."""
    monkeypatch.undo()
    monkeypatch.setenv("QSIM_EX_CACHE_DIR", str(tmp_path / "real"))
    made = circuit_of(by_name(name).build(16, 0), 16)
    states, taken = [], []
    for compile in ("always", "auto", "never"):
        device = GpuDevice()
        monkeypatch.setattr(discover, "gpu", lambda _number, device=device: device)
        simulator = Simulator(Options(device="gpu", precision=precision, compile=compile))
        states.append(simulator.state(made).to_numpy())
        taken.append([one.from_disk for one in device._sweeps._plans.values()])
    assert taken[1] > [0]
    assert taken[0] == taken[2] == [0]
    np.testing.assert_allclose(states[1], states[0], atol=1e-6)
    np.testing.assert_allclose(states[1], states[2], atol=1e-5)
