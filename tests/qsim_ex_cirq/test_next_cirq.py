"""What Cirq has since 1.8, which `.ci/full newest` installs: ``If``, ``While``, and resolvers in simulation states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cirq
import numpy as np
import pytest
import sympy

from qsim_ex import errors
from qsim_ex_cirq import QsimExDensityMatrixSimulator, QsimExSimulator

NEXT: Any = cirq  # whose new names older versions lack
pytestmark = pytest.mark.skipif(not hasattr(cirq, "While"), reason="needs Cirq 1.8")

A, B = cirq.LineQubit.range(2)
TRIT = cirq.LineQid(2, dimension=3)
K = sympy.Symbol("k")
SIMULATORS: list[Callable[..., Any]] = [QsimExSimulator, QsimExDensityMatrixSimulator]


def thrown() -> cirq.Circuit:
    """A coin that is thrown until it shows 0, and what that is followed by."""
    throw = NEXT.While("k", cirq.H(A), cirq.measure(A, key="k"))
    after = NEXT.If(sympy.Eq(K, 0), [cirq.X(B)])
    return cirq.Circuit(cirq.X(A), cirq.measure(A, key="k"), throw, after, cirq.measure(B, key="b"))


@pytest.mark.parametrize("kind", SIMULATORS)
def test_loops_that_hold(kind: Callable[..., Any]) -> None:
    """A loop goes on while the last record is 1, each round is recorded, and half of all loops end in each round."""
    result = kind(seed=1).run(thrown(), repetitions=2000)
    records = result.records["k"][:, :, 0]
    ends = (records[:, 1:] == 0).argmax(axis=1)
    assert records[:, 0].all()
    assert result.records["b"].all()
    assert (ends == 0).mean() == pytest.approx(0.5, abs=0.06)
    assert (ends == 1).mean() == pytest.approx(0.25, abs=0.06)
    found = kind(seed=1).simulate(thrown())
    assert (found.measurements["k"].tolist(), found.measurements["b"].tolist()) == ([0], [1])


def test_conditions_that_hold_together() -> None:
    """Several conditions must all hold, of loops and of branches, on qudits too."""
    shift = cirq.XPowGate(dimension=3)
    loop = NEXT.While([sympy.Ne(K, 2), "j"], shift(TRIT), cirq.measure(TRIT, key="k"))
    circuit = cirq.Circuit(cirq.X(A), cirq.measure(A, key="j"), cirq.measure(TRIT, key="k"), loop)
    circuit += NEXT.If([sympy.Eq(K, 2), "j"], cirq.X(B), cirq.Z(B))
    circuit += cirq.measure(B, key="b")
    result = QsimExSimulator().run(circuit, repetitions=3)
    assert result.records["k"].tolist() == [[[0], [1], [2]]] * 3
    assert result.records["b"].all()


def test_loops_that_never_end_are_refused() -> None:
    """A loop that does not measure what it reads is refused before anything runs."""
    circuit = cirq.Circuit(cirq.measure(A, key="k"), NEXT.While("k", cirq.X(B)), cirq.measure(B, key="b"))
    with pytest.raises(errors.CircuitError, match="never ends"):
        QsimExSimulator().run(circuit)


def test_steps_resolve_symbols() -> None:
    """States between moments and density matrices get the numbers of a resolver that a simulation state brings."""
    circuit = cirq.Circuit(cirq.X(A) ** K, cirq.CNOT(A, B))
    wanted = cirq.Simulator(dtype=np.complex128).simulate(circuit, {"k": 0.3}).final_state_vector
    *_, step = QsimExSimulator(dtype=np.complex128).simulate_moment_steps(circuit, {"k": 0.3})
    assert step.state_vector() == pytest.approx(wanted, abs=1e-9)
    found = QsimExDensityMatrixSimulator(dtype=np.complex128).simulate(circuit, {"k": 0.3}).final_density_matrix
    assert found == pytest.approx(np.outer(wanted, wanted.conj()), abs=1e-7)


S, T = sympy.symbols("s t")


def variables() -> list[tuple[str, cirq.Circuit, dict[str, int]]]:
    """Circuits with qids whose places are formulas, and with symbols that are set to numbers and to measured values."""
    moment, place, end = cirq.Moment, NEXT.VariableLineQid(S + 1), cirq.measure(A, B, key="m")
    flipped = moment(cirq.X(place))
    measured = [moment(cirq.X(A)), moment(cirq.measure(A, key="k"))]
    twice = [moment(NEXT.SetVariable(T, 1 - K)), moment(cirq.X(B) ** T), moment(NEXT.SetVariable(T, K + 0))]
    return [
        ("a place", cirq.Circuit(flipped, moment(end)), {"s": 0}),
        ("another place", cirq.Circuit(flipped, moment(cirq.measure(A, key="m"))), {"s": 4}),
        (
            "a number",
            cirq.Circuit(moment(NEXT.SetVariable(T, sympy.Integer(1))), moment(cirq.X(A) ** T), moment(end)),
            {},
        ),
        ("a sum", cirq.Circuit(moment(NEXT.SetVariable(S, S - 1)), flipped, moment(end)), {"s": 1}),
        ("a measured value", cirq.Circuit(measured, twice, moment(cirq.X(B) ** (T + 2)), moment(end)), {}),
        ("a measured place", cirq.Circuit(measured, moment(NEXT.SetVariable(S, K - 1)), flipped, moment(end)), {}),
    ]


@pytest.mark.parametrize("number", range(6))
def test_variables(number: int) -> None:
    """What is found is what Cirq's own simulator finds, in samples, states, density matrices and moments."""
    name, circuit, params = variables()[number]
    wanted = cirq.Simulator().simulate(circuit, params)
    found = QsimExSimulator(seed=1).simulate(circuit, params)
    assert found.measurements["m"].tolist() == wanted.measurements["m"].tolist(), name
    assert list(found.qubit_map) == list(wanted.qubit_map)
    assert found.final_state_vector == pytest.approx(wanted.final_state_vector, abs=1e-6)
    assert found.params == cirq.ParamResolver(params)
    for kind in SIMULATORS:
        [records] = kind(seed=1).run_batch([circuit], [params], repetitions=3)[0]
        assert records.records["m"].tolist() == [[wanted.measurements["m"].tolist()]] * 3
    *_, step = QsimExSimulator(seed=1).simulate_moment_steps(circuit, params)
    assert step.state_vector() == pytest.approx(wanted.final_state_vector, abs=1e-6)
    density = QsimExDensityMatrixSimulator(seed=1).simulate(circuit, params).final_density_matrix
    assert np.diag(density) == pytest.approx(np.abs(wanted.final_state_vector) ** 2, abs=1e-6)


def test_variables_that_cannot_be_known_are_refused() -> None:
    """A formula of a key that is measured again, or of nothing that is known, is refused with its name."""
    again = [NEXT.SetVariable(T, K + 0), cirq.measure(A, key="k"), cirq.X(B) ** T, cirq.measure(B, key="m")]
    circuit = cirq.Circuit(map(cirq.Moment, [cirq.measure(A, key="k"), *again]))
    with pytest.raises(errors.NotSupported, match="depends on k, which is measured again"):
        QsimExSimulator().run(circuit)
    circuit = cirq.Circuit(cirq.Moment(NEXT.SetVariable(T, K + 0)), cirq.Moment(cirq.measure(B, key="m")))
    with pytest.raises(errors.NotSupported, match="where k is neither measured before nor a number"):
        QsimExSimulator().run(circuit)
