"""The usual mistakes of users, and the text of the error that each gets: those of tests/data/usual_mistakes.txt.

Each has its name, the code, and the error, in which "…" stands for any text.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import cirq
import numpy as np
import pytest
import sympy
from qiskit.circuit import Parameter, QuantumCircuit
from qiskit.exceptions import QiskitError
from qiskit.quantum_info import SparsePauliOp
from support.gpus import gpu_missing

import qsim_ex
import qsim_ex_cirq
import qsim_ex_provider
from qsim_ex import (
    CircuitBuilder,
    Simulator,
    StateVector,
)
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_provider import EstimatorV2, QsimExBackend, SamplerV2

CPU, BACKEND, CIRQ = Simulator(device="cpu"), QsimExBackend(device="cpu"), QsimExSimulator(device="cpu")
SAMPLER, ESTIMATOR = SamplerV2(device="cpu"), EstimatorV2(device="cpu")
A, B = cirq.LineQubit.range(2)
OF_CIRQ = cirq.Circuit(cirq.H(A), cirq.CNOT(A, B))
BUILDER = CircuitBuilder(2, 2).gate("h", [0]).gate("cx", [0, 1]).measure([0, 1], [0, 1])
OF_ENGINE = BUILDER.build()
TURNED = cirq.Circuit(cirq.rx(sympy.Symbol("t"))(A), cirq.measure(A))


def of_qiskit(num_qubits: int = 2, measured: bool = True) -> QuantumCircuit:
    """Entangled qubits that are no stabilizer state, measured or not; the circuit is called "given"."""
    circuit = QuantumCircuit(num_qubits, name="given")
    circuit.ry(0.3, 0)
    for qubit in range(1, num_qubits):
        circuit.cx(qubit - 1, qubit)
    if measured:
        circuit.measure_all()
    return circuit


def unbound() -> QuantumCircuit:
    """A circuit with a parameter, measured."""
    circuit = QuantumCircuit(1, name="given")
    circuit.rx(Parameter("theta"), 0)
    circuit.measure_all()
    return circuit


def closed() -> StateVector:
    """A state vector whose memory was freed."""
    state = StateVector(1, device="cpu")
    state.close()
    return state


NAMES: dict[str, object] = {
    **{name: getattr(qsim_ex, name) for name in qsim_ex.__all__},
    **{name: getattr(qsim_ex_provider, name) for name in qsim_ex_provider.__all__},
    **{name: getattr(qsim_ex_cirq, name) for name in qsim_ex_cirq.__all__},
    **{one.__name__: one for one in (cirq, qsim_ex, qsim_ex_cirq, qsim_ex_provider, SparsePauliOp)},
    **{one.__name__: one for one in (of_qiskit, unbound, closed)},
    "np": np,
    "CPU": CPU,
    "BACKEND": BACKEND,
    "CIRQ": CIRQ,
    "SAMPLER": SAMPLER,
    "ESTIMATOR": ESTIMATOR,
    "A": A,
    "OF_CIRQ": OF_CIRQ,
    "BUILDER": BUILDER,
    "OF_ENGINE": OF_ENGINE,
    "TURNED": TURNED,
}
"""The names that the code of a mistake may use."""


class Mistake(NamedTuple):
    """A mistake: what it is, its code, and the error's class and text."""

    name: str
    code: str
    kind: str
    text: str


def mistakes() -> list[Mistake]:
    """Return all of the file."""
    file = Path(__file__).parents[1] / "data" / "usual_mistakes.txt"
    found = []
    for part in file.read_text(encoding="utf-8").split("\n\n"):
        name, code, error = part.strip().splitlines()
        kind, _, text = error.partition(": ")
        found.append(Mistake(name.removeprefix("# "), code, kind, text))
    return found


@pytest.mark.parametrize("mistake", mistakes(), ids=lambda one: one.name)
def test_a_usual_mistake_gets_this_text(mistake: Mistake) -> None:
    """The error is of its class, and its text is this one."""
    if "no GPU found" in mistake.text and not gpu_missing():
        pytest.skip("there is a GPU")
    with pytest.raises(Exception) as caught:  # noqa: PT011  (the next lines say which)
        eval(mistake.code, dict(NAMES))
    error = caught.value
    said = error.message if isinstance(error, QiskitError) else str(error)
    assert type(error).__name__ == mistake.kind
    assert re.fullmatch(re.escape(mistake.text).replace("…", ".*"), said), said


def test_a_sampler_without_measurements_warns() -> None:
    """A PUB that measures nothing is no error, and a warning says what to add."""
    with pytest.warns(UserWarning, match=r"'given' has no classical register, .* Add measure_all\(\)"):
        SAMPLER.run([of_qiskit(measured=False)])


def test_no_error_names_an_inner_module() -> None:
    """What is raised names public modules alone: no text in a `raise` has a path such as qsim_ex.run.inputs."""
    found = []
    for package in (qsim_ex, qsim_ex_provider, qsim_ex_cirq):
        for file in Path(str(package.__file__)).parent.rglob("*.py"):
            nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            parts = (part for node in nodes if isinstance(node, ast.Raise) for part in ast.walk(node))
            texts = (str(part.value) for part in parts if isinstance(part, ast.Constant))
            found += [text for text in texts if re.search(r"\bqsim_ex\w*\.(?!runtime\b)[a-z_]+\b", text)]
    assert found == []
