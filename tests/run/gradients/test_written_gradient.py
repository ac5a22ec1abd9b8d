"""Gradients of what is written out of a circuit's form: those of the circuit, and of nothing that only looks fixed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from support.gradient_faults import written_once
from support.gradients import compare, observables
from support.held import Hold

from benchmarks.gradient_circuits import CIRCUITS
from qsim_ex import ParameterSweepBuilder, Simulator, thresholds
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.planning.written.out import Manner
from qsim_ex.run.gradients import written as under_test
from tools.fuzz.thresholds import WRITTEN

N = 6


@pytest.fixture(autouse=True)
def _taken(hold: Hold) -> None:
    """Whatever can be written is differentiated, in clusters, too, though there are none."""
    hold(**WRITTEN, clustered_percent=0)


@contextmanager
def written(monkeypatch: pytest.MonkeyPatch, manner: Manner = Manner.BACK) -> Iterator[list[bool]]:
    """Let a manner be the fastest; the list says of each gradient whether something else was differentiated."""
    found: list[bool] = []
    whole = under_test.written_task

    def told(task: under_test.GradientTask, *given: under_test.Where) -> under_test.GradientTask:
        made = whole(task, *given)
        found.append(made.numbers is not None)
        return made

    with monkeypatch.context() as patch:
        patch.setattr(under_test, "_fastest", lambda *_: manner)
        patch.setattr("qsim_ex.run.gradients.gradient.written_task", told)
        yield found


def rotations(seed: int, bindings: int) -> ParameterSweep:
    """Pauli rotations, some by shared angles and under controls, phases, Clifford gates, and numbers between them."""
    rng = np.random.default_rng(seed)
    builder, shared = ParameterSweepBuilder(N, 0), rng.normal(size=bindings)
    for _ in range(12):
        wires = rng.permutation(N).tolist()
        letters = "".join(rng.choice([*"XYZ"], 3).tolist())
        builder.gate(str(rng.choice(["h", "s", "sx"])), wires[:1]).gate("cx", wires[:2])
        builder.pauli_rotation(rng.normal(size=bindings), letters, wires[:3])  # type: ignore[arg-type]
        builder.gate(str(rng.choice(["rx", "ry", "rz", "p"])), wires[3:4], shared, controls=wires[4:5])  # type: ignore[arg-type]
        builder.gate("rx", wires[5:], 0.3)
    builder.global_phase(0.7)
    return builder.sweep(bindings)


@pytest.mark.parametrize("manner", Manner)
def test_every_manner(manner: Manner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and derivatives of several bindings are those of the definition, in whatever manner it is written."""
    sweep, sums = rotations(int(manner), 2), observables(N, 2, 3)
    with written(monkeypatch, manner) as taken:
        compare(sweep, Simulator(device="cpu").gradient(sweep, sums), sums)
    assert taken == [True]


@pytest.mark.parametrize("value", [0.0, np.pi / 2, 1.3])
def test_angles_that_are_all_alike(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter is one where all angles are 0 or a quarter turn, and where all bindings share its value."""
    made, sums = rotations(5, 2), observables(N, 1, 4)
    assert made.columns is not None
    sweep = replace(made, columns=np.full_like(made.columns, value))
    with written(monkeypatch) as taken:
        compare(sweep, Simulator(device="cpu").gradient(sweep, sums), sums)
    assert taken == [True]


def test_one_structure_with_other_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was a number in one sweep is a parameter in the next one of the same structure."""

    def sweep(first: float | np.ndarray, second: float | np.ndarray) -> ParameterSweep:
        builder = ParameterSweepBuilder(2, 0)
        builder.gate("h", [0]).gate("rzz", [0, 1], first).gate("rx", [1], second)  # type: ignore[arg-type]
        return builder.gate("cx", [0, 1]).gate("rzz", [0, 1], first).gate("rx", [0], second).sweep(1)  # type: ignore[arg-type]

    sums, angle = observables(2, 1, 0), np.array([0.4])
    for given in (sweep(angle, 0.4), sweep(0.4, angle), sweep(angle, angle)):
        with written(monkeypatch) as taken:
            compare(given, Simulator(device="cpu").gradient(given, sums), sums)
        assert taken == [True]


def test_what_is_written_for_no_binding_but_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix with other eigenvectors in each binding is differentiated as it came."""
    builder, sums = ParameterSweepBuilder(2, 0), observables(2, 1, 0)
    builder.gate("r", [0], *(np.array([0.0]) for _ in range(2))).gate("cx", [0, 1])  # type: ignore[arg-type]
    sweep = builder.sweep(1)
    with written(monkeypatch) as taken:
        compare(sweep, Simulator(device="cpu").gradient(sweep, sums), sums)
    assert taken == [False]


def test_overlaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """An overlap, of which the global phase is a part, has the derivatives of the circuit as it came."""
    sweep, other = rotations(7, 2), CIRCUITS["uccsd"](N, np.random.default_rng(0))
    with thresholds.instead(written_percent=0):
        expected = Simulator(device="cpu").overlap(sweep, other.circuit(0))
    with written(monkeypatch) as taken:
        found = Simulator(device="cpu").overlap(sweep, other.circuit(0))
    assert taken == [True]
    assert found.values == pytest.approx(expected.values, abs=1e-12)
    assert found.derivatives == pytest.approx(expected.derivatives, abs=1e-12)


def test_it_is_taken_where_it_is_faster_and_explained(hold: Hold) -> None:
    """Strings of excitations are written as rotations, a chain that is dense is not, and an explanation says which."""
    hold(written_percent=100)
    simulator, sums = Simulator(device="cpu"), observables(16, 1, 0)
    for name, expected in (("uccsd", "circuit: written as Pauli rotations"), ("su2", "circuit: as it came")):
        sweep = CIRCUITS[name](16, np.random.default_rng(0))
        assert expected in str(simulator.explain_gradient(sweep, sums))


def test_a_phase_of_several_rotations(monkeypatch: pytest.MonkeyPatch) -> None:
    """A phase that is in several angles counts in each, and a planted fault, that it counts once, is found."""
    builder, sums = ParameterSweepBuilder(2, 0), observables(2, 1, 0)
    builder.gate("h", [0]).gate("h", [1]).gate("cp", [0, 1], np.array([0.8])).gate("h", [0]).gate("h", [1])  # type: ignore[arg-type]
    sweep = builder.sweep(1)
    with written(monkeypatch, Manner.GROWN) as taken:
        compare(sweep, Simulator(device="cpu").gradient(sweep, sums), sums)
        assert taken == [True]
        written_once(monkeypatch)
        with pytest.raises(AssertionError):
            compare(sweep, Simulator(device="cpu").gradient(sweep, sums), sums)
