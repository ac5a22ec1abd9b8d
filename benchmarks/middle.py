"""Measurements in the middle of a circuit: ``python -m benchmarks.middle [--aer-shots 10 40] [--out FILE.json]``.

20 qubits in single precision. A layer is a random gate on every wire, then CZ on neighbours, every other pair, and then
a measurement of one wire, which later layers use; ten layers, one more without a measurement, and a measurement of all
wires. 10,000 shots, 30 bits each. Building circuits is not timed; Aer is timed by its own clock.

Without branching Aer runs every shot from the beginning, which takes an hour and more: --aer-shots tells its time from
two shares of them (`benchmarks.shares`). With branching, where shots with equal results share a state, as ours do, time
does not grow evenly with the number of shots, so Aer always runs all of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import shares, turns
from benchmarks.gates import Gate, random_u
from benchmarks.means import Means
from benchmarks.noise import aer_bits, aer_variants, succeeded
from benchmarks.run import set_threads
from benchmarks.shares import Shares
from benchmarks.turns import Contestant, Goal, Times

GOALS: dict[str, tuple[Goal, ...]] = {"cpu": (Times("aer", 5),)}
"""By device; for the sizes that `Case` has of itself."""


@dataclass(frozen=True)
class Case:
    """What is run: qubits, measurements in the middle, shots."""

    n: int = 20
    measurements: int = 10
    shots: int = 10_000

    @property
    def bits(self) -> int:
        """Classical bits: those of the middle first, then one for each wire."""
        return self.measurements + self.n

    def measured(self, layer: int) -> int:
        """The wire that is measured after a layer: all over the register, none twice before all had their turn."""
        return layer * 7 % self.n

    def layers(self, seed: int) -> list[list[Gate]]:
        """The gates between measurements; the seed gives the angles."""
        rng = np.random.default_rng(seed)
        return [
            [random_u(rng, wire) for wire in range(self.n)]
            + [Gate("cz", (wire, wire + 1)) for wire in range(layer % 2, self.n - 1, 2)]
            for layer in range(self.measurements + 1)
        ]

    def goals(self, device: str) -> tuple[Goal, ...]:
        """What is asked for, if this is the case that it is asked for."""
        return GOALS.get(device, ()) if self == Case() else ()


def ours(case: Case, device: str, threads: int) -> list[Contestant]:
    """One call of `Simulator.run`."""
    from qsim_ex import CircuitBuilder, Options, Simulator

    simulator = Simulator(Options(device=device, precision="single", threads=threads))  # type: ignore[arg-type]

    def prepare(turn: int) -> Callable[[], NDArray[np.uint8]]:
        builder = CircuitBuilder(case.n, case.bits)
        for layer, gates in enumerate(case.layers(turn)):
            for gate in gates:
                builder.gate(gate.name, gate.wires, *gate.params)
            if layer < case.measurements:
                builder.measure([case.measured(layer)], [layer])
        made = builder.measure(range(case.n), range(case.measurements, case.bits)).build()
        return lambda: simulator.run(made, case.shots, seed=turn).packed

    def read(packed: NDArray[np.uint8]) -> Means:
        return Means.of_bits(np.unpackbits(packed, axis=-1, bitorder="little", count=case.bits))

    return [Contestant("ours", "default", prepare, read)]


def aer(case: Case, threads: int, shots: int | Shares, *, branching: bool = True) -> list[Contestant]:
    """Aer with its defaults, without fusion, and with branching."""
    from qiskit.circuit import QuantumCircuit
    from qiskit_aer import AerSimulator

    from benchmarks.peers.aer_peer import append

    def circuit(seed: int) -> Any:
        made = QuantumCircuit(case.n, case.bits)
        for layer, gates in enumerate(case.layers(seed)):
            for gate in gates:
                append(made, gate)
            if layer < case.measurements:
                made.measure(case.measured(layer), layer)
        made.measure(range(case.n), range(case.measurements, case.bits))
        return made

    def contestant(variant: str, settings: dict[str, Any]) -> Contestant:
        simulator = AerSimulator(method="statevector", precision="single", max_parallel_threads=threads, **settings)
        units = case.shots if variant == "branching" else shots

        def prepare(turn: int, count: int) -> Callable[[], Any]:
            made = circuit(turn)
            return lambda: succeeded(simulator.run(made, shots=count, seed_simulator=turn, memory=True).result())

        def read(result: Any) -> Means:
            return Means.of_bits(aer_bits(result, case.bits))

        return Contestant.of_units("aer", variant, prepare, read, units, lambda result: result.results[0].time_taken)

    return [contestant(variant, settings) for variant, settings in aer_variants(case.n, branching=branching).items()]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write; see `turns.finish` for what is returned."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.middle", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    turns.common(parser, repeat=3)
    parser.add_argument("--n", type=int, default=Case.n)
    parser.add_argument("--measurements", type=int, default=Case.measurements)
    parser.add_argument("--shots", type=int, default=Case.shots)
    shares.option(parser, "--aer-shots", "shots of Aer without branching")
    turns.without_branching(parser)
    given = parser.parse_args(argv)
    set_threads(given.threads)
    made = turns.document("middle", given)
    case = Case(given.n, given.measurements, given.shots)
    peers = partial(aer, case, given.threads, shares.asked(given.aer_shots, case.shots), branching=given.branching)
    makers = {"ours": partial(ours, case, given.device, given.threads), "aer": peers}
    contestants = turns.gathered(makers, made["missing"])
    what = f"{case.n} qubits, {case.measurements} measurements in the middle, {case.shots} shots"
    turns.add(made, turns.row(what, contestants, case.goals(given.device), given.repeat), given.out)
    return turns.finish(made)


if __name__ == "__main__":
    sys.exit(main())
