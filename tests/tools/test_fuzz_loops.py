"""Qiskit's dynamic circuits: a slice of the campaign, and its oracle, which follows every way through a circuit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.planted import on_the_cpu

from tools.fuzz.kinds import drawn
from tools.fuzz.run import outcome_of

pytest.importorskip("qiskit")

from qiskit.circuit import QuantumCircuit, QuantumRegister
from qiskit.circuit.classical import expr, types

KIND = ("qiskit-loops",)
WORDS = (
    "while_loop", "for_loop", "switch", "box", "break_loop", "continue_loop", "otherwise", "add_var", "Var.new",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _on_the_cpu() -> Iterator[None]:
    with on_the_cpu():
        yield


def test_dynamic_circuits_are_what_their_definition_says() -> None:
    """Blocks, loops and variables, as they are and transpiled, have the distribution of every way through them."""
    cases = [drawn(seed, KIND) for seed in range(1550, 1580)]
    text = "\n".join(case.source for case in cases)
    for word in (
        "while_loop",
        "for_loop",
        "switch",
        "box",
        "break_loop",
        "continue_loop",
        "otherwise",
        "add_var",
        "Var.new",
    ):
        assert word in text
    assert {case.ask.get("level") for case in cases} >= {None, 0, 1, 2}
    assert [outcome.trouble for case in cases if (outcome := outcome_of(case)).trouble] == []


def test_the_ways_through_a_loop() -> None:
    """A coin is thrown until it is 1, three times at most: two bits count the throws, the last is the coin."""
    from tools.fuzz.qiskit_ways import distribution_of

    circuit = QuantumCircuit(QuantumRegister(1, "q"))
    circuit.add_bits([*QuantumCircuit(0, 3).clbits])
    count = circuit.add_var("count", expr.lift(0, types.Uint(2)))
    coin, low, high = circuit.clbits
    with circuit.while_loop((coin, 0)):
        circuit.h(0)
        circuit.measure(0, coin)
        circuit.store(count, expr.add(count, expr.lift(1, types.Uint(2))))
        with circuit.if_test(expr.equal(count, 3)):
            circuit.break_loop()
        circuit.reset(0)
    circuit.store(low, expr.index(count, 0))
    circuit.store(high, expr.index(count, 1))
    expected = {0b011: 1 / 2, 0b101: 1 / 4, 0b111: 1 / 8, 0b110: 1 / 8}
    assert distribution_of(circuit) == pytest.approx(expected)
