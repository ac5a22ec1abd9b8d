"""The command line as a user types it: `run` and `explain`, on files in OpenQASM 2 and 3."""

from __future__ import annotations

import math
import os
import re

import pytest
from support.command_line import REAL, CommandLine
from support.paths import DATA

from qsim_ex.cli.report import BAD_INPUT, NOT_POSSIBLE
from qsim_ex.comm import connection
from tools.loopback import loopback

pytest.importorskip("qiskit_qasm3_import", reason="OpenQASM is read through Qiskit")


@pytest.fixture(autouse=True)
def frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The frontends of this checkout, installed or not."""
    monkeypatch.setenv("QSIM_EX_FRONTENDS", REAL)


@pytest.fixture
def qsim_ex(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line."""
    return CommandLine(capsys)


@pytest.mark.parametrize(("file", "format"), [("bell2.qasm", "OpenQASM 2"), ("bell3.qasm", "OpenQASM 3")])
def test_bell(qsim_ex, file, format):  # noqa: A002
    """Both versions of the language give a Bell pair: only 00 and 11, and every shot is counted."""
    ended = qsim_ex("run", DATA / file, "--shots", "500", "--device", "cpu", "--json")
    told = ended.document
    assert ended.code == 0
    assert set(told["counts"]) == {"00", "11"}
    assert sum(told["counts"].values()) == told["shots"] == 500
    assert told["file"]["format"] == format
    assert (told["file"]["num_qubits"], told["file"]["num_clbits"], told["file"]["num_gates"]) == (2, 2, 2)


def test_versions_agree(qsim_ex):
    """One circuit in both versions of the language gives the same shots for the same seed."""
    told = [
        qsim_ex("run", DATA / file, "--seed", "11", "--json").document["counts"]
        for file in ("bell2.qasm", "bell3.qasm")
    ]
    assert told[0] == told[1]


def test_files_that_qiskit_writes(qsim_ex, tmp_path):
    """Random circuits that Qiskit exports in both languages give, for a seed, the shots of Qiskit's own circuit."""
    from qiskit import qasm2, qasm3
    from qiskit.circuit.random import random_circuit

    from qsim_ex_provider import QsimExBackend

    circuit = random_circuit(5, 6, max_operands=3, measure=True, seed=8)
    wanted = QsimExBackend(device="cpu").run(circuit, shots=200, seed_simulator=3).result().get_counts()
    for name, text in (("two", qasm2.dumps(circuit)), ("three", qasm3.dumps(circuit))):
        path = tmp_path / f"{name}.qasm"
        path.write_text(text)
        told = qsim_ex("run", path, "--shots", "200", "--seed", "3", "--device", "cpu", "--json").document
        assert told["counts"] == wanted, name


def test_registers_are_separate(qsim_ex):
    """The last register comes first, a space between registers, and an unmeasured register reads 0."""
    told = qsim_ex("run", DATA / "registers.qasm", "--shots", "3", "--json").document
    assert told["counts"] == {"0 110 01": 3}


def test_language_of_version_three(qsim_ex):
    """Gate definitions, broadcasting, negative controls and register assignments of OpenQASM 3 are read."""
    told = qsim_ex("run", DATA / "features3.qasm", "--shots", "400", "--seed", "1", "--json").document
    assert all(len(bits) == len("0 000") for bits in told["counts"])
    assert {bits[0] for bits in told["counts"]} == {"0", "1"}
    for bits in told["counts"]:
        assert (bits[0] == "1") == (bits[3] == "0"), "the flag is the inverse of qubit 1"


def test_path_with_spaces(qsim_ex, tmp_path):
    """A path with spaces is one path."""
    path = tmp_path / "my circuits" / "the bell pair.qasm"
    path.parent.mkdir()
    path.write_text((DATA / "bell3.qasm").read_text())
    told = qsim_ex("run", path, "--shots", "5", "--json").document
    assert told["file"]["path"] == str(path)


def test_seed_repeats_the_shots(qsim_ex):
    """The seed that a run prints gives the same shots again, in order, and another seed gives others."""
    command = ("run", DATA / "bell3.qasm", "--shots", "60", "--memory", "--json")
    first = qsim_ex(*command).document
    again = qsim_ex(*command, "--seed", str(first["seed"])).document
    other = qsim_ex(*command, "--seed", str(first["seed"] ^ 1)).document
    assert first["memory"] == again["memory"]
    assert first["memory"] != other["memory"]


def test_memory_is_every_shot(qsim_ex):
    """--memory lists as many outcomes as there are shots, and counting them gives the counts."""
    told = qsim_ex("run", DATA / "bell3.qasm", "--shots", "40", "--memory", "--json").document
    assert len(told["memory"]) == 40
    assert {bits: told["memory"].count(bits) for bits in set(told["memory"])} == told["counts"]
    assert "memory" not in qsim_ex("run", DATA / "bell3.qasm", "--json").document


def test_where_it_ran_is_told(qsim_ex):
    """Device, reason, precision, plan and times are in the document, and follow the options."""
    told = qsim_ex("run", DATA / "bell3.qasm", "--device", "cpu", "--precision", "single", "--json").document[
        "metadata"
    ]
    assert (told["device"], told["device_reason"], told["precision"]) == ("cpu", "asked for", "single")
    assert told["peak_bytes"] == 4 * 8
    assert told["plan"]["gates"] == 2
    assert told["timings"]["total"] > 0


def test_page_fits_a_terminal(qsim_ex):
    """The page has the counts and where they come from, in at most 80 columns, without blanks at the ends."""
    ended = qsim_ex("run", DATA / "registers.qasm", "--shots", "7", "--seed", "5", "--device", "cpu")
    assert ended.code == 0
    assert re.search(r"0 110 01 +7 +100\.0 %", ended.out)
    for word in ("registers.qasm", "OpenQASM 2", "5 qubits", "cpu: ", "asked for", "double", "5"):
        assert word in ended.out
    assert all(len(line) <= 80 and line == line.rstrip() for line in ended.out.splitlines())
    assert ended.err == ""


def test_page_shows_the_most_frequent(qsim_ex):
    """--top limits the rows, the rest is summed up, and 0 shows all."""
    command = ("run", DATA / "features3.qasm", "--shots", "300", "--seed", "2")
    outcomes = len(qsim_ex(*command, "--json").document["counts"])
    page = qsim_ex(*command, "--top", "2").out
    assert len(re.findall(r"^  [01] [01]{3} ", page, re.MULTILINE)) == 2
    assert f"and {outcomes - 2} more outcomes" in page
    page = qsim_ex(*command, "--top", "0").out
    assert len(re.findall(r"^  [01] [01]{3} ", page, re.MULTILINE)) == outcomes


def test_a_circuit_that_goes_on_after_a_measurement(qsim_ex):
    """A circuit with measurements in the middle runs and can be explained, and conditions see the measured bits."""
    counts = qsim_ex("run", DATA / "midway.qasm", "--shots", "300", "--json").document["counts"]
    assert sum(counts.values()) == 300
    assert len(counts) > 1
    assert qsim_ex("explain", DATA / "midway.qasm").code == 0
    counts = qsim_ex("run", DATA / "conditional.qasm", "--shots", "300", "--json").document["counts"]
    assert set(counts) == {"00", "11"}


def test_long_outcomes_are_shown_whole(qsim_ex, tmp_path):
    """An outcome of more bits than a line has letters goes on in the next line, and no bit is lost."""
    path = tmp_path / "long.qasm"
    path.write_text('OPENQASM 2.0; include "qelib1.inc"; qreg q[1]; creg c[100]; x q[0]; measure q[0] -> c[99];')
    page = qsim_ex("run", path, "--shots", "3", "--device", "cpu").out
    bits = "".join(re.findall(r"\b[01]{10,}\b", page))
    assert bits == "1" + "0" * 99
    assert all(len(line) <= 80 for line in page.splitlines())


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("nosuch.qasm", r"nosuch\.qasm: the file cannot be read"),
        ("broken2.qasm", r"broken2\.qasm:6,0: .*';'"),
        ("broken3.qasm", r"broken3\.qasm:6,8: "),
        ("unknown2.qasm", r"unknown2\.qasm:5,0: 'frobnicate' is not defined"),
        ("unknown3.qasm", r"unknown3\.qasm:5,0: .*'frobnicate' is not defined"),
        ("opaque2.qasm", r"'oracle' has neither a definition nor a matrix"),
        ("unmeasured.qasm", r"measures nothing"),
        ("unbound.qasm", r"got none of theta; give each"),
    ],
)
def test_bad_files(qsim_ex, file, says):
    """A file that cannot be read or run ends in one line that says where, and stdout stays empty."""
    ended = qsim_ex("run", DATA / file, "--shots", "10")
    assert ended.code == BAD_INPUT
    assert re.search(says, ended.err)
    assert ended.err.startswith("qsim-ex: ")
    assert ended.err.count("\n") == 1
    assert ended.out == ""


def test_too_many_qubits(qsim_ex):
    """60 qubits are refused at once, with the sum of what they need."""
    ended = qsim_ex("run", DATA / "sixty.qasm", "--device", "cpu")
    assert ended.code == NOT_POSSIBLE
    assert "60 wires in complex128 need 16 EiB" in ended.err
    assert "free" in ended.err


def test_max_memory(qsim_ex):
    """A state may not take more than --max-memory, in any unit, and just fits where it is equal."""
    path = DATA / "features3.qasm"  # 4 qubits, of which 3 are joined: 128 bytes
    refused = qsim_ex("run", path, "--max-memory", "0.1 KiB", "--device", "cpu")
    assert refused.code == NOT_POSSIBLE
    assert "128 bytes" in refused.err
    assert qsim_ex("run", path, "--max-memory", "128", "--device", "cpu").code == 0


def test_missing_gpu(qsim_ex, monkeypatch):
    """--device gpu without a GPU is an error, not a run on the CPU."""
    monkeypatch.setattr("qsim_ex.devices.discover.driver_count", lambda: 0)
    for command in ("run", "explain"):
        ended = qsim_ex(command, DATA / "bell3.qasm", "--device", "gpu")
        assert ended.code == NOT_POSSIBLE
        assert "no GPU found" in ended.err
        assert ended.out == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--shots", "0"), "shots"),
        (("--shots", "2.5"), "2.5"),
        (("--seed", "-1"), "seed"),
        (("--max-memory", "lots"), "not a size"),
        (("--device", "tpu"), "tpu"),
        (("--precision", "half"), "half"),
        (("--threads", "0"), "threads"),
        (("--shot", "1", "--nonsense"), "nonsense"),
    ],
)
def test_bad_options(qsim_ex, words, says):
    """An unknown option, or an impossible value of one, is refused and named."""
    ended = qsim_ex("run", DATA / "bell3.qasm", *words)
    assert ended.code == BAD_INPUT
    assert says in ended.err
    assert ended.out == ""


def test_errors_as_json(qsim_ex):
    """With --json an error is one document as well, with its kind and the exit code."""
    ended = qsim_ex("run", DATA / "sixty.qasm", "--device", "cpu", "--json")
    assert ended.document["error"]["type"] == "OutOfMemory"
    assert ended.document["exit_code"] == ended.code == NOT_POSSIBLE
    assert ended.document["error"]["message"] in ended.err


def test_traceback_on_demand(qsim_ex):
    """The traceback of an expected error is shown only if it is asked for."""
    command = ("run", DATA / "unmeasured.qasm")
    assert "Traceback" not in qsim_ex(*command).err
    assert "MeasurementError" in qsim_ex(*command, "--traceback").err


def test_explain(qsim_ex, hold):
    """A plan has a row for each step, and its sums are those of the steps."""
    hold(parts_work=0)
    told = qsim_ex("explain", DATA / "features3.qasm", "--device", "cpu", "--json").document
    plans = told["plans"]  # of two separate parts
    assert [plan["num_wires"] for plan in plans] == [3, 1]
    steps = [step for plan in plans for stage in plan["stages"] for step in stage["steps"]]
    assert told["summary"]["sweeps"] == sum(step["type"] == "Sweep" for step in steps) > 0
    assert told["summary"]["bytes_moved"] == sum(cost["bytes"] for plan in plans for cost in plan["costs"])
    assert told["state_bytes"] == 16 << 3
    page = qsim_ex("explain", DATA / "features3.qasm", "--device", "cpu").out
    assert len(re.findall(r"^ +\d+  (sweep|matrix|shuffle|spread|clear)", page, re.MULTILINE)) == len(steps)
    assert all(len(line) <= 80 for line in page.splitlines())


def test_explain_touches_no_memory(qsim_ex):
    """A circuit that fits into no machine can still be explained."""
    ended = qsim_ex("explain", DATA / "sixty.qasm", "--device", "cpu")
    assert ended.code == 0
    assert "16 EiB for amplitudes" in ended.out


def test_explain_in_full(qsim_ex):
    """--full adds each register block with its bits."""
    short, full = (qsim_ex("explain", DATA / "bell3.qasm", *more).out for more in ((), ("--full",)))
    assert "registers" not in short
    assert re.search(r"registers \S+: .*h", full)


def test_a_loop_that_goes_round_too_often(qsim_ex):
    """A file's loop is bounded; the error says by how many rounds, and with more rounds the file runs."""
    ended = qsim_ex("run", DATA / "forever.qasm", "--shots", "10", "--seed", "1", "--max-loop-rounds", "1")
    assert ended.code == BAD_INPUT
    assert re.search(r"expected a loop to end within max_loop_rounds=1 rounds", ended.err)
    assert qsim_ex("run", DATA / "forever.qasm", "--shots", "10", "--seed", "1").code == 0


def test_processes_and_network_are_options_of_plans(qsim_ex):
    """Layers are written as bits, link and perhaps a rate, and the plan counts the bytes of each."""
    command = ("explain", DATA / "registers.qasm", "--device", "cpu", "--processes", "4", "--json")
    told = qsim_ex(*command, "--network", "1:near:9e9,1:ethernet").document["deployment"]["network"]
    assert told == [
        {"bits": 1, "link": "near", "bytes_per_second": 9e9},
        {"bits": 1, "link": "ethernet", "bytes_per_second": 1.1e9},
    ]
    assert qsim_ex(*command, "--network", "switch").document["deployment"]["network"] == "switch"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--processes", "some"), "expected a number, 'auto' or 'never', got 'some'"),
        (("--network", "nvlink"), "or layers such as 2:nvlink,1:ib, got 'nvlink'"),
        (("--network", "1:unheard"), "the bandwidth of the link 'unheard' is not known"),
        (("--processes", "2"), "expected at least 2 processes, got 1"),
    ],
)
def test_processes_and_networks_that_cannot_be(qsim_ex, monkeypatch, given, words):
    """What cannot be read, or is not there, is refused in one line."""
    monkeypatch.setattr(connection, "_processes", {os.getpid(): loopback(1)[0]})
    ended = qsim_ex("run", DATA / "registers.qasm", "--device", "cpu", *given)
    assert ended.code != 0
    assert words in " ".join(ended.err.split())


@pytest.fixture
def parametrised(tmp_path):
    """A file with two parameters: the first qubit is measured as 1 where theta is π, the second where phi is."""
    path = tmp_path / "turned.qasm"
    path.write_text(
        'OPENQASM 3.0; include "stdgates.inc"; input float theta; input angle phi; qubit[2] q; bit[2] c;\n'
        "rx(theta) q[0]; rx(phi) q[1]; c = measure q;"
    )
    return path


def test_parameters_of_a_file_are_set(qsim_ex, parametrised):
    """`run` and `explain` take values by name, the last of each, and the circuit has them."""
    given = ("--set", "theta=1", "--set", "phi = 0.0", "--set", f"theta={math.pi}", "--device", "cpu", "--json")
    assert qsim_ex("run", parametrised, "--shots", "50", *given).document["counts"] == {"01": 50}
    assert qsim_ex("explain", parametrised, *given).code == 0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--set", "phi=1"], "none of theta; give each, such as --set theta=0.5."),
        (["--set", "theta=1", "--set", "phi=1", "--set", "alpha=2"], "(phi, theta), got one of alpha."),
        (["--set", "theta=1", "--set", "phi=nan"], "got 'phi=nan'"),
        (["--set", "theta"], "expected a name and a finite number, such as theta=0.5, got 'theta'"),
        (["--set", "=1"], "got '=1'"),
        (["--set", "theta=pi"], "got 'theta=pi'"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(qsim_ex, parametrised, given, told):
    """A missing, unknown or malformed value is bad input, and the message says which."""
    ended = qsim_ex("run", parametrised, *given)
    assert ended.code == BAD_INPUT
    assert told in ended.err
