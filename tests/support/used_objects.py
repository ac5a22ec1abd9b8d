"""One object of every entry point that has been used, and a question for each with an answer that stays the same."""

from __future__ import annotations

from typing import Any

import cirq
import numpy as np
from qiskit import QuantumCircuit
from qiskit.quantum_info import SparsePauliOp

from qsim_ex import CircuitBuilder, Simulator
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_provider import EstimatorV2, QsimExBackend, QsimExProvider, SamplerV2, save_statevector

QUBITS = cirq.LineQubit.range(3)
BELL = cirq.Circuit(cirq.H(QUBITS[0]), cirq.CNOT(*QUBITS[:2]), cirq.measure(*QUBITS, key="m"))
ENGINE = CircuitBuilder(3, 3).gate("h", [0]).gate("cx", [0, 1]).measure(range(3), range(3)).build()
COIN = CircuitBuilder(1, 2).gate("h", [0]).measure([0], [0]).gate("h", [0]).measure([0], [1]).build()


def bell() -> QuantumCircuit:
    """Two qubits that agree, measured."""
    circuit = QuantumCircuit(2)
    circuit.h(0)
    circuit.cx(0, 1)
    return circuit


def measured() -> QuantumCircuit:
    """The same with its state saved and measured."""
    circuit = save_statevector(bell())
    circuit.measure_all()
    return circuit


def ask(name: str, thing: Any) -> Any:
    """Use an object as its users do; the answer is the same however often it is asked, and goes through JSON."""
    match name:
        case "backend" | "backend of a provider":
            return dict(thing.run(measured(), shots=20, seed_simulator=3).result().get_counts())
        case "provider":
            return dict(thing.get_backend().run(measured(), shots=20, seed_simulator=3).result().get_counts())
        case "job":
            return [thing.status().name, dict(thing.result().get_counts())]
        case "result of Qiskit":
            return [dict(thing.get_counts()), np.abs(thing.get_statevector().data).round(6).tolist()]
        case "sampler":
            return thing.run([measured_alone()], shots=20).result()[0].data.meas.get_counts()
        case "estimator":
            return float(thing.run([(bell(), SparsePauliOp("ZZ"))]).result()[0].data.evs)
        case "job of a sampler":
            return thing.result()[0].data.meas.get_counts()
        case "simulator":
            return {str(value): count for value, count in thing.run(ENGINE, shots=20, seed=3).counts().items()}
        case "result":
            return {str(value): count for value, count in thing.counts().items()}
        case "batched result":
            return thing.packed.tolist()
        case "simulator of Cirq":
            return np.abs(thing.simulate(BELL[:2]).final_state_vector).round(6).tolist()
        case "result of Cirq":
            return {str(value): count for value, count in thing.histogram(key="m").items()}
        case _:
            raise ValueError(name)


def measured_alone() -> QuantumCircuit:
    """Two qubits that agree, measured, with nothing saved."""
    circuit = bell()
    circuit.measure_all()
    return circuit


def used() -> dict[str, Any]:
    """One object of every kind, after it was used."""
    backend, provider = QsimExBackend(device="cpu"), QsimExProvider()
    job = backend.run(measured(), shots=20, seed_simulator=3)
    sampler, simulator = SamplerV2(seed=3), Simulator(device="cpu", threads=2)
    cirqs = QsimExSimulator(seed=3, device="cpu")
    things: dict[str, Any] = {
        "backend": backend,
        "provider": provider,
        "backend of a provider": provider.get_backend(),
        "job": job,
        "result of Qiskit": job.result(),
        "sampler": sampler,
        "estimator": EstimatorV2(),
        "job of a sampler": sampler.run([measured_alone()], shots=20),
        "simulator": simulator,
        "result": simulator.run(ENGINE, shots=20, seed=3),
        "batched result": simulator.run_batch(COIN, shots=20, seeds=[3]),
        "simulator of Cirq": cirqs,
        "result of Cirq": cirqs.run(BELL, repetitions=20),
    }
    for name, thing in things.items():
        ask(name, thing)
    return things
