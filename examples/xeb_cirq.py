"""Cross-entropy benchmarking in Cirq: how fast does the fidelity of a noisy random circuit fall?

Random circuits on a grid of qubits run with depolarizing noise after each two-qubit gate. The linear cross entropy
F = 2ⁿ·⟨p⟩ − 1 compares the shots with the ideal probabilities p. Without noise it is 1; each two-qubit gate should
take the share that its noise has, so F falls as a power of the number of gates. In shallow circuits it is a little
larger, because the last errors are seen only in part.

    python examples/xeb_cirq.py            # 40 s
    python examples/xeb_cirq.py --small    # a 2 × 4 grid: 3 s

Times are seconds of processor time on two cores; it was not measured on a GPU.
"""

from __future__ import annotations

import argparse

import cirq
import numpy as np
from cirq.experiments import random_rotations_between_grid_interaction_layers_circuit as random_circuit

from qsim_ex_cirq import QsimExSimulator

ERROR = 0.005
"""The chance of a Pauli error after a two-qubit gate, on each of its qubits."""


def noisy(circuit: cirq.Circuit) -> cirq.Circuit:
    """Return the circuit with noise after each two-qubit gate."""
    made = cirq.Circuit()
    for moment in circuit:
        pairs = [operation for operation in moment if len(operation.qubits) == 2]
        made.append(moment)
        made.append(cirq.depolarize(ERROR).on_each(qubit for pair in pairs for qubit in pair.qubits))
    return made


def cross_entropy(circuit: cirq.Circuit, qubits: list[cirq.GridQubit], shots: int) -> float:
    """Return the linear cross entropy of a noisy run, divided by that of the ideal distribution."""
    ideal = np.abs(QsimExSimulator().simulate(circuit, qubit_order=qubits).final_state_vector) ** 2
    measured = noisy(circuit) + cirq.measure(*qubits, key="m")
    bits = QsimExSimulator(seed=11).run(measured, repetitions=shots).measurements["m"]
    found = ideal[bits @ (1 << np.arange(len(qubits))[::-1])].mean()
    return (ideal.size * found - 1) / (ideal.size * (ideal**2).sum() - 1)


def main() -> None:
    """Measure the cross entropy at several depths and fit the fidelity of a gate."""
    parser = argparse.ArgumentParser(description="cross-entropy benchmarking in Cirq")
    parser.add_argument("--small", action="store_true", help="a 2 × 4 grid, 3 depths, few shots")
    small = parser.parse_args().small
    rows, columns, depths, circuits, shots = (
        (2, 4, (4, 8, 16), 4, 500) if small else (4, 4, (4, 8, 12, 16, 20), 10, 1000)
    )
    qubits = cirq.GridQubit.rect(rows, columns)
    gates, fidelities = [], []
    for depth in depths:
        made = [random_circuit(qubits, depth, seed=seed) for seed in range(circuits)]
        pairs = sum(len(operation.qubits) == 2 for operation in made[0].all_operations())
        fidelity = float(np.mean([cross_entropy(circuit, qubits, shots) for circuit in made]))
        expected = (1 - ERROR) ** (2 * pairs)
        print(f"depth {depth:2}: {pairs:3} two-qubit gates, fidelity {fidelity:.3f}, expected {expected:.3f}")
        gates.append(pairs)
        fidelities.append(fidelity)
    slope = float(np.polyfit(gates, np.log(np.clip(fidelities, 1e-3, None)), 1)[0])
    print(f"fidelity of a two-qubit gate: {np.exp(slope):.4f}, expected {(1 - ERROR) ** 2:.4f}")
    assert abs(np.exp(slope) - (1 - ERROR) ** 2) < (0.008 if small else 0.003)


if __name__ == "__main__":
    main()
