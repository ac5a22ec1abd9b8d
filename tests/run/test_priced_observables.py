"""`explain` says what observables cost: their strings, the passes over the state, and the bytes that these read."""

from __future__ import annotations

import pytest

from qsim_ex import CircuitBuilder, PauliString, PauliSum, Simulator

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


@pytest.mark.parametrize(
    ("sums", "cost"), [([ISING], "19 Pauli strings in 1 pass"), ([FIELD, ISING], "39 Pauli strings in 2")]
)
def test_observables_of_a_batch_have_their_price(sums: list[PauliSum], cost: str) -> None:
    """Observables share passes, and the strings of all of them are counted once."""
    told = Simulator(device="cpu").explain(entangled().build(), observables=sums)
    assert told.splitlines()[-1].startswith(f"observables at the end: {cost}")
