"""Twelve kinds of runs on few wires, each of which finds the same numbers whenever it runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cirq
import numpy as np
from numpy.typing import NDArray
from qiskit import QuantumCircuit

from qsim_ex import BatchResult, Circuit, CircuitBuilder, PauliString, PauliSum, Simulator, reference
from qsim_ex.circuit.noise import channels
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_provider import QsimExBackend, SamplerV2

Found = NDArray[Any]
WIRES = 8
OBSERVABLES = [PauliSum((PauliString(0, 0b101, 0.5), PauliString(1, 0, 2.0)))]


def layers(builder: CircuitBuilder, depth: int = 4) -> CircuitBuilder:
    """Rotations of each wire and CX between them, so that states that are divided trade amplitudes."""
    wires = builder.num_qubits
    for layer in range(depth):
        for wire in range(wires):
            builder.gate("u", [wire], 0.1 + layer + wire, 0.3, 0.7 * wire)
        for wire in range(wires):
            builder.gate("cx", [wire, (wire + 1 + layer % (wires - 1)) % wires])
    return builder


def state(**options: Any) -> Callable[[Path], Found]:
    """Return a run to a state, a marginal, and an expectation value."""

    def run(_: Path) -> Found:
        circuit = layers(CircuitBuilder(WIRES)).build()
        with Simulator(device="cpu", precision="double", **options).state(circuit) as found:
            value = found.expectation(OBSERVABLES[0])
            return np.concatenate([found.to_numpy(), found.probabilities([0, 3]), [value]])

    return run


def noisy(depth: int = 2, wires: int = 3) -> Circuit:
    """Layers with channels and a measurement of all wires."""
    builder = layers(CircuitBuilder(wires, wires), depth)
    for wire in range(wires):
        builder.channel(channels.depolarizing(0.2), [wire]).channel(channels.amplitude_damping(0.1), [wire])
    return builder.measure(range(wires), range(wires)).build()


def bits_of(result: BatchResult) -> Found:
    """Return the shots of a run."""
    assert result.packed is not None
    return result.packed.ravel()


def batch(_: Path) -> Found:
    """Observables of several bindings."""
    circuit = layers(CircuitBuilder(4)).build()
    operands = np.stack([circuit.operands[0] * factor for factor in (1.0, 0.9, 0.5)])
    simulator = Simulator(device="cpu", precision="double", threads=2)
    return np.ravel(simulator.run_batch(circuit, operands, observables=OBSERVABLES).values)


def trajectories(_: Path) -> Found:
    """Shots of trajectories."""
    simulator = Simulator(device="cpu", threads=2)
    return bits_of(simulator.run_batch(noisy(), shots=300, seeds=5, trajectories=300))


def branches(_: Path) -> Found:
    """Shots of a circuit that measures on its way."""
    builder = layers(CircuitBuilder(WIRES, WIRES), 2).measure([0, 1], [0, 1]).gate("h", [0])
    circuit = builder.gate("cx", [0, 2]).measure(range(WIRES), range(WIRES)).build()
    return bits_of(Simulator(device="cpu", threads=1).run_batch(circuit, shots=200, seeds=2))


def density(_: Path) -> Found:
    """Shots of a density matrix."""
    simulator = Simulator(device="cpu", method="density_matrix", threads=2)
    return bits_of(simulator.run_batch(noisy(1, 4), shots=300, seeds=5))


def sampling(_: Path) -> Found:
    """Many shots of one state."""
    circuit = layers(CircuitBuilder(WIRES, WIRES)).measure(range(WIRES), range(WIRES)).build()
    return bits_of(Simulator(device="cpu", threads=2).run_batch(circuit, shots=100_000, seeds=1))


def through_cirq(_: Path) -> Found:
    """A state, and shots, through Cirq."""
    qubits = cirq.LineQubit.range(WIRES)
    circuit = cirq.Circuit(
        [cirq.ry(0.3 + k).on(qubit) for k, qubit in enumerate(qubits)],
        [cirq.CNOT(*qubits[k : k + 2]) for k in range(WIRES - 1)],
    )
    found = QsimExSimulator(device="cpu", seed=3).simulate(circuit).final_state_vector
    shots = QsimExSimulator(device="cpu", seed=3).run(circuit + cirq.measure(*qubits, key="m"), repetitions=200)
    return np.concatenate([np.asarray(found), shots.measurements["m"].ravel()])


def in_qiskit() -> QuantumCircuit:
    """A circuit of Qiskit."""
    circuit = QuantumCircuit(WIRES)
    for k in range(WIRES):
        circuit.ry(0.3 + k, k)
    for k in range(WIRES - 1):
        circuit.cx(k, k + 1)
    circuit.measure_all()
    return circuit


def through_qiskit(_: Path) -> Found:
    """Shots of a job of Qiskit."""
    job = QsimExBackend(device="cpu").run([in_qiskit(), in_qiskit()], shots=200, seed_simulator=7)
    counts = [sorted(one.items()) for one in job.result().get_counts()]
    return np.array([(int(bits, 2), count) for one in counts for bits, count in one])


def through_sampler(_: Path) -> Found:
    """Shots of a sampler of Qiskit."""
    return np.asarray(SamplerV2(seed=7).run([in_qiskit()], shots=200).result()[0].data.meas.array)


def checkpoints(folder: Path, **how: Any) -> Found:
    """A run over peers that writes a checkpoint at every boundary, and removes it at its end."""
    builder = layers(layers(CircuitBuilder(5, 5), 2).save("half"), 2).save("end")
    circuit = builder.measure(range(5), range(5)).build()
    simulator = Simulator(
        device="cpu", precision="double", virtual_peers=2, checkpoint=folder / "c", checkpoint_every=0, threads=1, **how
    )
    result = simulator.run_batch(circuit, shots=20, seeds=4)
    return np.concatenate([np.ravel(result.saved["half"]), np.ravel(result.saved["end"]), bits_of(result)])


RUNS: dict[str, Callable[[Path], Found]] = {
    "state": state(threads=2),
    "migrated": state(device_wires=5, threads=1),
    "peers": state(virtual_peers=4, threads=1),
    "peers over host": state(virtual_peers=2, device_wires=5, threads=1),
    "batch": batch,
    "trajectories": trajectories,
    "branches": branches,
    "density": density,
    "sampling": sampling,
    "cirq": through_cirq,
    "qiskit": through_qiskit,
    "sampler": through_sampler,
    "checkpoints": checkpoints,
}


def same(found: Found, wanted: Found) -> bool:
    """Return whether two runs found the same."""
    return found.shape == wanted.shape and bool(np.abs(found.astype(complex) - wanted).max() < 1e-6)


def check_the_definition() -> None:
    """Hold one state against its definition, as all others are held against their first run."""
    wanted = reference.simulate(layers(CircuitBuilder(WIRES)).build())
    assert np.abs(RUNS["state"](Path())[: 1 << WIRES] - wanted).max() < 1e-12
