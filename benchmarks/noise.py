"""Noise as trajectories: ``python -m benchmarks.noise --n 12 16 [--device gpu --n 12 20] [--out FILE.json]``.

A random circuit of 20 cycles (a random gate on every wire, then CZ on neighbours, every other pair) in complex64. A
channel follows every gate: *depolarizing* with p = 0.01 in Qiskit's convention, on both wires of a CZ together, or
*damping*, amplitude damping with γ = 0.01, on each wire of the gate alone. 1,000 trajectories with one shot each.
All packages have the same channels behind the same gates, in circuits of their own; building these is not timed.

*ours* is one call of `Simulator.run_batch`; *one by one* are calls of `Simulator.run` with one shot, whose time is told
from two shares of the trajectories (--singles, `benchmarks.shares`). *qsim* runs the circuit of Cirq, with fused gates
of up to 2, 3 and 4 qubits and with one thread or all. *aer* is timed by its own clock, with its defaults, without
fusion, and with branching. On a GPU our two are measured alone, since the wheels of the others have no GPU support.

At 16 qubits a call of Aer takes a minute or two, and several minutes with damping: --aer-trajectories 25 100 tells its
time from two shares, and --no-branching leaves out the variant that always runs all, since its shots share work.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks import shares, turns
from benchmarks.gates import Gate, random_u
from benchmarks.means import Means
from benchmarks.run import set_threads
from benchmarks.shares import Shares
from benchmarks.turns import Contestant, Goal, Times

GOALS: dict[tuple[str, str, int], tuple[Goal, ...]] = {
    ("cpu", "depolarizing", 12): (Times("qsim", 3), Times("aer", 3)),
    ("cpu", "depolarizing", 16): (Times("qsim", 3), Times("aer", 3)),
    ("gpu", "depolarizing", 12): (Times("one by one", 10),),
    ("gpu", "depolarizing", 20): (Times("one by one", 1),),
}
"""By device, kind of noise and number of qubits; for the sizes that `Case` has of itself."""

Kind = Literal["depolarizing", "damping"]


@dataclass(frozen=True)
class Case:
    """What is run: numbers of qubits, cycles and trajectories, and the strength of the noise."""

    kind: Kind
    n: int
    cycles: int = 20
    trajectories: int = 1000
    strength: float = 0.01

    def gates(self, seed: int) -> list[Gate]:
        """The circuit without noise; the seed gives the angles."""
        rng = np.random.default_rng(seed)
        gates: list[Gate] = []
        for cycle in range(self.cycles):
            gates += [random_u(rng, wire) for wire in range(self.n)]
            gates += [Gate("cz", (wire, wire + 1)) for wire in range(cycle % 2, self.n - 1, 2)]
        return gates

    def noisy(self, seed: int) -> Iterator[tuple[Gate, list[tuple[int, ...]]]]:
        """Every gate with the wires of the channels behind it."""
        for gate in self.gates(seed):
            yield gate, [gate.wires] if self.kind == "depolarizing" else [(wire,) for wire in gate.wires]

    def goals(self, device: str) -> tuple[Goal, ...]:
        """What is asked for, if this is the case that it is asked for."""
        return GOALS.get((device, self.kind, self.n), ()) if self == Case(self.kind, self.n) else ()


def ours(case: Case, device: str, threads: int, singles: int | Shares | None) -> list[Contestant]:
    """All trajectories in one call, and one after the other; singles: how many of the latter, if any."""
    from qsim_ex import CircuitBuilder, Options, Simulator
    from qsim_ex.circuit.noise import channels as noise

    simulator = Simulator(Options(device=device, precision="single", threads=threads))  # type: ignore[arg-type]

    def circuit(seed: int) -> Any:
        builder = CircuitBuilder(case.n, case.n)
        for gate, places in case.noisy(seed):
            builder.gate(gate.name, gate.wires, *gate.params)
            for wires in places:
                if case.kind == "depolarizing":
                    builder.channel(noise.depolarizing(case.strength, len(wires)), wires)
                else:
                    builder.channel(noise.amplitude_damping(case.strength), wires)
        return builder.measure(range(case.n), range(case.n)).build()

    def together(turn: int) -> Callable[[], NDArray[np.uint8]]:
        made = circuit(turn)
        return lambda: simulator.run_batch(made, shots=case.trajectories, seeds=turn).packed[0]

    def singly(turn: int, count: int) -> Callable[[], NDArray[np.uint8]]:
        made, first = circuit(turn), turn * case.trajectories
        return lambda: np.concatenate([simulator.run(made, 1, seed).packed for seed in range(first, first + count)])

    def read(packed: NDArray[np.uint8]) -> Means:
        return Means.of_bits(np.unpackbits(packed, axis=-1, bitorder="little", count=case.n))

    found = [Contestant("ours", "default", together, read)]
    if singles is not None:
        found.append(Contestant.of_units("one by one", "default", singly, read, singles))
    return found


def qsim(case: Case, threads: int) -> list[Contestant]:
    """qsimcirq, which runs one trajectory after the other; its circuit is translated within the clock, once a call."""
    import cirq
    from qsimcirq import QSimOptions, QSimSimulator

    from benchmarks.peers.qsim_peer import operation

    qubits = cirq.LineQubit.range(case.n)

    def circuit(seed: int) -> Any:
        made = cirq.Circuit()
        for gate, places in case.noisy(seed):
            made.append(operation(gate))
            for wires in places:
                if case.kind == "depolarizing":  # Cirq's p leaves out what turns out to be the identity
                    others = 1 - 4.0 ** -len(wires)
                    channel = cirq.depolarize(case.strength * others, len(wires))
                else:
                    channel = cirq.amplitude_damp(case.strength)
                made.append(channel(*(qubits[wire] for wire in wires)))
        made.append(cirq.measure(*qubits, key="all"))
        return made

    def call(turn: int, fused: int, cores: int) -> Callable[[], Any]:
        simulator = QSimSimulator(QSimOptions(max_fused_gate_size=fused, cpu_threads=cores), seed=turn)  # type: ignore[no-untyped-call]
        made = circuit(turn)
        return lambda: simulator.run(made, repetitions=case.trajectories)

    def read(result: Any) -> Means:
        return Means.of_bits(np.asarray(result.measurements["all"], dtype=np.uint8))

    return [
        Contestant("qsim", f"fused{fused}_{cores}", partial(call, fused=fused, cores=cores), read)
        for fused in (2, 3, 4)
        for cores in sorted({1, threads})
    ]


def aer_bits(result: Any, width: int) -> NDArray[np.uint8]:
    """Bits of every shot of a run of Aer with memory: uint8 [shots, width], column c is classical bit c."""
    shots = [int(value, 16) for value in result.data(0)["memory"]]
    return np.array([[value >> bit & 1 for bit in range(width)] for value in shots], dtype=np.uint8)


def aer_variants(n: int, *, branching: bool) -> dict[str, dict[str, Any]]:
    """Settings of Aer that may help; it fuses gates from 14 qubits on."""
    found: dict[str, dict[str, Any]] = {"default": {}}
    if n >= 14:
        found["unfused"] = {"fusion_enable": False}
    if branching:
        found["branching"] = {"shot_branching_enable": True, "shot_branching_sampling_enable": True}
    return found


def aer(case: Case, threads: int, trajectories: int | Shares, *, branching: bool = True) -> list[Contestant]:
    """Aer, with errors standing in the circuit; with branching it always has all trajectories, which share work."""
    from qiskit.circuit import QuantumCircuit
    from qiskit_aer import AerSimulator
    from qiskit_aer.noise import amplitude_damping_error, depolarizing_error

    from benchmarks.peers.aer_peer import append

    def circuit(seed: int) -> Any:
        made = QuantumCircuit(case.n, case.n)
        known: dict[int, Any] = {}
        for gate, places in case.noisy(seed):
            append(made, gate)
            for wires in places:
                if len(wires) not in known:
                    one = case.kind == "damping"
                    error = (
                        amplitude_damping_error(case.strength) if one else depolarizing_error(case.strength, len(wires))
                    )
                    known[len(wires)] = error.to_instruction()
                made.append(known[len(wires)], list(wires))
        made.measure(range(case.n), range(case.n))
        return made

    def contestant(variant: str, settings: dict[str, Any]) -> Contestant:
        simulator = AerSimulator(method="statevector", precision="single", max_parallel_threads=threads, **settings)
        units = case.trajectories if variant == "branching" else trajectories

        def prepare(turn: int, shots: int) -> Callable[[], Any]:
            made = circuit(turn)
            return lambda: succeeded(simulator.run(made, shots=shots, seed_simulator=turn, memory=True).result())

        def read(result: Any) -> Means:
            return Means.of_bits(aer_bits(result, case.n))

        return Contestant.of_units("aer", variant, prepare, read, units, lambda result: result.results[0].time_taken)

    return [contestant(variant, settings) for variant, settings in aer_variants(case.n, branching=branching).items()]


def succeeded(result: Any) -> Any:
    """A result of Aer; raises RuntimeError for one that failed."""
    if not result.success:
        raise RuntimeError(f"Aer failed: {result.status}")
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write; see `turns.finish` for what is returned."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.noise", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    turns.common(parser, repeat=3)
    parser.add_argument("--n", type=int, nargs="+", default=[12, 16])
    parser.add_argument("--cycles", type=int, default=Case.cycles)
    parser.add_argument("--trajectories", type=int, default=Case.trajectories)
    shares.option(parser, "--singles", "trajectories of ours one by one", (10, 50))
    parser.add_argument("--no-singles", action="store_true", help="leave out ours one by one")
    shares.option(parser, "--aer-trajectories", "trajectories of Aer without branching")
    turns.without_branching(parser)
    given = parser.parse_args(argv)
    set_threads(given.threads)
    made = turns.document("noise", given)
    singles = None if given.no_singles else shares.asked(given.singles, given.trajectories)
    of_aer = shares.asked(given.aer_trajectories, given.trajectories)
    kinds: tuple[Kind, ...] = ("depolarizing", "damping")
    for case in (Case(kind, n, given.cycles, given.trajectories) for kind in kinds for n in given.n):
        if given.rows and case.kind not in given.rows:
            continue
        makers = {"ours": partial(ours, case, given.device, given.threads, singles)}
        if given.device == "cpu":
            makers |= {
                "qsim": partial(qsim, case, given.threads),
                "aer": partial(aer, case, given.threads, of_aer, branching=given.branching),
            }
        else:
            made["missing"]["qsim, aer"] = "their wheels know no GPU"
        contestants = turns.gathered(makers, made["missing"])
        found = turns.row(f"{case.kind}, {case.n} qubits", contestants, case.goals(given.device), given.repeat)
        turns.add(made, found, given.out)
    return turns.finish(made)


if __name__ == "__main__":
    sys.exit(main())
