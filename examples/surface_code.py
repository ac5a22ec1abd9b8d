"""A memory of one logical qubit in the surface code of distance 3, which corrects itself while it runs.

Nine data qubits on a square; four checks of Z and four of X, measured one after another with one ancilla. After
each round the qubits that the checks accuse are flipped back within the circuit, by conditions on measured bits
(feed-forward). Before each round every data qubit is depolarized. The checks themselves are free of errors, so the
chance that a round fails is known: all 2⁹ sets of flipped qubits are tried.

    python examples/surface_code.py            # 4 s
    python examples/surface_code.py --small    # 2 strengths, 500 shots: 1 s

Times are seconds of processor time on two cores; it was not measured on a GPU.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np

from qsim_ex import Circuit, CircuitBuilder, Simulator, depolarizing

DATA, ANCILLA = 9, 9
Z_CHECKS = ((0, 1, 3, 4), (4, 5, 7, 8), (2, 5), (3, 6))
X_CHECKS = ((1, 2, 4, 5), (3, 4, 6, 7), (0, 1), (7, 8))
"""The data qubits of each check; qubit 3·row + column."""
LOGICAL_Z = (0, 1, 2)
"""The row of qubits whose parity is the logical bit; every Z check and X check leaves it alone."""
ROUNDS = 3


def syndrome(flipped: tuple[int, ...], checks: tuple[tuple[int, ...], ...]) -> int:
    """Return the checks that see an odd number of flipped qubits, as bits."""
    return sum((len(set(flipped) & set(check)) & 1) << k for k, check in enumerate(checks))


def decoder(checks: tuple[tuple[int, ...], ...]) -> dict[int, tuple[int, ...]]:
    """Return for each syndrome the fewest qubits that explain it."""
    best: dict[int, tuple[int, ...]] = {}
    for weight in range(DATA + 1):
        for flipped in combinations(range(DATA), weight):
            best.setdefault(syndrome(flipped, checks), flipped)
    return best


def check_and_correct(builder: CircuitBuilder, checks: tuple[tuple[int, ...], ...], kind: str, bits: range) -> None:
    """Measure the checks of a kind into bits, and flip back what they accuse."""
    for check, bit in zip(checks, bits, strict=True):
        if kind == "x":
            builder.gate("h", [ANCILLA])
        for wire in check:
            pair = [wire, ANCILLA] if kind == "z" else [ANCILLA, wire]
            builder.gate("cx", pair)
        if kind == "x":
            builder.gate("h", [ANCILLA])
        builder.measure([ANCILLA], [bit]).reset([ANCILLA])
    best = decoder(checks)
    for wire in range(DATA):
        accused = [found for found, flipped in best.items() if wire in flipped]
        with builder.condition(bits, accused):
            builder.gate("x" if kind == "z" else "z", [wire])


def memory(strength: float) -> Circuit:
    """Return the circuit: prepare a logical 0, keep it for some rounds, and measure the data qubits."""
    builder = CircuitBuilder(DATA + 1, 8 + DATA)
    check_and_correct(builder, X_CHECKS, "x", range(4, 8))  # |000000000⟩ becomes the logical 0
    for _ in range(ROUNDS):
        for wire in range(DATA):
            builder.channel(depolarizing(strength), [wire])
        check_and_correct(builder, Z_CHECKS, "z", range(4))
        check_and_correct(builder, X_CHECKS, "x", range(4, 8))
    return builder.measure(range(DATA), range(8, 8 + DATA)).build()


def failure(flip: float) -> float:
    """Return the chance that the logical bit is wrong after all rounds, if each qubit flips with a chance in each."""
    best, once = decoder(Z_CHECKS), 0.0
    for weight in range(DATA + 1):
        for flipped in combinations(range(DATA), weight):
            left = set(flipped) ^ set(best[syndrome(flipped, Z_CHECKS)])
            if len(left & set(LOGICAL_Z)) & 1:
                once += flip**weight * (1 - flip) ** (DATA - weight)
    return (1 - (1 - 2 * once) ** ROUNDS) / 2


def main() -> None:
    """Run the memory at several strengths of noise and compare with the known chances."""
    parser = argparse.ArgumentParser(description="a surface-code memory")
    parser.add_argument("--small", action="store_true", help="2 strengths, 500 shots each")
    small = parser.parse_args().small
    strengths, shots = ([0.03, 0.15], 500) if small else ([0.01, 0.02, 0.04, 0.08, 0.12, 0.16], 10_000)
    circuits = [memory(strength) for strength in strengths]
    operands = np.concatenate([circuit.operands for circuit in circuits])  # they differ in numbers alone
    results = Simulator().run_batch(circuits[0], operands, shots=shots, seeds=3)
    print(f"{'strength':>8} {'one qubit':>10} {'found':>8} {'known':>8}")
    for strength, result in zip(strengths, results, strict=True):
        data = result.bits()[:, 8:]
        wrong = (data[:, list(LOGICAL_Z)].sum(axis=1) & 1).mean()
        flip = strength / 2  # a depolarized qubit is replaced by noise, which is X or Y half of the time
        known, bare = failure(flip), (1 - (1 - 2 * flip) ** ROUNDS) / 2
        print(f"{strength:8.2f} {bare:10.4f} {wrong:8.4f} {known:8.4f}")
        assert abs(wrong - known) <= 5 * np.sqrt(known * (1 - known) / shots)


if __name__ == "__main__":
    main()
