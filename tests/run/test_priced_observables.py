"""`explain` says what observables cost: their strings, the passes over the state, and the bytes that these read."""

from __future__ import annotations

import pytest

from qsim_ex import CircuitBuilder, PauliString, PauliSum, Simulator
from qsim_ex.devices.cpu import sums

WIRES = 20
FIELD = PauliSum(tuple(PauliString(1 << wire, 0) for wire in range(WIRES)))
ISING = PauliSum(tuple(PauliString(0, 3 << wire) for wire in range(WIRES - 1)))


def entangled() -> CircuitBuilder:
    """A circuit of many wires that are one part."""
    builder = CircuitBuilder(WIRES)
    for wire in range(1, WIRES):
        builder.gate("ry", [wire], 0.3).gate("cx", [wire - 1, wire])
    return builder


def test_a_saved_observable_has_its_price() -> None:
    """The X terms of 20 wires take two passes on a CPU, which shares them, and a pass for each X-part on a GPU."""
    circuit = entangled().save("field", what="expectation_value", observable=FIELD).build()
    on_cpu = Simulator(device="cpu").explain(circuit)
    assert "saved as 'field': 20 Pauli strings in 2 passes over the state, 32 MiB read" in on_cpu
    on_gpu = Simulator(device="gpu", precision="single", max_memory="8 GiB").explain(circuit)
    assert "20 Pauli strings in 20 passes over the state, 160 MiB read" in on_gpu


def test_observables_that_are_saved_one_after_the_other_share_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One request reads both, each has the value that it has alone, and `explain` prices them together."""
    circuit = entangled()
    circuit.save("field", what="expectation_value", observable=FIELD)
    circuit.save("ising", what="expectation_value", observable=ISING)
    circuit.gate("rx", [0], 0.2).save("later", what="expectation_value", observable=ISING)
    made, calls = circuit.build(), []
    one = Simulator(device="cpu")
    paulis = sums.paulis
    monkeypatch.setattr(sums, "paulis", lambda *given: calls.append(len(given[2])) or paulis(*given))
    saved = one.run(made).saved
    assert len(calls) == 2
    state = one.state(entangled().build())
    assert saved["field"] == pytest.approx(state.expectation(FIELD), abs=1e-12)
    assert saved["ising"] == pytest.approx(state.expectation(ISING), abs=1e-12)
    told = one.explain(made)
    assert "saved as 'field': with the 1 after it 39 Pauli strings in 2 passes over the state" in told
    assert "saved as 'ising' in the same passes" in told
    assert "saved as 'later': 19 Pauli strings in 1 pass" in told


@pytest.mark.parametrize(
    ("observables", "cost"), [([ISING], "19 Pauli strings in 1 pass"), ([FIELD, ISING], "39 Pauli strings in 2")]
)
def test_observables_of_a_batch_have_their_price(observables: list[PauliSum], cost: str) -> None:
    """Observables share passes, and the strings of all of them are counted once."""
    told = Simulator(device="cpu").explain(entangled().build(), observables=observables)
    assert told.splitlines()[-1].startswith(f"observables at the end: {cost}")
