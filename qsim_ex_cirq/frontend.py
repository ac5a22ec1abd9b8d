"""Cirq for the engine's command line, which finds `frontend` under the entry-point group ``qsim_ex.frontends``.

A frontend is any object with

- ``name``: of the framework, for people;
- ``load(path)``: the circuit in a file and what is known of it, as ``(Circuit, info)``, where ``info.name`` and
  ``info.format`` are for people and ``info.format_bits(value)`` writes an outcome (bit c = classical bit c) the way
  the framework's users read it;
- ``demo(num_qubits, shots, seed, options)``: a `Demonstration` of the circuit that `ising_quench` describes. Every
  framework runs that circuit, so their amplitudes can be compared: bit w of an amplitude's index is qubit w.

Errors are those of `qsim_ex.errors`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import cirq
import numpy as np

from qsim_ex import Circuit, Options, Result
from qsim_ex.errors import CircuitError, NotSupported
from qsim_ex_cirq.results import Vector
from qsim_ex_cirq.simulator import QsimExSimulator
from qsim_ex_cirq.translate import Measurement, translate


@dataclass(frozen=True, eq=False, slots=True)
class LoadedInfo:
    """What is known of a circuit from a file."""

    name: str
    format: str
    num_clbits: int
    measurements: tuple[Measurement, ...]

    def format_bits(self, value: int) -> str:
        """Write an outcome as Cirq does: each key with the bits of its qubits, in their order."""
        return ", ".join(
            f"{m.key}={''.join(str(value >> w & 1 ^ i) for w, i in zip(m.wires, m.invert, strict=True))}"
            for m in self.measurements
        )


@dataclass(frozen=True, eq=False, slots=True)
class Demonstration:
    """A circuit that ran: the engine's result, its counts by bit string, its amplitudes, and a picture of it.

    counts: keys have the highest qubit first. amplitudes: complex [2^n]; bit w of the index is qubit w. drawing:
    lines of text.
    """

    result: Result
    counts: dict[str, int]
    amplitudes: Vector
    drawing: str


class CirqFrontend:
    """Files in Cirq's JSON, and a demonstration."""

    name = "cirq"

    def load(self, path: str | Path) -> tuple[Circuit, LoadedInfo]:
        """Read a circuit that ``cirq.to_json`` wrote; raises `CircuitError` for anything else.

        Raises `NotSupported` for a confusion map, which belongs to no quantum circuit and would be lost here.
        """
        circuit = read(Path(path))
        translation = translate(circuit)
        if any(m.confusion for m in translation.measurements):
            raise NotSupported(f"{path}: a confusion map in a file; run the circuit through QsimExSimulator.")
        info = LoadedInfo(Path(path).stem, "Cirq JSON", translation.circuit.num_clbits, translation.measurements)
        return translation.circuit, info

    def demo(self, num_qubits: int, shots: int, seed: int, options: Options) -> Demonstration:
        """Run the quench through Cirq's own interface: simulate, run, histogram."""
        circuit = ising_quench(num_qubits)
        simulator = QsimExSimulator(
            dtype=options.dtype.type,
            seed=seed,
            device=options.device,
            device_id=options.device_id,
            max_memory=options.max_memory,
            threads=options.threads,
            compile=options.compile,
            progress=options.progress,
        )
        highest_first = cirq.LineQubit.range(num_qubits)[::-1]
        amplitudes = simulator.simulate(circuit, qubit_order=highest_first).final_state_vector
        measured = circuit + cirq.measure(*highest_first, key="spins")
        run = next(simulator.run_sweep_iter(measured, None, repetitions=shots))
        counts: Counter[int] = run.histogram(key="spins")
        named = {format(value, f"0{num_qubits}b"): count for value, count in sorted(counts.items())}
        assert run.engine_result is not None  # since it was not read from a file
        return Demonstration(run.engine_result, named, amplitudes, circuit.to_text_diagram())


def ising_quench(num_qubits: int, steps: int = 4) -> cirq.Circuit:
    """A chain of spins, all up, after a transverse field was switched on; first-order Trotter steps.

    Each step applies exp(−i·0.4·Z_w Z_{w+1}) to all neighbours and then exp(−i·0.3·X_w) to all spins: RZZ(0.8) and
    RX(0.6).
    """
    qubits = cirq.LineQubit.range(num_qubits)
    zz = cirq.ZZPowGate(exponent=0.8 / np.pi, global_shift=-0.5)
    circuit = cirq.Circuit()
    for _ in range(steps):
        circuit += [zz(a, b) for a, b in pairwise(qubits)]
        circuit += cirq.rx(0.6).on_each(*qubits)
    return circuit


def read(path: Path) -> cirq.AbstractCircuit:
    """Read a circuit from a file of Cirq's JSON."""
    try:
        found = cirq.read_json(path)
    except OSError as error:
        raise CircuitError(f"{path}: the file cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError, KeyError) as error:
        raise CircuitError(f"{path}: this is not Cirq's JSON: {error}") from error
    if not isinstance(found, cirq.AbstractCircuit):
        raise CircuitError(f"{path}: a circuit is wanted, the file holds a {type(found).__name__}.")
    return found


frontend = CirqFrontend()
