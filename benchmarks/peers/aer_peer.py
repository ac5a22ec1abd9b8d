"""Aer (qiskit-aer): the state-vector method with its default fusion.

The circuit ends in ``save_amplitudes`` of a few indices. Something must be saved, or Aer drops the
whole circuit; a few amplitudes cost nothing, where ``save_statevector`` would copy the state out.
What counts is the time that Aer's own C++ clock reports for the experiment: it includes allocation
and fusion, and leaves out the Python around it, which is kept as ``wall``. All gates are
Aer's own (diagonals as diagonals), so nothing is transpiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.gates import Gate
from benchmarks.peers.base import Amplitudes, PeerMissing, Precision, Setup, Timing, in_one_piece

try:
    import qiskit_aer
    from qiskit import QuantumCircuit
    from qiskit.circuit.library import UnitaryGate
except ImportError as error:
    raise PeerMissing(f"aer: {error}; pip install qiskit-aer") from error


def append(circuit: QuantumCircuit, gate: Gate) -> None:
    """Append one gate; names, angle conventions and bit order are Qiskit's already."""
    if gate.matrix is not None:
        circuit.append(UnitaryGate(gate.matrix, check_input=False), list(gate.wires))
    else:
        getattr(circuit, gate.name)(*gate.params, *gate.wires)


class AerSession:
    """An AerSimulator and a circuit; Aer allocates and frees the state in every run itself."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._backend = qiskit_aer.AerSimulator(
            method="statevector",
            precision=setup.precision,
            max_parallel_threads=setup.threads,
        )
        self._circuit: QuantumCircuit = QuantumCircuit(setup.n)
        self._result: Any = None

    def load(self, gates: Sequence[Gate]) -> None:
        """Build the Qiskit circuit; it ends in a save of the watched amplitudes."""
        self._circuit = QuantumCircuit(self._setup.n)
        for gate in gates:
            append(self._circuit, gate)
        self._circuit.save_amplitudes(list(self._setup.watch))

    def run(self) -> Timing:
        """Run; the seconds are Aer's own, the wall clock is kept beside them."""
        start = perf_counter()
        self._result = self._backend.run(self._circuit, shots=1).result()
        wall = perf_counter() - start
        if not self._result.success:
            raise RuntimeError(f"Aer failed: {self._result.status}")
        return Timing(self._result.results[0].time_taken, {"wall": wall})

    def amplitudes(self) -> Amplitudes:
        """Return what the last run saved."""
        return np.asarray(self._result.data(0)["amplitudes"], dtype=np.complex128)

    def facts(self) -> Mapping[str, Any]:
        """Nothing is to be said of a state in one piece."""
        return {}

    def close(self) -> None:
        """Nothing is held between runs but the circuit."""


class AerPeer:
    """Aer's state vector on the CPU."""

    name = "aer"
    version = qiskit_aer.__version__
    precisions: tuple[Precision, ...] = ("single", "double")
    note = "the time is Aer's own C++ clock: allocation and fusion included, Python left out"

    def variants(self, setup: Setup) -> tuple[str, ...]:
        """Return the settings that are measured, for a state in one piece."""
        in_one_piece(setup, self.name)
        return ("default",)

    def open(self, setup: Setup, variant: str) -> AerSession:
        """Set Aer up; fusion and everything else keep their defaults."""
        del variant
        return AerSession(setup)


def peer(device: str) -> AerPeer:
    """Return the peer; the wheel qiskit-aer runs on the CPU."""
    del device
    return AerPeer()
