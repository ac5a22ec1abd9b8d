"""A file in OpenQASM that asks for more than its limits, or for files elsewhere, is refused quickly and by name."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from qsim_ex.cli.command import main
from qsim_ex.errors import CircuitError
from qsim_ex_provider.frontend import frontend

TWO = 'OPENQASM 2.0;\ninclude "qelib1.inc";\n'
THREE = 'OPENQASM 3.0;\ninclude "stdgates.inc";\n'
BOMB2 = TWO + "gate g0 a { h a; }\n" + "".join(f"gate g{k} a {{ g{k - 1} a; g{k - 1} a; }}\n" for k in range(1, 61))
BOMB3 = THREE + "gate g0(t) a { rx(t) a; }\n"
BOMB3 += "".join(f"gate g{k}(t) a {{ g{k - 1}(t) a; g{k - 1}(t) a; }}\n" for k in range(1, 61))
CHAIN2 = TWO + "gate g0 a { h a; }\n" + "".join(f"gate g{k} a {{ g{k - 1} a; }}\n" for k in range(1, 300))
CHAIN3 = THREE + "gate g0 a { h a; }\n" + "".join(f"gate g{k} a {{ g{k - 1} a; }}\n" for k in range(1, 300))
LOOPS = "for int i in [0:999] { " * 5 + "h q[0];" + "}" * 5

HUGE = {
    "register in 2": (TWO + "qreg q[1000000000];", "max_qubits"),
    "many registers in 2": (TWO + "".join(f"qreg q{k}[900];\n" for k in range(2)), "max_qubits"),
    "bits in 2": (TWO + "qreg q[1];\ncreg // of many\n c [ 1000000000 ];", "max_instructions"),
    "endless number in 2": (TWO + f"qreg q[{'9' * 5000}];", "max_qubits"),
    "definitions in 2": (BOMB2 + "qreg q[1];\ng60 q[0];", "max_instructions"),
    "deep definitions in 2": (CHAIN2 + "qreg q[1];\ng299 q[0];", "max_depth"),
    "brackets in 2": (TWO + "qreg q[1];\nrx(" + "(" * 5000 + "1" + ")" * 5000 + ") q[0];", "max_depth"),
    "register in 3": (THREE + "qubit[1000000000] q;", "max_qubits"),
    "register in brackets in 3": (THREE + "qubit[((1000000000))] q;", "max_qubits"),
    "bits in 3": (THREE + "bit[1_000_000_000] c;", "max_instructions"),
    "physical qubit": (THREE + "h $1000000000;", "max_qubits"),
    "controls": (THREE + "qubit[2] q;\nctrl(1000000000) @ x q[0], q[1];", "max_qubits"),
    "loop": (THREE + "qubit[1] q;\nfor int i in [0:1000000000] { h q[0]; }", "max_instructions"),
    "loop downwards": (THREE + "qubit[1] q;\nfor int i in [1000000000:-1:0] { h q[0]; }", "max_instructions"),
    "loops in loops": (THREE + "qubit[1] q;\n" + LOOPS, "max_instructions"),
    "definitions in 3": (BOMB3 + "qubit[1] q;\ng60(0.1) q[0];", "max_instructions"),
    "deep definitions in 3": (CHAIN3 + "qubit[1] q;\ng299 q[0];", "max_depth"),
    "brackets in 3": (THREE + "qubit[1] q;\nrx(" + "(" * 5000 + "1" + ")" * 5000 + ") q[0];", "max_depth"),
    "blocks in 3": (THREE + "bit c;\nqubit q;\n" + "if (c) { " * 200 + "h q;" + "}" * 200, "max_depth"),
    "signs in 3": (THREE + "qubit[1] q;\nrx(" + "- " * 3000 + "1) q[0];", "max_depth"),
}


@pytest.mark.parametrize("name", HUGE)
def test_what_is_too_large_is_refused_quickly(name: str, tmp_path: Path) -> None:
    """The error names the limit and the flag of the command line, and comes within seconds."""
    text, limit = HUGE[name]
    path = tmp_path / "huge.qasm"
    path.write_text(text)
    begin = time.perf_counter()
    with pytest.raises(CircuitError, match=rf"huge.qasm.*expected at most.*{limit}.*--{limit.replace('_', '-')}"):
        frontend.load(path)
    assert time.perf_counter() - begin < 30


def test_limits_are_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file is read when its limit is raised and refused when it is lowered, in Python and on the command line."""
    path = tmp_path / "a.qasm"
    path.write_text(THREE + "qubit[3] q;\nbit[3] c;\nfor int i in [1:10] { h q[0]; }\nc = measure q;\n")
    circuit, _ = frontend.load(path, max_qubits=3, max_instructions=20, max_depth=2)
    assert circuit.num_gates == 10
    for limit in ("max_qubits", "max_instructions"):
        with pytest.raises(CircuitError, match=limit):
            frontend.load(path, **{limit: 2})
    with pytest.raises(CircuitError, match="max_depth"):
        frontend.load(path, max_depth=0)
    assert main(["run", str(path), "--device", "cpu", "--max-qubits", "2", "--no-progress"]) != 0
    assert "--max-qubits" in capsys.readouterr().err
    assert main(["run", str(path), "--device", "cpu", "--max-qubits", "3", "--no-progress"]) == 0


def test_included_files_lie_beside_the_file(tmp_path: Path) -> None:
    """A file includes what lies in its folder or below; `..`, absolute paths, links out and circles are refused."""
    (tmp_path / "secret.inc").write_text("gate mine a { h a; }")
    folder = tmp_path / "folder"
    (folder / "more").mkdir(parents=True)
    (folder / "good.inc").write_text('include "more/deeper.inc";\n')
    (folder / "more" / "deeper.inc").write_text("gate mine a { h a; }\n")
    (folder / "circle.inc").write_text('include "circle.inc";\n')
    (folder / "nested.inc").write_text('// one line\ninclude "../secret.inc";\n')
    (folder / "link.inc").symlink_to(tmp_path / "secret.inc")
    path = folder / "a.qasm"
    path.write_text(TWO + 'include "good.inc";\nqreg q[1];\nmine q[0];\n')
    assert frontend.load(path)[0].num_gates == 1
    wrong = {
        "../secret.inc": r"a.qasm:3: expected .* beside a.qasm or in a folder below, got '\.\./secret.inc'",
        "more/../../secret.inc": "a.qasm:3: expected an included file beside",
        str(tmp_path / "secret.inc"): "a.qasm:3: expected an included file beside",
        "link.inc": "a.qasm:3: expected an included file beside",
        "nested.inc": "nested.inc:2: expected an included file beside",
        "circle.inc": "circle.inc:1: expected an included file that does not include itself",
        "a.qasm": "expected an included file that does not include itself",
    }
    for name, message in wrong.items():
        path.write_text(TWO + f'include "{name}";\nqreg q[1];\nmine q[0];\n')
        with pytest.raises(CircuitError, match=message):
            frontend.load(path)
        path.write_text(THREE + f'include "{name}";\nqubit q;\n')
        with pytest.raises(CircuitError, match=r"include"):
            frontend.load(path)


def test_a_folder_that_is_reached_by_a_link_is_no_trouble(tmp_path: Path) -> None:
    """A file that is named through a link to its folder includes its neighbours."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "g.inc").write_text("gate mine a { h a; }\n")
    (tmp_path / "real" / "a.qasm").write_text(TWO + 'include "g.inc";\nqreg q[1];\nmine q[0];\n')
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert frontend.load(tmp_path / "link" / "a.qasm")[0].num_gates == 1
