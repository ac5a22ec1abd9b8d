"""Feed-forward and loops: ``python -m benchmarks.feed_forward [--aer-shots 50 200] [--out FILE.json]``.

Three circuits of Qiskit, on our backend and on Aer: a chain of teleportations, where a state hops from wire to wire by
Bell pairs and corrections; a repetition code, whose syndromes are measured and corrected in every round; and a gate
that is repeated until it succeeds, a `while` loop. 10,000 shots each.

Aer runs every shot of the first two from the beginning, which takes minutes: --aer-shots tells its time from two shares
of them (`benchmarks.shares`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks import shares, turns
from benchmarks.means import Means
from benchmarks.noise import aer_bits, succeeded
from benchmarks.run import set_threads
from benchmarks.shares import Shares
from benchmarks.turns import Contestant, Goal, Times

WIRES, ROUNDS, SHOTS = 12, 20, 10_000


@dataclass(frozen=True)
class Case:
    """A circuit: its name, how it is made from a seed, and how much faster than Aer it should be."""

    name: str
    make: Callable[[int], Any]
    times: float
    slow: bool = True

    def goals(self, device: str, shots: int) -> tuple[Goal, ...]:
        """What is asked for, if this is the case that it is asked for."""
        return (Times("aer", self.times),) if device == "cpu" and shots == SHOTS else ()


def teleportation(seed: int) -> Any:
    """A state hops from wire to wire, while the others are entangled with it."""
    from qiskit import ClassicalRegister, QuantumCircuit

    rng, kept = np.random.default_rng(seed), WIRES - 3
    circuit = QuantumCircuit(WIRES, 2)
    for wire in range(kept + 1):
        circuit.ry(rng.uniform(0, 3), wire)
    for wire in range(kept):
        circuit.cx(wire, wire + 1)
    source, one, other = kept, kept + 1, kept + 2
    for _ in range(ROUNDS):
        circuit.reset([one, other])
        circuit.h(one)
        circuit.cx(one, other)
        circuit.cx(source, one)
        circuit.h(source)
        circuit.measure([source, one], [0, 1])
        with circuit.if_test((circuit.clbits[1], 1)):
            circuit.x(other)
        with circuit.if_test((circuit.clbits[0], 1)):
            circuit.z(other)
        source, one, other = other, source, one
    circuit.add_register(ClassicalRegister(WIRES, "last"))
    circuit.measure(range(WIRES), range(2, 2 + WIRES))
    return circuit


def repetition(seed: int) -> Any:
    """Every round turns the data a little, measures the parities of neighbours, and flips what they point at."""
    from qiskit import ClassicalRegister, QuantumCircuit

    rng, data = np.random.default_rng(seed), WIRES // 2
    parities = range(data, WIRES - 1)
    circuit = QuantumCircuit(WIRES, len(parities))
    angles = rng.uniform(0.1, 0.5, (ROUNDS, data))
    for turn in range(ROUNDS):
        for wire in range(data):
            circuit.rx(angles[turn, wire], wire)
        for k, wire in enumerate(parities):
            circuit.cx(k, wire)
            circuit.cx(k + 1, wire)
            circuit.measure(wire, k)
            with circuit.if_test((circuit.clbits[k], 1)):
                circuit.x(wire)
        for k in range(len(parities)):
            with circuit.if_test((circuit.clbits[k], 1)):
                circuit.x(k + 1)
    circuit.add_register(ClassicalRegister(WIRES, "last"))
    circuit.measure(range(WIRES), range(len(parities), len(parities) + WIRES))
    return circuit


def until_success(seed: int) -> Any:
    """Two ancillas are measured until they say that the gate on the third wire has succeeded."""
    from qiskit import QuantumCircuit

    angle = np.random.default_rng(seed).uniform(0, 3)
    circuit = QuantumCircuit(3, 3)
    circuit.ry(angle, 2)
    circuit.x(0)
    circuit.measure(0, 0)
    with circuit.while_loop((circuit.clbits[0], 1)):
        circuit.reset([0, 1])
        circuit.h([0, 1])
        circuit.ccx(0, 1, 2)
        circuit.s(2)
        circuit.ccx(0, 1, 2)
        circuit.h([0, 1])
        circuit.measure([0, 1], [0, 1])
    circuit.measure(2, 2)
    return circuit


CASES = (
    Case("teleportation", teleportation, 3),
    Case("repetition code", repetition, 3),
    Case("until success", until_success, 1.5, slow=False),
)


def ours(case: Case, device: str, threads: int, shots: int) -> list[Contestant]:
    """One call of the backend, with its translation."""
    from qsim_ex_provider import QsimExBackend

    backend = QsimExBackend(device=device, threads=threads)

    def prepare(turn: int) -> Callable[[], Any]:
        circuit = case.make(turn)
        return lambda: succeeded(backend.run(circuit, shots=shots, seed_simulator=turn, memory=True).result())

    return [Contestant("ours", "default", prepare, partial(_read, case))]


def aer(case: Case, threads: int, shots: int | Shares) -> list[Contestant]:
    """One call of Aer's backend, timed by its own clock."""
    from qiskit_aer import AerSimulator

    simulator = AerSimulator(method="statevector", max_parallel_threads=threads)

    def prepare(turn: int, count: int) -> Callable[[], Any]:
        circuit = case.make(turn)
        return lambda: succeeded(simulator.run(circuit, shots=count, seed_simulator=turn, memory=True).result())

    def seconds(result: Any) -> float:
        return float(result.results[0].time_taken)

    return [Contestant.of_units("aer", "default", prepare, partial(_read, case), shots, seconds)]


def _read(case: Case, result: Any) -> Means:
    return Means.of_bits(aer_bits(result, case.make(0).num_clbits))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write; see `turns.finish` for what is returned."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.feed_forward",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    turns.common(parser, repeat=3)
    parser.add_argument("--shots", type=int, default=SHOTS)
    shares.option(parser, "--aer-shots", "shots of Aer for the two long circuits")
    given = parser.parse_args(argv)
    set_threads(given.threads)
    made = turns.document("feed_forward", given)
    for case in CASES:
        units = shares.asked(given.aer_shots, given.shots) if case.slow else given.shots
        peers = partial(aer, case, given.threads, units)
        makers = {"ours": partial(ours, case, given.device, given.threads, given.shots), "aer": peers}
        contestants = turns.gathered(makers, made["missing"])
        what = f"{case.name}, {case.make(0).num_qubits} qubits, {given.shots} shots"
        turns.add(made, turns.row(what, contestants, case.goals(given.device, given.shots), given.repeat), given.out)
    return turns.finish(made)


if __name__ == "__main__":
    sys.exit(main())
