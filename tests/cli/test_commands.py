"""`demo`, `doctor`, help, and where frontends come from; with frontends made for these tests."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest
from support.command_line import CommandLine
from support.paths import DATA

from qsim_ex.cli import cuda, doctor, eraser, processes, selfcheck
from qsim_ex.cli.machine import Driver, Gpu
from qsim_ex.cli.report import BAD_INPUT, BUG, CHECK_FAILED, NOT_POSSIBLE
from qsim_ex.comm import launcher
from qsim_ex.comm.connection import connected
from qsim_ex.errors import DeviceError, MissingPackage
from qsim_ex.kernels.cuda.compile import shipped
from qsim_ex.options.network import Layer
from tools.loopback import loopback

HONEST = "honest=support.frontends:honest"


def register(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    """Let these be the entry points of all installed packages; only frontends look there."""
    fake = SimpleNamespace(EntryPoint=EntryPoint, entry_points=lambda **_: points)
    monkeypatch.setattr("qsim_ex.frameworks.frontends.metadata", fake)


@pytest.fixture
def qsim_ex(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line, with a frontend that is the engine itself and no other."""
    monkeypatch.setenv("QSIM_EX_FRONTENDS", HONEST)
    register(monkeypatch)
    return CommandLine(capsys)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_demo_agrees(qsim_ex, precision):
    """The engine and a framework give the amplitudes of the definition and the same shots; the exit code says so."""
    ended = qsim_ex("demo", "--shots", "3000", "--precision", precision, "--device", "cpu", "--json")
    told = ended.document
    assert ended.code == 0
    assert told["agreed"] is True
    assert [answer["name"] for answer in told["answers"]] == ["engine", "honest"]
    assert all(answer["relative_error"] <= told["tolerance"] for answer in told["answers"])
    assert all(answer["precision"] == precision for answer in told["answers"])
    assert sum(told["counts"].values()) == 3000


@pytest.mark.parametrize("liar", ["wrong_phase", "wrong_shots"])
def test_demo_finds_out_a_liar(qsim_ex, monkeypatch, liar):
    """One wrong sign, or one shot in the wrong place, fails the demonstration and names who was wrong."""
    monkeypatch.setenv("QSIM_EX_FRONTENDS", f"{HONEST}, liar=support.frontends:{liar}")
    ended = qsim_ex("demo", "--shots", "1000", "--device", "cpu")
    assert ended.code == CHECK_FAILED
    assert f"do not agree: {liar.replace('_', ' ')}." in ended.out


def test_demo_page(qsim_ex, monkeypatch):
    """The page shows who took part, who is missing and how to get them, and who runs no gates."""
    both = f"{HONEST},shop=support.frontends:unbought,flips=support.frontends:flips"
    monkeypatch.setenv("QSIM_EX_FRONTENDS", both)
    ended = qsim_ex("demo", "--shots", "2000", "--seed", "4", "--device", "cpu")
    assert ended.code == 0
    for word in ("engine", "honest", "2,000 of 2,000", "runs no gates", "not been bought", "pip install", "sweep"):
        assert word in ended.out
    assert all(len(line) <= 80 for line in ended.out.splitlines() if "pip install" not in line)


def test_erasing_brings_the_fringes_back(qsim_ex):
    """All particles together fill the dark places of those whose mark was erased: the physics of the picture."""
    told = qsim_ex("demo", "--shots", "20000", "--seed", "1", "--device", "cpu", "--json").document
    plus, minus = eraser.screens({int(bits, 2): count for bits, count in told["counts"].items()})
    dark = eraser.OUTCOMES // 2 + (eraser.OUTCOMES >> eraser.SLIT_WIRE) // 2  # half a fringe from the middle
    near = range(dark - 16, dark + 16)
    assert sum(plus.get(place, 0) for place in near) < 0.05 * sum(minus.get(place, 0) for place in near)


def test_doctor(qsim_ex):
    """The doctor finds this machine, checks the CPU in both precisions, and says where compiled kernels are."""
    ended = qsim_ex("doctor", "--json")
    told = ended.document
    assert ended.code == 0
    assert told["ok"] is True
    assert told["processor"]["cores"] >= 1
    assert 0 < told["processor"]["free"] <= told["processor"]["total"]
    assert [check["precision"] for check in told["checks"][:2]] == ["double", "single"]
    assert all(check["good"] and check["error"] <= check["limit"] for check in told["checks"])
    assert {part["name"] for part in told["cuda"]} == {"CuPy", "runtime", "NVRTC"}
    assert told["frameworks"] == [
        {"name": "honest", "versions": "installed", "does": "runs gates", "why": "", "command": ""}
    ]
    assert all(cache["size"] >= 0 for cache in told["caches"])
    assert set(told["packages"]) == {"numpy", "rich"}


def test_doctor_page(qsim_ex):
    """The page ends with one verdict; without the check it says that nothing was checked."""
    page = qsim_ex("doctor", "--no-check").out
    for word in ("Machine", "Software", "Caches", "Verdict", "not checked"):
        assert word in page
    assert "Self-check" not in page


def test_doctor_finds_a_wrong_device(qsim_ex, monkeypatch):
    """A device that is off by more than rounding fails, whatever else is well."""
    monkeypatch.setattr(selfcheck, "distance", lambda *_: 1e-5)
    ended = qsim_ex("doctor")
    assert ended.code == CHECK_FAILED
    assert "is off by 1.0e-05" in ended.out
    assert "do not use it" in ended.out


def test_doctor_survives_a_broken_device(qsim_ex, monkeypatch):
    """A device that raises is a finding like any other, and the report is still made."""

    def fail(*_, **__):
        raise DeviceError("the kernel was lost")

    monkeypatch.setattr(selfcheck.Simulator, "run", fail)
    told = qsim_ex("doctor", "--json").document
    assert told["ok"] is False
    assert "DeviceError: the kernel was lost" in told["problems"][0]["what"]


def with_gpu(monkeypatch, parts, driver=(12, 9)):
    """Pretend that there is a GPU, and these parts of CUDA."""
    gpu = Gpu(0, "A100", (8, 0), 80 << 30)
    monkeypatch.setattr(doctor, "driver", lambda: Driver("575.1", driver, (gpu,)))
    monkeypatch.setattr(doctor, "gpu_missing", lambda: MissingPackage("no CuPy"))
    monkeypatch.setattr(cuda, "parts", lambda: parts)
    monkeypatch.setattr(cuda, "generation", lambda driver: driver[0])


def test_doctor_names_the_missing_parts(qsim_ex, monkeypatch):
    """A GPU that cannot be used is a failure, and one command brings every part that is missing."""
    found = ("CuPy", None), ("runtime", "12.9"), ("NVRTC", None)
    with_gpu(monkeypatch, tuple(cuda.CudaPart(name, "", version) for name, version in found))
    ended = qsim_ex("doctor", "--no-check", "--json")
    (problem,) = ended.document["problems"]
    assert ended.code == CHECK_FAILED
    assert "without CuPy, NVRTC" in problem["what"]
    assert problem["command"].startswith("pip install")
    page = qsim_ex("doctor", "--no-check").out
    assert "A100, compute capability 8.0, 80 GiB" in page
    assert problem["command"] in page


def test_doctor_knows_an_old_driver(qsim_ex, monkeypatch):
    """Where the driver is too old, no package is advised."""
    with_gpu(monkeypatch, (), driver=(11, 8))
    (problem,) = qsim_ex("doctor", "--no-check", "--json").document["problems"]
    assert "CUDA 11.8" in problem["what"]
    assert problem["command"] is None


def test_doctor_says_which_kernels_came_with_the_package(qsim_ex, monkeypatch):
    """Each kind of GPU has a line: its kernels came, none came, or the driver refuses them, which is a finding."""
    with_gpu(monkeypatch, ())
    monkeypatch.setattr(doctor, "gpu_missing", lambda: None)
    monkeypatch.setattr(doctor, "gpu", lambda _number: SimpleNamespace(memory=lambda: (1 << 30, 2 << 30)))
    monkeypatch.setattr(shipped, "count", lambda arch: 34 if arch == "80" else 0)
    monkeypatch.setattr(shipped, "_refused", {})
    told = qsim_ex("doctor", "--no-check", "--json").document
    assert told["kernels"] == [{"arch": "80", "count": 34, "refused": None}]
    assert told["problems"] == []
    assert "34 for sm_80, came with the package; others are compiled" in in_one_line(qsim_ex("doctor", "--no-check"))

    monkeypatch.setattr(shipped, "_refused", {"80": "no binary"})
    (problem,) = qsim_ex("doctor", "--no-check", "--json").document["problems"]
    assert "sm_80 (no binary)" in problem["what"]
    assert not problem["serious"]
    assert "but the driver refuses them; all are compiled" in in_one_line(qsim_ex("doctor", "--no-check"))

    monkeypatch.setattr(shipped, "count", lambda _arch: 0)
    monkeypatch.setattr(shipped, "_refused", {})
    assert "none for sm_80 came with the package; all are" in in_one_line(qsim_ex("doctor", "--no-check"))


def test_doctor_tells_how_processes_are_connected(qsim_ex, monkeypatch):
    """Under a launcher the doctor names it, and the measured layers of the network; without one it says so."""
    told = qsim_ex("doctor", "--no-check", "--json").document["processes"]
    assert (told["started_by"], told["size"], told["layers"], told["problem"]) == (None, 1, [], None)
    monkeypatch.setattr(launcher, "LAUNCHED", launcher.Launched("mpirun of Open MPI", 0, 2))
    layers = (Layer(1, "host", 2e9),)
    monkeypatch.setattr(processes, "layers_of_ranks", lambda _communicator, _used, _rates=None: layers)
    monkeypatch.setattr(processes, "_rates", lambda _communicator, _used: SimpleNamespace(how="not mapped; why"))
    with connected(loopback(2)[0]):
        told = qsim_ex("doctor", "--no-check", "--json").document["processes"]
        page = in_one_line(qsim_ex("doctor", "--no-check"))
    assert (told["started_by"], told["size"]) == ("mpirun of Open MPI", 2)
    assert told["layers"] == [{"bits": 1, "link": "host", "bytes_per_second": 2e9}]
    assert "1 over host (2 GB/s)" in page
    assert told["device_memory"] == "not mapped; why"
    shared = SimpleNamespace(how="mapped by file descriptors from pidfd")
    monkeypatch.setattr(processes, "_rates", lambda _communicator, _used: shared)
    with connected(loopback(2)[0]):
        assert "mapped by file descriptors from pidfd" in in_one_line(qsim_ex("doctor", "--no-check"))
    with connected(loopback(1)[0]):
        (problem,) = qsim_ex("doctor", "--no-check", "--json").document["problems"][-1:]
    assert "connects 1 of 2 processes; use the launcher of the MPI library" in problem["what"]


def in_one_line(ended):
    """A page without its columns."""
    return " ".join(ended.out.split())


def test_nothing_missing_needs_no_command():
    """A command is given for what is missing, and only then."""
    parts = [cuda.CudaPart("CuPy", "", "14"), cuda.CudaPart("NVRTC", "", None)]
    assert "cuda12" in cuda.command(parts, 12)
    assert cuda.command(parts[:1], 12) is None


def test_help_lists_commands_and_codes(qsim_ex):
    """--help names every command and every exit code, and --version ends well."""
    ended = qsim_ex("--help")
    assert ended.code == 0
    for word in ("demo", "run", "explain", "warm", "doctor", "130", "70"):
        assert word in ended.out
    assert re.match(r"qsim-ex \S+", qsim_ex("--version").out)


@pytest.mark.parametrize("words", [(), ("rnu",), ("run",), ("run", "a", "b")])
def test_bad_command_lines(qsim_ex, words):
    """A malformed command line ends with code 2 and two short lines."""
    ended = qsim_ex(*words)
    assert ended.code == BAD_INPUT
    assert ended.err.count("\n") == 2
    assert "--help" in ended.err


def test_processes_are_started_by_mpi(qsim_ex):
    """Whoever types the launcher of before learns what starts processes now."""
    ended = qsim_ex("launch", "-n", "4", "script.py")
    assert ended.code == BAD_INPUT
    assert "mpirun -n 4 python" in ended.err


def test_a_bug_is_told_as_one(qsim_ex, monkeypatch):
    """An unexpected error shows its traceback, asks to be reported, and has a code of its own."""
    monkeypatch.setenv("QSIM_EX_FRONTENDS", "broken=support.frontends:broken")
    ended = qsim_ex("run", DATA / "bell3.qasm", "--json")
    assert ended.code == BUG
    assert "Traceback" in ended.err
    assert "This is a bug of qsim-ex" in ended.err
    assert ended.document["error"]["type"] == "ZeroDivisionError"


def test_frontend_is_chosen_by_the_ending(qsim_ex, monkeypatch, tmp_path):
    """A third framework's files are read by its frontend, which the engine has never heard of."""
    monkeypatch.setenv("QSIM_EX_FRONTENDS", "broken=support.frontends:broken,flips=support.frontends:flips")
    path = tmp_path / "three.flip"
    path.write_text("0 2 2 3")
    told = qsim_ex("run", path, "--shots", "4", "--json").document
    assert told["counts"] == {"1001": 4}
    ended = qsim_ex("run", tmp_path / "three.txt")
    assert ended.code == BAD_INPUT
    assert ".flip (flips)" in ended.err


def test_no_frontend(qsim_ex, monkeypatch):
    """Without any frontend the page says how to get one; a registered one that lacks its package names its command."""
    monkeypatch.setenv("QSIM_EX_FRONTENDS", "")
    ended = qsim_ex("run", DATA / "bell3.qasm")
    assert ended.code == NOT_POSSIBLE
    assert "pip install -e '.[qiskit,cirq]'" in ended.err
    monkeypatch.setenv("QSIM_EX_FRONTENDS", "shop=support.frontends:unbought,mill=no_such_module:frontend")
    ended = qsim_ex("run", DATA / "bell3.qasm")
    assert ended.code == NOT_POSSIBLE
    assert "shop: the package has not been bought. Run: pip install" in ended.err
    assert "mill: the package no_such_module is not installed" in ended.err


def test_bad_variable(qsim_ex, monkeypatch):
    """A frontend that is not written as name=module:object is refused and shown."""
    monkeypatch.setenv("QSIM_EX_FRONTENDS", "qiskit")
    ended = qsim_ex("run", DATA / "bell3.qasm")
    assert ended.code == BAD_INPUT
    assert "QSIM_EX_FRONTENDS: expected name=module:object, got 'qiskit'" in ended.err


def test_installed_frontends_are_found(monkeypatch):
    """Entry points of installed packages are found, each name once, after what the variable names."""
    from qsim_ex.frameworks import frontends

    installed = [EntryPoint(name, "support.frontends:flips", frontends.GROUP) for name in ("honest", "flips")]
    register(monkeypatch, *installed)
    monkeypatch.setenv("QSIM_EX_FRONTENDS", HONEST)
    assert [(point.name, point.attr) for point in frontends.registered()] == [("honest", "honest"), ("flips", "flips")]


def test_install_command_follows_the_metadata(monkeypatch):
    """The advice is what the installed package asks for under the extra; in a checkout it is the checkout."""
    from qsim_ex.frameworks import packages

    wanted = ["numpy>=2.0", "qiskit[qasm3-import]>=2.0; extra == 'qiskit'", 'a==1.*; extra == "cuda12"']
    fake = SimpleNamespace(requires=lambda _: wanted, PackageNotFoundError=LookupError)
    monkeypatch.setattr(packages, "metadata", fake)
    assert packages.install_command("qiskit") == "pip install 'qiskit[qasm3-import]>=2.0'"
    assert packages.install_command("cuda12") == "pip install 'a==1.*'"
    assert packages.requirements() == ("numpy>=2.0",)
    assert packages.install_command("cirq") == "pip install -e '.[cirq]'"
    assert packages.name_of("qiskit[qasm3-import]>=2.0") == "qiskit"
