"""Predicted times of circuits that are not gates alone, as written and in rz, sx, x, cz:

    python -m benchmarks.dynamic_bases [--device gpu cpu] [--wires 28] [--only ...] [--measure]

Nine families: teleportation, rounds of a repetition code with rotations of its data, phase estimation by one qubit
with Pauli strings and with a QFT, an ansatz with feedback, saves within Trotter steps and within UCC, noisy QAOA, and
adders that are measured. Times are the sums of all segments, in ms: as they came, and as what is written of stretches
of gates runs when all manners have been compared (`run.stretches`). The GPU is one H200, the CPU one thread, both in
complex64. With ``--measure`` circuits run on this CPU, and the processor's time of later jobs of two shots is printed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import geometric_mean
from typing import NamedTuple

import numpy as np
from qiskit import QuantumCircuit, transpile
from qiskit.circuit.library import PauliEvolutionGate, QFTGate
from qiskit.quantum_info import SparsePauliOp
from qiskit_aer.library import SaveExpectationValue
from qiskit_aer.noise import amplitude_damping_error, depolarizing_error

from qsim_ex import Simulator, thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.hypothetical import HypotheticalGpu
from qsim_ex.options import Options
from qsim_ex.program.divide import program_of
from qsim_ex.run.foreseen import foreseen
from qsim_ex.run.where import Where
from qsim_ex_provider.translation.circuits import translate

CZ = ["rz", "sx", "x", "cz"]
DEFINED = ["PauliEvolution", "qft", "qft_dg", "QFT", "IQFT"]


def ising(made: QuantumCircuit, on: Sequence[int], random: np.random.Generator) -> None:
    """Append ZZ of neighbours and X of each, by drawn angles."""
    for one, other in pairwise(on):
        made.rzz(random.uniform(0.1, 1), one, other)
    for wire in on:
        made.rx(random.uniform(0.1, 1), wire)


def excitation(wires: int, words: Sequence[str], random: np.random.Generator) -> list[str]:
    """Return strings of words of four letters on drawn wires, with Z between them."""
    on, found = sorted(random.choice(wires, 4, replace=False).tolist()), []
    for word in words:
        letters = ["I"] * wires
        for wire in (*range(on[0] + 1, on[1]), *range(on[2] + 1, on[3])):
            letters[wire] = "Z"
        for letter, wire in zip(word, on, strict=True):
            letters[wire] = letter
        found.append("".join(letters))
    return found


def teleportation(n: int, random: np.random.Generator) -> QuantumCircuit:
    """Wires of a chain are teleported one after another, with two steps of the chain before each."""
    made, chain, (a, b) = QuantumCircuit(n, 2 * n), range(n - 2), (n - 2, n - 1)
    for k in range(min(8, n - 2)):
        ising(made, chain, random)
        ising(made, chain, random)
        made.h(a)
        made.cx(a, b)
        made.cx(k, a)
        made.h(k)
        made.measure([k, a], [2 * k, 2 * k + 1])
        with made.if_test((made.clbits[2 * k + 1], 1)):
            made.x(b)
        with made.if_test((made.clbits[2 * k], 1)):
            made.z(b)
        made.reset([a, k])
        made.swap(k, b)
    return made


def repetition(n: int, random: np.random.Generator) -> QuantumCircuit:
    """Six rounds of a repetition code, whose data turn between rounds."""
    data, checks = range((n + 1) // 2), range((n + 1) // 2, n)
    made = QuantumCircuit(n, 6 * len(checks))
    for k in range(6):
        ising(made, data, random)
        for place, check in enumerate(checks):
            made.cx(place, check)
            made.cx((place + 1) % len(data), check)
        for place, check in enumerate(checks):
            made.measure(check, bit := k * len(checks) + place)
            with made.if_test((made.clbits[bit], 1)):
                made.x(place)
            made.reset(check)
    return made


def _estimated(n: int, rounds: int, step: Callable[[QuantumCircuit, int], None]) -> QuantumCircuit:
    """Return phase estimation by one wire, which controls steps of the others."""
    made = QuantumCircuit(n, rounds)
    for k in range(rounds):
        made.h(0)
        step(made, k)
        if k:
            with made.if_test((made.clbits[k - 1], 1)):
                made.p(0.7, 0)
        made.h(0)
        made.measure(0, k)
        made.reset(0)
    return made


def phase_of_ucc(n: int, random: np.random.Generator) -> QuantumCircuit:
    """Controlled double excitations."""
    words = ("XXXY", "XXYX", "XYXX", "YXXX", "YYYX", "YYXY", "YXYY", "XYYY")
    strings = [one for _ in range(0, n - 6, 3) for one in excitation(n - 1, words, random)]
    times = random.uniform(0.1, 1, len(strings))

    def step(made: QuantumCircuit, _: int) -> None:
        for string, seconds in zip(strings, times, strict=True):
            made.append(PauliEvolutionGate(SparsePauliOp([string + "Z"]), time=float(seconds)), range(n))

    return _estimated(n, 4, step)


def phase_of_qft(n: int, _: np.random.Generator) -> QuantumCircuit:
    """A controlled addition between two QFTs."""

    def step(made: QuantumCircuit, k: int) -> None:
        made.append(QFTGate(n - 1), range(1, n))
        for wire in range(1, n):
            made.cp(np.pi / (wire + k + 1), 0, wire)
        made.append(QFTGate(n - 1).inverse(), range(1, n))

    return _estimated(n, 5, step)


def feedback(n: int, random: np.random.Generator) -> QuantumCircuit:
    """Layers of RY and CX, after each three of which some wires are measured and their neighbours turned."""
    made, measured = QuantumCircuit(n, 6 * n), 0
    for _ in range(6):
        for _ in range(3):
            for wire in range(n):
                made.ry(random.uniform(0, 3), wire)
            for wire in range(n - 1):
                made.cx(wire, wire + 1)
        for wire in range(0, n, 7):
            made.measure(wire, measured)
            with made.if_test((made.clbits[measured], 1)):
                made.ry(0.4, (wire + 1) % n)
            measured += 1
    return made


def trotter_saves(n: int, _: np.random.Generator) -> QuantumCircuit:
    """Two Trotter steps of a Heisenberg chain before each of six saves."""
    made = QuantumCircuit(n)
    for _ in range(6):
        for first in (0, 1, 0, 1):
            for one in range(first, n - 1, 2):
                made.rxx(0.1, one, one + 1)
                made.ryy(0.1, one, one + 1)
                made.rzz(0.1, one, one + 1)
            for wire in range(n if first else 0):
                made.rz(0.3, wire)
        made.barrier()
    return made


def ucc_saves(n: int, random: np.random.Generator) -> QuantumCircuit:
    """Twelve strings of UCC before each of four saves."""
    made = QuantumCircuit(n)
    for _ in range(4):
        for _ in range(12):
            (string,) = excitation(n, ["XXXY"], random)
            made.append(PauliEvolutionGate(SparsePauliOp([string]), time=random.uniform(0.1, 1)), range(n))
        made.barrier()
    return made


def noisy_qaoa(n: int, random: np.random.Generator) -> QuantumCircuit:
    """Six layers of QAOA on a ring with chords, after each of which two wires have noise."""
    made = QuantumCircuit(n, n)
    made.h(range(n))
    for k in range(6):
        for wire in range(n):
            made.rzz(0.4 + 0.1 * k, wire, (wire + 1) % n)
            if wire < n // 2:
                made.rzz(0.4 + 0.1 * k, wire, (5 * wire + n // 2) % n if (5 * wire + n // 2) % n != wire else n - 1)
        made.rx(0.3 + 0.1 * k, range(n))
        made.barrier(sorted(random.choice(n, 2, replace=False).tolist()))
    made.measure(range(n), range(n))
    return made


def adders(n: int, random: np.random.Generator) -> QuantumCircuit:
    """Four sums by QFT whose sign is measured, after which the first number is turned."""
    made, half = QuantumCircuit(n, 4), n // 2 - 1
    for k in range(4):
        one, other = range(half), range(half, 2 * half)
        made.append(QFTGate(half), other)
        for place in one:
            for bit in range(place, half):
                made.cp(np.pi / 2 ** (bit - place), place, half + bit)
        made.append(QFTGate(half).inverse(), other)
        made.cx(2 * half - 1, n - 1)
        made.measure(n - 1, k)
        with made.if_test((made.clbits[k], 1)):
            made.x(0)
        made.reset(n - 1)
        for wire in one:
            made.ry(random.uniform(0, 3), wire)
    return made


FAMILIES: dict[str, Callable[[int, np.random.Generator], QuantumCircuit]] = {
    one.__name__: one
    for one in (
        teleportation, repetition, phase_of_ucc, phase_of_qft, feedback, trotter_saves, ucc_saves, noisy_qaoa, adders
    )
}  # fmt: skip


def circuit_of(name: str, n: int, basis: list[str] | None) -> Circuit:
    """Return a family's circuit, as written or in a basis; barriers become saves, or noise on two wires."""
    made = FAMILIES[name](n, np.random.default_rng(5)).decompose(DEFINED, reps=2)
    if basis:
        made = transpile(made, basis_gates=basis, optimization_level=1, seed_transpiler=1)
    out, saves = made.copy_empty_like(), 0
    for one in made.data:
        if one.operation.name != "barrier":
            out.append(one)
        elif len(one.qubits) == 2:
            out.append(amplitude_damping_error(0.02).to_instruction(), one.qubits[:1])
            out.append(depolarizing_error(0.05, 1).to_instruction(), one.qubits[1:])
        else:
            observable = SparsePauliOp("ZZ" + "I" * (n - 2))
            out.append(SaveExpectationValue(observable, label=f"save {saves}"), range(n))
            saves += 1
    return translate(out)


class Times(NamedTuple):
    """Milliseconds as the circuit came, and as what is written of it."""

    came: float
    written: float

    def __str__(self) -> str:
        return f"{self.came:.3g} → {self.written:.3g}"


def predicted(circuit: Circuit, options: Options) -> Times:
    """Return predicted times."""
    found = []
    for share in (0, 100):
        with thresholds.instead(written_percent=share):
            gpu = HypotheticalGpu(0, True) if options.device == "gpu" else None
            one = foreseen(circuit, program_of(circuit.structure), options, gpu=gpu)
            found.append(1e3 * Where(one.device, one.deployment, options).times(one.plans).later)
    return Times(*found)


def measured(circuit: Circuit, options: Options, runs: int = 6) -> Times:
    """Return the processor's least time of later jobs, when all manners have been compared."""
    found = []
    for share in (0, 100):
        with thresholds.instead(written_percent=share):
            simulator, spent = Simulator(options), list[float]()
            simulator.explain(circuit)
            for _ in range(runs):
                begin = time.process_time()
                simulator.run(circuit, 2 if circuit.num_clbits else None, seed=1)
                spent.append(time.process_time() - begin)
            found.append(1e3 * min(spent))
    return Times(*found)


def main() -> None:
    """Print a row for each family, and the means of cz over as written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", nargs="*", default=["gpu", "cpu"], choices=["gpu", "cpu"])
    parser.add_argument("--wires", type=int)
    parser.add_argument("--only", nargs="*", default=list(FAMILIES), choices=FAMILIES)
    parser.add_argument("--measure", action="store_true")
    given = parser.parse_args()
    ask = measured if given.measure else predicted
    for device in ["cpu"] if given.measure else given.device:
        n = given.wires or (28 if device == "gpu" else 20)
        options = Options(device=device, precision="single", threads=1, method="statevector")
        rows = []
        print(f"{device}, {n} wires | as written | cz", flush=True)
        for name in given.only:
            rows.append([ask(circuit_of(name, n, basis), options) for basis in (None, CZ)])
            print(name, *rows[-1], sep=" | ", flush=True)
        ways = (geometric_mean([getattr(cz, way) / getattr(as_it, way) for as_it, cz in rows]) for way in Times._fields)
        print("cz over as written", *(f"{one:.3f}" for one in ways), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
