"""lightning.qubit (pennylane-lightning): one kernel per gate, called on its C++ state vector.

The calls (bound method, wires, angles) are prepared beforehand, so a run is a loop over them and
pays nothing for PennyLane's queueing. The state is allocated once and reset in every run. The
wheel's gate kernels run on one thread, whatever the number of threads asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.gates import Gate, parts
from benchmarks.peers.base import COMPLEX, Amplitudes, PeerMissing, Precision, Setup, Timing, in_one_piece

try:
    # The device wrapper only forwards to these classes, gate by gate.
    from pennylane_lightning import lightning_qubit_ops as ops
except ImportError as error:
    raise PeerMissing(f"lightning: {error}; pip install pennylane-lightning") from error

_METHODS = {
    "h": "Hadamard",
    "x": "PauliX",
    "cx": "CNOT",
    "cz": "CZ",
    "cp": "ControlledPhaseShift",
    "rx": "RX",
    "ry": "RY",
    "rz": "RZ",
    "rzz": "IsingZZ",
    "swap": "SWAP",
}

_Call = tuple[Callable[..., None], tuple[Any, ...]]


class LightningSession:
    """A C++ state vector and the list of calls that make up the circuit."""

    def __init__(self, setup: Setup) -> None:
        self._n = setup.n
        self._watch = list(setup.watch)
        self._dtype = COMPLEX[setup.precision]
        cls = {"single": ops.StateVectorC64, "double": ops.StateVectorC128}[setup.precision]
        self._state = cls(setup.n)
        self._calls: list[_Call] = []

    def load(self, gates: Sequence[Gate]) -> None:
        """Bind every gate to a method of the state and its arguments."""
        self._calls = [self._call(gate) for gate in gates]

    def _call(self, gate: Gate) -> _Call:
        """Prepare one call; Lightning's wire 0 is the most significant, ours the least."""
        wires = [self._n - 1 - w for w in gate.wires]
        if gate.name in _METHODS:
            return getattr(self._state, _METHODS[gate.name]), (wires, False, list(gate.params))
        matrix = np.ascontiguousarray(parts(gate).matrix, dtype=self._dtype)
        return self._state.applyMatrix, (matrix, wires[::-1], False)

    def run(self) -> Timing:
        """Reset to |0...0> and apply gate after gate; the calls return when they are done."""
        start = perf_counter()
        self._state.resetStateVector()
        for method, arguments in self._calls:
            method(*arguments)
        return Timing(perf_counter() - start)

    def amplitudes(self) -> Amplitudes:
        """Copy the whole state out and pick; there is no smaller read."""
        state = np.zeros(2**self._n, dtype=self._dtype)
        self._state.getState(state)
        return state[self._watch].astype(np.complex128)

    def facts(self) -> Mapping[str, Any]:
        """Nothing is to be said of a state in one piece."""
        return {}

    def close(self) -> None:
        """Free the state vector."""
        self._calls.clear()
        del self._state


class LightningPeer:
    """lightning.qubit, both precisions."""

    name = "lightning"
    version = version("pennylane-lightning")
    precisions: tuple[Precision, ...] = ("single", "double")
    note = "one thread, whatever the setting: its gate kernels are not threaded in the wheel"

    def variants(self, setup: Setup) -> tuple[str, ...]:
        """Return the settings that are measured, for a state in one piece."""
        in_one_piece(setup, self.name)
        return ("default",)

    def open(self, setup: Setup, variant: str) -> LightningSession:
        """Allocate the state vector."""
        del variant
        return LightningSession(setup)


def peer(device: str) -> LightningPeer:
    """Return the peer; it runs on the CPU."""
    del device
    return LightningPeer()
