"""The quantum volume of a noisy device: the largest square circuit whose heavy outcomes come in two thirds of the
shots.

For each size, random circuits of as many layers as qubits run on a device with depolarizing noise. An outcome is
heavy if its ideal probability is above the median. Without noise (1 + ln 2)/2 = 0.85 of all shots are heavy, and
with nothing but noise a half.

    python examples/quantum_volume.py            # 30 s
    python examples/quantum_volume.py --small    # up to 4 qubits, 10 circuits each: 2 s

Times are seconds of processor time on two cores; it was not measured on a GPU.
"""

from __future__ import annotations

import argparse

import numpy as np
from qiskit import transpile
from qiskit.circuit.library import quantum_volume

from qsim_ex import NoiseModel, depolarizing
from qsim_ex_provider import QsimExBackend, save_probabilities

SHOTS = 500
BASIS = ["rz", "sx", "cx"]


def device(cx_error: float) -> QsimExBackend:
    """Return a backend with noise after each CX, and a tenth of it after each SX."""
    model = NoiseModel().with_error("cx", depolarizing(cx_error, 2)).with_error("sx", depolarizing(cx_error / 10))
    return QsimExBackend(noise_model=model)


def heavy_outputs(qubits: int, circuits: int, noisy: QsimExBackend) -> np.ndarray:
    """Return the share of heavy outcomes for each of some random circuits."""
    square = [transpile(quantum_volume(qubits, seed=seed), basis_gates=BASIS) for seed in range(circuits)]
    saving = [circuit.copy() for circuit in square]
    for circuit in saving:
        save_probabilities(circuit)
    ideal = QsimExBackend().run(saving).result()
    counted = noisy.run([one.measure_all(inplace=False) for one in square], shots=SHOTS, seed_simulator=5).result()
    shares = []
    for number in range(circuits):
        probabilities = np.asarray(ideal.data(number)["probabilities"])
        heavy = probabilities > np.median(probabilities)
        found = sum(times for bits, times in counted.get_counts(number).items() if heavy[int(bits, 2)])
        shares.append(found / SHOTS)
    return np.array(shares)


def main() -> None:
    """Find the quantum volume."""
    parser = argparse.ArgumentParser(description="the quantum volume of a noisy device")
    parser.add_argument("--small", action="store_true", help="up to 4 qubits, 10 circuits each")
    parser.add_argument(
        "--cx-error", type=float, default=0.01, metavar="P", help="depolarizing strength of a CX (0.01)"
    )
    given = parser.parse_args()
    largest, circuits = (4, 10) if given.small else (8, 100)
    noisy, volume, passed = device(given.cx_error), 1, True
    for qubits in range(2, largest + 1):
        shares = heavy_outputs(qubits, circuits, noisy)
        lower = shares.mean() - 2 * shares.std() / np.sqrt(circuits)
        passed = passed and lower > 2 / 3  # a larger size counts only if all smaller ones have passed
        volume = 2**qubits if passed else volume
        print(f"{qubits} qubits: {shares.mean():.3f} heavy, at least {lower:.3f} with two standard errors")
    print(f"quantum volume: {volume}")
    clean = heavy_outputs(largest, circuits, QsimExBackend()).mean()
    print(f"without noise: {clean:.3f}, expected about 0.85")
    assert abs(clean - (1 + np.log(2)) / 2) < 0.08
    assert shares.mean() < clean


if __name__ == "__main__":
    main()
