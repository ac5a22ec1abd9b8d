"""An explanation is its text, and a table in a notebook."""

from __future__ import annotations

from io import StringIO

import cirq
import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter
from qiskit.circuit import Parameter, QuantumCircuit
from rich.console import Console

from qsim_ex import CircuitBuilder, NoiseModel, Simulator, depolarizing
from qsim_ex.errors import OptionError, ParameterError
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_provider import QsimExBackend

TOLD = Simulator(device="cpu").explain(
    CircuitBuilder(3).gate("h", [0]).gate("cx", [0, 1]).unitary(np.eye(4)[::-1], [1, 2], name="<x>").build()
)


def test_the_text_is_the_explanation() -> None:
    """It is a `str` that a terminal shows line by line."""
    assert isinstance(TOLD, str)
    assert repr(TOLD) == str(TOLD)
    assert "  1 sweep   tile 0-2" in TOLD


@pytest.mark.parametrize("divided", [{}, {"max_memory": "1 KiB"}])
def test_each_sweep_lists_its_register_blocks(divided: dict) -> None:
    """An explanation has a line for every register block, also of a state in pieces."""
    simulator = Simulator(device="gpu", **({"max_memory": "1 GiB"} | divided))
    circuit = CircuitBuilder(10).gate("h", [0])
    for wire in range(9):
        circuit.gate("cx", [wire, wire + 1]).gate("rx", [wire], 0.3)
    told = str(simulator.explain(circuit.build())).splitlines()
    listed = [line for line in told if line.lstrip().startswith("registers ")]
    assert len(listed) == simulator.summary(circuit.build()).register_blocks > 1


def test_a_notebook_shows_a_table() -> None:
    """A step is a row with its number and its kind; labels of the user's are no markup."""
    shown, _ = DisplayFormatter().format(TOLD)
    assert shown["text/plain"] == TOLD
    assert "<td>1</td><td>sweep</td>" in shown["text/html"]
    assert shown["text/html"].count("<tr>") == len(TOLD.splitlines())
    assert "&lt;x&gt;" in shown["text/html"]
    assert "<x>" not in shown["text/html"]


def test_rich_shows_a_table() -> None:
    """What rich prints has the words of the text."""
    console = Console(width=200, record=True, file=StringIO())
    console.print(TOLD)
    assert TOLD.split() == console.export_text().split()


def bell(name: str) -> QuantumCircuit:
    """Two qubits, entangled, measured."""
    circuit = QuantumCircuit(2, name=name)
    circuit.h(0)
    circuit.cx(0, 1)
    circuit.measure_all()
    return circuit


def test_a_backend_explains_a_circuit() -> None:
    """The plan is the engine's, with the noise of the backend; options of this call count."""
    noisy = QsimExBackend(device="cpu", noise_model=NoiseModel().with_error("cx", depolarizing(0.1, 2)))
    told = noisy.explain(bell("bell"), precision="single")
    assert told.startswith("cpu: ")
    assert "complex64" in told.splitlines()[0]
    assert "channel" in told
    assert "channel" not in noisy.explain(bell("bell"), noise_model=None)
    with pytest.raises(OptionError, match="Did you mean 'device'"):
        noisy.explain(bell("bell"), devise="cpu")  # type: ignore[call-arg]


def test_a_backend_explains_a_list() -> None:
    """Circuits that run together share a plan, under their names."""
    other = QuantumCircuit(3, name="other")
    other.h(2)
    other.measure_all()
    told = QsimExBackend(device="cpu").explain([bell("a"), other, bell("b")])
    assert [line for line in told.splitlines() if line.startswith("circuit")] == [
        "circuits 0 ('a'), 2 ('b'), 2 bindings that run together:",
        "circuit 1 ('other'):",
    ]


def test_what_cannot_run_cannot_be_explained() -> None:
    """Unbound parameters are named, as by a run."""
    circuit = QuantumCircuit(1, 1)
    circuit.rx(Parameter("theta"), 0)
    with pytest.raises(ParameterError, match="theta"):
        QsimExBackend(device="cpu").explain(circuit)


def test_cirqs_simulator_explains_a_circuit() -> None:
    """The plan is the engine's, with the simulator's noise."""
    a, b = cirq.LineQubit.range(2)
    circuit = cirq.Circuit(cirq.H(a), cirq.CNOT(a, b), cirq.measure(a, b))
    assert "1 sweep" in QsimExSimulator(device="cpu").explain(circuit)
    assert "channel" in QsimExSimulator(device="cpu", noise=cirq.depolarize(0.1)).explain(circuit)
