"""Qiskit's control flow: conditions on bits and variables, switches, and loops with known and unknown ends."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qiskit import ClassicalRegister, QuantumCircuit, QuantumRegister
from qiskit.circuit import AnnotatedOperation, Parameter, PowerModifier
from qiskit.circuit.classical import expr, types
from qiskit.circuit.library import CPhaseGate

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


def test_the_body_of_a_loop_need_not_use_its_parameter() -> None:
    """A loop whose body does not have the loop's parameter repeats the body as it is."""
    circuit = QuantumCircuit(1, 1)
    with circuit.for_loop(range(3), Parameter("unused")):
        circuit.x(0)
    circuit.measure(0, 0)
    assert distribution(circuit) == {1: pytest.approx(1)}


def test_a_variable_of_a_loop_holds_the_index() -> None:
    """In the body of a loop over a run-time variable, this has the index of the round, cut to its width."""
    index, out = expr.Var.new("index", types.Uint(2)), ClassicalRegister(4, "out")
    circuit = QuantumCircuit(QuantumRegister(4, "q"), out)
    for wire in range(4):
        circuit.measure(wire, wire)
    with circuit.for_loop((1, 2, 7), index):
        for value in range(4):
            with circuit.if_test(expr.equal(index, value)):
                circuit.x(value)
    circuit.measure(circuit.qubits, out)
    assert distribution(circuit) == {0b1110: pytest.approx(1)}


def test_a_constant_condition_on_a_wire_that_was_reset() -> None:
    """A block under a condition that is always true runs, also on a wire that begins anew and apart from others."""
    circuit = QuantumCircuit(2, 2)
    circuit.h(0)
    circuit.measure(0, 0)
    circuit.reset(0)
    with circuit.if_test(expr.lift(True)):
        circuit.x(0)
        circuit.h(1)
    circuit.measure([0, 1], [0, 1])
    assert set(BACKEND.run(circuit, shots=100, seed_simulator=1).result().get_counts()) == {"01", "11"}


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


def _coins(number: int) -> QuantumCircuit:
    """Fair coins, measured into as many bits."""
    circuit = QuantumCircuit(number, number)
    circuit.h(range(number))
    circuit.measure(range(number), range(number))
    return circuit


def test_while_with_break_and_continue() -> None:
    """A while loop goes on until its condition fails or it is left; what `continue` skips is not done."""
    circuit = QuantumCircuit(2, 3)
    circuit.h(0)
    circuit.measure(0, 0)
    with circuit.while_loop((circuit.clbits[0], 0)):
        circuit.h(0)
        circuit.measure(0, 0)
        circuit.h(1)
        circuit.measure(1, 1)
        with circuit.if_test((circuit.clbits[1], 1)):
            circuit.break_loop()
        with circuit.if_test((circuit.clbits[0], 0)):
            circuit.continue_loop()
        circuit.x(1)
        circuit.measure(1, 2)
    # Before: 1 of 2 never begins. A round ends with bits (0, 1): 00 goes on, 10 ends with bit 2, x1 leaves.
    found = distribution(circuit)
    expected = {0b001: 1 / 2, 0b010: 1 / 6, 0b011: 1 / 6, 0b101: 1 / 6}
    assert found == pytest.approx(expected, abs=1e-9)
    counts = BACKEND.run(circuit, shots=20_000, seed_simulator=5).result().get_counts()
    for key, count in counts.items():
        p = expected[int(key, 2)]
        assert abs(count - 20_000 * p) < 5 * np.sqrt(20_000 * p)


def test_for_with_break_is_left_at_once() -> None:
    """A for loop whose end depends on a measurement is written out, and left where it says so."""
    circuit = QuantumCircuit(1, 4)
    with circuit.for_loop(range(4)):
        circuit.h(0)
        circuit.measure(0, 3)
        with circuit.if_test((circuit.clbits[3], 1)):
            circuit.break_loop()
        circuit.store(circuit.clbits[0], expr.lift(True))
    found = distribution(circuit)
    assert found == pytest.approx({0b1000: 1 / 2, 0b1001: 7 / 16, 0b0001: 1 / 16})


def test_measurement_and_reset_under_a_condition() -> None:
    """Measurement, reset and initialisation happen only where the condition holds."""
    circuit = _coins(2)
    with circuit.if_test((circuit.clbits[0], 1)):
        circuit.reset(1)
        circuit.initialize([0, 1], [0])
        circuit.measure(1, 1)
    circuit.measure(0, 0)
    assert distribution(circuit) == pytest.approx({0: 1 / 4, 2: 1 / 4, 1: 1 / 2})


def test_an_else_block_looks_at_the_condition_once() -> None:
    """A block that changes the bit of its condition does not make the other block run."""
    circuit = QuantumCircuit(1, 2)
    circuit.h(0)
    circuit.measure(0, 0)
    with circuit.if_test((circuit.clbits[0], 1)) as otherwise:
        circuit.reset(0)
        circuit.measure(0, 0)
    with otherwise:
        circuit.x(0)
        circuit.measure(0, 1)
    assert distribution(circuit) == pytest.approx({0: 1 / 2, 2: 1 / 2})


def test_a_switch_looks_at_its_target_once() -> None:
    """A case that changes the target of its switch does not make a later case run."""
    circuit = _coins(1)
    with circuit.switch(circuit.clbits[0]) as case:
        with case(True):
            circuit.reset(0)
            circuit.measure(0, 0)
        with case(False):
            circuit.x(0)
            circuit.measure(0, 0)
    assert distribution(circuit) == pytest.approx({0: 1 / 2, 1: 1 / 2})


def test_run_time_variables() -> None:
    """A variable counts the rounds of a loop, and a later condition sees it."""
    circuit = QuantumCircuit(1, 2)
    count = circuit.add_var("count", expr.lift(0, types.Uint(8)))
    with circuit.while_loop(expr.less(count, 3)):
        circuit.x(0)
        circuit.store(count, expr.add(count, 1))
    circuit.measure(0, 0)
    with circuit.if_test(expr.equal(count, 3)):
        circuit.x(0)
    circuit.measure(0, 1)
    assert distribution(circuit) == pytest.approx({1: 1.0})


BINARY: dict[str, tuple[Callable[[Any, Any], Any], Callable[[int, int], int]]] = {
    "add": (expr.add, lambda a, b: (a + b) % 256),
    "sub": (expr.sub, lambda a, b: (a - b) % 256),
    "mul": (expr.mul, lambda a, b: a * b % 256),
    "div": (expr.div, lambda a, b: a // b),
    "and": (expr.bit_and, lambda a, b: a & b),
    "or": (expr.bit_or, lambda a, b: a | b),
    "xor": (expr.bit_xor, lambda a, b: a ^ b),
    "shift_left": (expr.shift_left, lambda a, b: (a << b) % 256),
    "shift_right": (expr.shift_right, lambda a, b: a >> b),
}


@pytest.mark.parametrize("name", sorted(BINARY))
def test_arithmetic(name: str) -> None:
    """Each operation on two variables has the value of its definition, stored bit by bit into a register."""
    qiskits, definition = BINARY[name]
    c = ClassicalRegister(8, "c")
    circuit = QuantumCircuit(QuantumRegister(1, "q"), c)
    a = circuit.add_var("a", expr.lift(201, types.Uint(8)))
    b = circuit.add_var("b", expr.lift(3, types.Uint(8)))
    circuit.store(c, qiskits(a, b))
    counts = BACKEND.run(circuit, shots=10).result().get_counts()
    assert counts == {f"{definition(201, 3):08b}": 10}


def test_floats_casts_and_bits_of_variables() -> None:
    """Floats compare as real numbers, casts cut, and one bit of a register can be stored."""
    c = ClassicalRegister(4, "c")
    circuit = QuantumCircuit(QuantumRegister(1, "q"), c)
    number = circuit.add_var("number", expr.lift(1.5))
    wide = circuit.add_var("wide", expr.lift(0b1011, types.Uint(100)))
    circuit.store(c, expr.cast(wide, types.Uint(4)))
    circuit.store(expr.index(c, 1), expr.less(expr.mul(number, 2.0), 2.5))
    assert BACKEND.run(circuit, shots=3).result().get_counts() == {"1001": 3}


def test_a_wide_condition() -> None:
    """A condition may look at a register of any number of bits."""
    c = ClassicalRegister(70, "c")
    circuit = QuantumCircuit(QuantumRegister(2, "q"), c)
    circuit.h(0)
    circuit.measure(0, 69)
    with circuit.if_test((c, 1 << 69)):
        circuit.x(1)
    circuit.measure(1, 0)
    counts = BACKEND.run(circuit, shots=400, seed_simulator=2).result().get_counts()
    assert set(counts) == {"0" * 70, "1" + "0" * 68 + "1"}


@pytest.mark.parametrize("kind", ["if", "while", "for", "box"])
def test_any_number_of_levels(kind: str) -> None:
    """Blocks in 100 blocks are translated and run where Python allows calls in 200 calls: a level needs none."""
    BACKEND.run(_levels(kind, 2), shots=20).result()  # whose modules are loaded before
    deep = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 200)
    try:
        counts = BACKEND.run(_levels(kind, 100), shots=20).result().get_counts()
    finally:
        sys.setrecursionlimit(deep)
    assert counts == {"1": 20}


def _levels(kind: str, levels: int) -> QuantumCircuit:
    """Return X and a measurement within so many blocks of a kind."""
    body = QuantumCircuit(1, 1)
    body.x(0)
    body.measure(0, 0)
    for _ in range(levels):
        outer = QuantumCircuit(1, 1)
        match kind:
            case "if":
                outer.if_test((outer.clbits[0], 0), body, [0], [0])
            case "while":
                outer.while_loop((outer.clbits[0], 0), body, [0], [0])
            case "for":
                outer.for_loop(range(1), None, body, [0], [0])
            case _:
                outer.box(body, [0], [0])
        body = outer
    return body


def test_a_loop_without_an_end_is_an_error() -> None:
    """A loop that goes round too often ends with an error that says how often it did."""
    circuit = QuantumCircuit(1, 1)
    with circuit.while_loop((circuit.clbits[0], 0)):
        circuit.measure(0, 0)
    with pytest.raises(errors.LoopError, match="max_loop_rounds=30 rounds, got 7 shots"):
        BACKEND.run(circuit, shots=7, max_loop_rounds=30).result()


def test_a_large_power_costs_as_much_as_one_matrix() -> None:
    """The millionth power of a gate is one operation, and its matrix is right."""
    circuit = QuantumCircuit(2)
    circuit.append(AnnotatedOperation(CPhaseGate(0.3), PowerModifier(1_000_000)), [0, 1])
    made = translate(circuit)
    assert len(made.instructions) == 1
    psi = reference.simulate(made, np.full(4, 0.5))
    assert np.allclose(psi, [0.5, 0.5, 0.5, 0.5 * np.exp(0.3e6j)], atol=1e-8)
