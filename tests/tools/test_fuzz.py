"""The fuzzer works: cases repeat by seed, its oracles agree with others, a failure shrinks, a clean run is clean."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from support.paths import ROOT

from qsim_ex import CircuitBuilder, reference
from qsim_ex.circuit import placed_gate
from qsim_ex.circuit.gates import GATES
from tools.fuzz import __main__ as command_line
from tools.fuzz import kinds, likelihood, programs
from tools.fuzz.case import BIT, WIRE, Case, parse, used
from tools.fuzz.engine import circuit_of, truth_of
from tools.fuzz.gates import matrix_of
from tools.fuzz.options import DEVICES, devices
from tools.fuzz.oracle import Oracle, apply, narrow
from tools.fuzz.product_oracle import ProductOracle
from tools.fuzz.run import outcome_of, quiet, work
from tools.fuzz.shrink import shrink


@pytest.fixture(autouse=True)
def _on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Cases run on the CPU, and frameworks may say what they like about their own gates."""
    quiet()
    devices.cache_clear()
    monkeypatch.setenv(DEVICES, "cpu")
    yield
    devices.cache_clear()


@pytest.mark.parametrize("seed", range(40))
def test_a_seed_gives_the_same_case(seed: int) -> None:
    """The case of a seed is the same each time, and is what its printed script says."""
    case = kinds.drawn(seed)
    assert case == kinds.drawn(seed)
    assert case != kinds.drawn(seed + 1)
    source = case.script().split('"""')[1]
    assert parse(source) == case.program


def test_a_clean_run_finds_nothing() -> None:
    """Sixty circuits of all kinds are as the oracles say."""
    tally = work(range(5000, 5060), ())
    assert tally.cases == 60
    assert len(tally.by_kind) >= 8
    assert tally.found == []
    assert sum(tally.refused.values()) < 18


@pytest.mark.parametrize(("seed", "kind"), [(420031505, "wide"), (420050422, "chance")])
def test_a_check_asks_only_what_holds(seed: int, kind: str) -> None:
    """Single precision may round what is written anew otherwise, and stabilizer states have shots of their own."""
    assert outcome_of(kinds.drawn(seed, (kind,))).trouble is None


def test_every_gate_has_a_definition() -> None:
    """The fuzzer's definition of each row of the gate table is the matrix of the reference, bit k = argument k."""
    for name, row in GATES.items():
        parameters = tuple(0.3 + k for k in range(len(row.parameters)))
        circuit = CircuitBuilder(row.qubits).gate(name, range(row.qubits), *parameters).build()
        columns = [reference.simulate(circuit, column) for column in np.eye(1 << row.qubits)]
        np.testing.assert_allclose(matrix_of(name, parameters), np.array(columns).T, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("seed", range(25))
def test_the_oracle_agrees_with_the_reference(seed: int) -> None:
    """Two oracles that share no code give every value of the classical bits the same mixed state."""
    random = Random(seed)
    draw = programs.Draw(random, random.randint(1, 3), 2)
    case = Case("chance", draw.wires, 2, (*programs.chance(draw), programs.measured(draw)))
    ours = {bits: state @ state.conj().T for bits, state in truth_of(case).branches.items()}
    theirs = reference.by_bits(circuit_of(case))
    for bits in ours | theirs:
        zero = np.zeros((1 << draw.wires,) * 2)
        np.testing.assert_allclose(ours.get(bits, zero), theirs.get(bits, zero), atol=1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_the_oracle_of_wide_circuits_agrees_with_the_branching_one(seed: int) -> None:
    """The product of small oracles gives the distribution and the means that one oracle of all wires gives."""
    random = Random(seed)
    draw = programs.Draw(random, 4, 3)
    case = Case("chance", 4, 3, (*programs.chance(draw), programs.measured(draw)))
    one, other = truth_of(case), truth_of(case, oracle=ProductOracle())
    expected, product = one.distribution(), other.distribution()
    for bits in expected | product:
        assert product.get(bits, 0) == pytest.approx(expected.get(bits, 0), abs=1e-12)
    for letters in ("ZIII", "XYZI", "ZZXZ", "IIZY"):
        assert other.mean([(0.5, dict(enumerate(letters)))]) == pytest.approx(one.expectation({letters: 0.5}).real)


def test_wires_in_zero_are_left_out() -> None:
    """Wires that are only read or were reset are in no factor, and independent wires are in two."""
    oracle = ProductOracle()
    oracle.gate("h", [7]).gate("cx", [7, 90]).gate("h", [3]).gate("cz", [7, 4]).gate("x", [3], controls=[50])
    assert sorted(sorted(factor.wires) for factor in oracle.factors if factor.wires) == [[3], [7, 90]]
    oracle.reset([90])
    assert sorted(sorted(factor.wires) for factor in oracle.factors if factor.wires) == [[3], [7]]


def test_bits_of_wide_circuits_are_joined_where_they_are_misread_together() -> None:
    """Two independent bits that are misread together have one distribution, and a bit that is written again has one."""
    oracle = ProductOracle()
    oracle.gate("h", [10]).gate("h", [20]).gate("h", [30]).measure([10, 20, 30], [0, 1, 2]).measure([40], [2])
    assert [bits for bits, _ in oracle.distributions()] == [(0,), (1,), (2,)]
    assert oracle.distributions()[2][1] == {0: 1.0}
    flip = np.eye(4)[::-1]
    joined = dict(oracle.distributions([((0, 1), flip)]))
    assert joined[(0, 1)] == pytest.approx(dict.fromkeys(range(4), 0.25))


def test_a_mixed_state_stays_the_same_with_fewer_columns() -> None:
    """Columns that are left out of a mixed state change nothing of it."""
    state = np.random.default_rng(1).normal(size=(4, 20)) + 0j
    assert narrow(state).shape == (4, 4)
    np.testing.assert_allclose(narrow(state) @ narrow(state).conj().T, state @ state.conj().T)


def test_a_matrix_acts_on_its_wires() -> None:
    """The first wire of a matrix is the least significant bit of its index."""
    state = np.eye(8, dtype=np.complex128)[:, [0b001]]
    up = np.roll(np.eye(4), 1, axis=0)  # adds one to the value of two wires
    assert np.argmax(apply(state, up, [0, 2])) == 0b100
    assert np.argmax(apply(state, up, [2, 0])) == 0b101


@pytest.mark.parametrize("oracle", [Oracle(1), ProductOracle()])
def test_conditions_hold_back_everything(oracle: Oracle) -> None:
    """Under a condition that does not hold no gate, channel, or measurement changes anything."""
    with oracle.condition([0], [1]):
        oracle.gate("x", [0]).channel(np.array([[[0, 1], [1, 0]]]), [0]).measure([0], [1])
    assert oracle.distribution() == {0: 1.0}


# --- statistics -------------------------------------------------------------------------------------------------------


def test_false_alarms_are_rarer_than_promised() -> None:
    """Counts that do come from the distribution fall below a threshold at most as often as it says."""
    random, p = np.random.default_rng(1), np.array([0.5, 0.25, 0.2, 0.05])
    expected = dict(enumerate(p.tolist()))
    counts = (dict(enumerate(random.multinomial(400, p).tolist())) for _ in range(4000))
    chances = np.array([likelihood.of_counts(one, expected, 2) for one in counts])
    for threshold in (0.1, 0.01):
        assert (chances < threshold).mean() <= threshold


@pytest.mark.parametrize("wrong", [[0.45, 0.3, 0.2, 0.05], [0.5, 0.2, 0.25, 0.05], [0.55, 0.25, 0.2, 0.0]])
def test_a_wrong_distribution_is_proved_wrong(wrong: list[float]) -> None:
    """Probabilities that are off by a twentieth are told apart with the shots of the second look."""
    shots = likelihood.MORE * 400
    counts = dict(enumerate(np.random.default_rng(2).multinomial(shots, wrong).tolist()))
    expected = dict(enumerate([0.5, 0.25, 0.2, 0.05]))
    assert likelihood.of_counts(counts, expected, 2) < likelihood.PROOF


def test_an_impossible_outcome_is_proof() -> None:
    """A single shot that cannot be is enough."""
    assert likelihood.of_counts({0: 399, 1: 1}, {0: 1.0}, 1) == 0.0


def with_a_wrong_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the engine take T for its inverse; entries that are kept were made of the right one."""
    monkeypatch.setitem(GATES, "t", replace(GATES["t"], matrix=GATES["tdg"].matrix))
    monkeypatch.setattr(placed_gate, "_constants", placed_gate._constants.__wrapped__)


# --- shrinking --------------------------------------------------------------------------------------------------------


def test_a_failure_shrinks_to_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long program with options what is left still fails, in one line on the wires that it names."""
    with_a_wrong_gate(monkeypatch)
    case = next(
        case
        for case in (kinds.drawn(seed, ("state",)) for seed in range(1000))
        if len(case.program) > 6 and (outcome_of(case).trouble or "").startswith("amplitudes")
    )
    small = shrink(case, lambda one: (outcome_of(one).trouble or "").startswith("amplitudes"))
    assert outcome_of(small).trouble
    assert len(small.program) <= 2
    assert "'t'" in small.source
    assert small.wires == len(used(WIRE, small))
    assert small.options == {}


def test_shrinking_keeps_what_the_failure_needs() -> None:
    """What the caller asks for is kept: two lines, an option, and a wire above another."""

    def fails(case: Case) -> bool:
        return "'h'" in case.source and "'x'" in case.source and "threads" in case.options and case.wires > 1

    source = "b.gate('z', [q[0]])\nb.gate('h', [q[2]])\nwith b.condition([c[1]], [0]):\n    b.gate('x', [q[3]])\n"
    case = Case("chance", 5, 3, parse(source), {"threads": 2, "device": "cpu"}, {"seed": 99})
    small = shrink(case, fails)
    assert [line.text for line in small.program] == ["b.gate('h', [q[0]])", "b.gate('x', [q[1]])"]
    assert (small.wires, small.bits, small.options, small.ask) == (2, 0, {"threads": 2}, {"seed": 0})
    assert used(BIT, small) == []


# --- the command line -------------------------------------------------------------------------------------------------


def test_the_command_counts(tmp_path: Path) -> None:
    """A number of circuits that two processes check is counted in one line and in a file."""
    command = [sys.executable, "-m", "tools.fuzz", "--count", "60", "--processes", "2", "--only", "state"]
    path = {"PYTHONPATH": f"{ROOT / 'core'}:{ROOT}"}
    found = subprocess.run(
        [*command, "--json", str(tmp_path / "found")],
        cwd=ROOT, env={**os.environ, **path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.startswith("seed 0: 60 circuits in ")
    told = json.loads((tmp_path / "found").read_text())
    assert (told["circuits"], told["kinds"], told["failures"]) == (60, {"state": 60}, [])


def fuzz(patch: pytest.MonkeyPatch, *given: str) -> int:
    """Run the command in this process."""
    patch.setattr(sys, "argv", ["fuzz", *given])
    return command_line.main()


def test_the_command_repeats_a_case(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One case is printed and checked again by its seed; a kind that there is not is an error."""
    assert fuzz(monkeypatch, "--case", "3", "--only", "state") == 0
    assert kinds.drawn(3, ("state",)).script() in capsys.readouterr().out
    assert fuzz(monkeypatch, "--only", "nothing") == 2


def test_the_command_fails_with_a_script(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A failure makes the command fail and is printed as Python, which repeats it."""
    with_a_wrong_gate(monkeypatch)
    assert fuzz(monkeypatch, "--count", "200", "--only", "state", "--failures", "1") == 1
    printed = capsys.readouterr().out
    script = printed[printed.index("from tools.fuzz.replay") : printed.rindex("seed 0: ")]
    space: dict[str, Any] = {}
    exec(script, space)
    assert "expected" in capsys.readouterr().out
    assert printed.count("replay(") == 1


def test_without_frameworks_the_engine_is_fuzzed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither Qiskit nor Cirq is installed, only the engine's kinds are drawn."""
    kinds.kinds()  # the engine's kinds ask for Stim when they are imported
    monkeypatch.setattr(kinds, "find_spec", lambda _package: None)
    kinds.kinds.cache_clear()
    try:
        names = set(kinds.kinds())
        runs = {"state", "shots", "chance", "values", "bindings", "batched", "machine", "checkpoint", "linear", "far"}
        runs |= {"wide", "saves", "density", "density values", "loops", "density loops", "ranks"}
        assert (
            runs
            | {
                "stabilizer",
                "form",
                "written",
                "words",
                "rehearsed",
                "swaps",
                "gradient",
                "noisy gradient",
                "trajectory gradient",
            }
            == names
        )
        assert work(range(20), ()).found == []
    finally:
        kinds.kinds.cache_clear()
