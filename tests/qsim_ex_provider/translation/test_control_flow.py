"""Qiskit's control flow: conditions on measured bits, switches, and loops over known indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qiskit import ClassicalRegister, QuantumCircuit, QuantumRegister
from qiskit.circuit import Parameter
from qiskit.circuit.classical import expr, types

from qsim_ex import errors, reference
from qsim_ex_provider import QsimExBackend
from qsim_ex_provider.translation.circuits import translate

BACKEND = QsimExBackend(device="cpu")


def distribution(circuit: QuantumCircuit) -> dict[int, float]:
    """The probability of each value of the classical bits, from the definitions."""
    found = reference.by_bits(translate(circuit))
    return {bits: float(np.trace(rho).real) for bits, rho in found.items() if np.trace(rho).real > 1e-12}


def test_teleportation() -> None:
    """The state that was sent arrives, since each correction is applied at its value."""
    q, a, b = QuantumRegister(3, "q"), ClassicalRegister(1, "a"), ClassicalRegister(1, "b")
    sent = QuantumCircuit(1)
    sent.u(0.3, 1.2, 2.1, 0)
    circuit = QuantumCircuit(q, a, b)
    circuit.compose(sent, [0], inplace=True)
    circuit.h(1)
    circuit.cx(1, 2)
    circuit.cx(0, 1)
    circuit.h(0)
    circuit.measure(0, a[0])
    circuit.measure(1, b[0])
    with circuit.if_test((b, 1)):
        circuit.x(2)
    with circuit.if_test((a[0], True)):
        circuit.z(2)
    circuit.u(-0.3, -2.1, -1.2, 2)  # undoes what was sent
    circuit.add_register(ClassicalRegister(1, "c"))
    circuit.measure(2, 2)
    counts = BACKEND.run(circuit, shots=2000, seed_simulator=1).result().get_counts()
    assert {key.split()[0] for key in counts} == {"0"}
    assert len(counts) == 4
    assert sum(p for bits, p in distribution(circuit).items() if bits < 4) == pytest.approx(1)


def built(make: Callable[[QuantumCircuit, ClassicalRegister], Any]) -> QuantumCircuit:
    """Two random bits in a register of three, what `make` appends to the third wire, and its measurement."""
    c = ClassicalRegister(3, "c")
    circuit = QuantumCircuit(QuantumRegister(3, "q"), c, ClassicalRegister(1, "out"))
    circuit.ry(1.0, 0)
    circuit.ry(2.0, 1)
    circuit.measure([0, 1], [0, 1])
    make(circuit, c)
    circuit.measure(2, 3)
    return circuit


def conditioned(condition: Callable[[ClassicalRegister], Any]) -> Callable[[QuantumCircuit, ClassicalRegister], None]:
    """X on the third wire where a condition holds."""

    def make(circuit: QuantumCircuit, c: ClassicalRegister) -> None:
        with circuit.if_test(condition(c)):
            circuit.x(2)

    return make


CONDITIONS: dict[str, tuple[Callable[[ClassicalRegister], Any], Callable[[int], bool]]] = {
    "bit": (lambda c: (c[1], 1), lambda v: v >> 1 == 1),
    "register": (lambda c: (c, 2), lambda v: v == 2),
    "equal": (lambda c: expr.equal(c, 3), lambda v: v == 3),
    "less": (lambda c: expr.less(c, 2), lambda v: v < 2),
    "at least": (lambda c: expr.greater_equal(c, 1), lambda v: v >= 1),
    "xor": (lambda c: expr.bit_xor(c[0], c[1]), lambda v: v in (1, 2)),
    "and not": (lambda c: expr.logic_and(c[0], expr.logic_not(c[1])), lambda v: v == 1),
    "or": (lambda c: expr.logic_or(expr.equal(c, 0), c[1]), lambda v: v in (0, 2, 3)),
    "flipped": (lambda c: expr.equal(expr.bit_not(c), 5), lambda v: 7 - v == 5),
    "shifted": (lambda c: expr.equal(expr.shift_left(c, 1), 4), lambda v: v << 1 == 4),
    "masked": (lambda c: expr.not_equal(expr.bit_and(c, 2), 0), lambda v: v & 2 != 0),
    "index": (lambda c: expr.index(c, 1), lambda v: v & 2 != 0),
    "cast": (lambda c: expr.cast(c, types.Bool()), lambda v: v != 0),
}


@pytest.mark.parametrize("name", sorted(CONDITIONS))
def test_conditions(name: str) -> None:
    """A condition holds at its values and at no others."""
    condition, holds = CONDITIONS[name]
    found = distribution(built(conditioned(condition)))
    p0, p1 = np.sin(0.5) ** 2, np.sin(1.0) ** 2
    for value in range(4):
        probability = (p0 if value & 1 else 1 - p0) * (p1 if value & 2 else 1 - p1)
        assert found[value | 8 * holds(value)] == pytest.approx(probability)


def test_else_switch_and_loops() -> None:
    """The other branch, the cases with their default, and every turn of a loop are each done once."""
    angle = Parameter("angle")

    def make(circuit: QuantumCircuit, c: ClassicalRegister) -> None:
        with circuit.if_test((c[0], 1)) as otherwise:
            circuit.ry(0.4, 2)
        with otherwise:
            circuit.ry(0.9, 2)
        with circuit.switch(c) as case:
            with case(0, 1):
                circuit.ry(0.2, 2)
            with case(2):
                circuit.ry(0.3, 2)
            with case(case.DEFAULT):
                circuit.ry(0.5, 2)
        with circuit.for_loop(range(1, 3), angle):
            circuit.ry(0.1 * angle, 2)
            with circuit.if_test((c[1], 0)):
                circuit.ry(0.05, 2)

    found = distribution(built(make))
    p0, p1 = np.sin(0.5) ** 2, np.sin(1.0) ** 2
    for value in range(4):
        turned = (0.4 if value & 1 else 0.9) + (0.2, 0.2, 0.3, 0.5)[value] + 0.3 + (0 if value & 2 else 0.1)
        probability = (p0 if value & 1 else 1 - p0) * (p1 if value & 2 else 1 - p1)
        assert found[value | 8] == pytest.approx(probability * np.sin(turned / 2) ** 2)


def test_runs_agree_with_the_definition() -> None:
    """The engine's shots of nested conditions are distributed as the definitions say."""

    def make(circuit: QuantumCircuit, c: ClassicalRegister) -> None:
        with circuit.if_test((c[0], 1)):
            circuit.h(2)
            with circuit.if_test((c[1], 1)):
                circuit.cx(2, 1)
                circuit.ry(0.7, 2)
        circuit.h(1)
        circuit.measure(1, c[2])
        with circuit.if_test((c, 5)):
            circuit.x(2)

    circuit = built(make)
    wanted, shots = distribution(circuit), 20_000
    counts = BACKEND.run(circuit, shots=shots, seed_simulator=3).result().get_counts()
    for key, count in counts.items():
        p = wanted[int(key.replace(" ", ""), 2)]
        assert abs(count - shots * p) < 5 * np.sqrt(shots * p)


def _while(circuit: QuantumCircuit, c: ClassicalRegister) -> None:
    with circuit.while_loop((c[0], 1)):
        circuit.h(0)
        circuit.measure(0, 0)


def _measure_inside(circuit: QuantumCircuit, c: ClassicalRegister) -> None:
    with circuit.if_test((c[0], 1)):
        circuit.measure(1, 1)


def _variable(circuit: QuantumCircuit, c: ClassicalRegister) -> None:  # noqa: ARG001
    flag = circuit.add_var("flag", expr.lift(True))
    with circuit.if_test(flag):
        circuit.x(2)


LATER: dict[str, tuple[Callable[[QuantumCircuit, ClassicalRegister], None], str]] = {
    "while": (_while, "while_loop"),
    "measurement inside": (_measure_inside, "under a classical condition, got measure"),
    "variable": (_variable, "store"),
}


@pytest.mark.parametrize("name", sorted(LATER))
def test_what_is_not_there_is_named(name: str) -> None:
    """Control flow that is not supported is refused by name."""
    make, message = LATER[name]
    with pytest.raises(errors.NotSupported, match=message):
        BACKEND.run(built(make), shots=5).result()


def test_a_wide_condition_is_refused() -> None:
    """A condition on a register of more than 10 bits is refused."""
    c = ClassicalRegister(40, "c")
    circuit = QuantumCircuit(QuantumRegister(1, "q"), c)
    circuit.h(0)
    circuit.measure(0, 0)
    with circuit.if_test((c, 1)):
        circuit.x(0)
    circuit.measure(0, 1)
    with pytest.raises(errors.NotSupported, match="at most 10 classical bits, got one on 40"):
        BACKEND.run(circuit, shots=5).result()
