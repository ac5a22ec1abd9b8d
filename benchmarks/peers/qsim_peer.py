"""qsim (qsimcirq): gate fusion in C++, single precision only.

The circuit is translated once into qsim's C++ circuit. A run asks for a few amplitudes by bit
string, so that the state is made, read in place and dropped inside qsim: asking for the whole
state would add a change of its internal order and a copy. Fusion is part of the run, because qsim
has no call that keeps a fused circuit. Sizes 3 and 4 of the fused gate are both measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.gates import Gate, parts
from benchmarks.peers.base import Amplitudes, PeerMissing, Precision, Setup, Timing, in_one_piece

try:
    import cirq
    from qsimcirq import QSimCircuit, QSimOptions, _version, qsim  # type: ignore[attr-defined]
except ImportError as error:
    raise PeerMissing(f"qsim: {error}; pip install qsimcirq") from error


def operation(gate: Gate) -> Any:
    """Make the Cirq operation; Cirq's first qubit is the most significant, ours the least."""
    wires = [cirq.LineQubit(w) for w in gate.wires]
    match gate.name:
        case "h":
            return cirq.H(*wires)
        case "x":
            return cirq.X(*wires)
        case "cx":
            return cirq.CNOT(*wires)
        case "ccx":
            return cirq.CCX(*wires)
        case "cz":
            return cirq.CZ(*wires)
        case "cp":
            return cirq.CZPowGate(exponent=gate.params[0] / np.pi)(*wires)
        case "rx":
            return cirq.rx(gate.params[0])(*wires)
        case "ry":
            return cirq.ry(gate.params[0])(*wires)
        case "rz":
            return cirq.rz(gate.params[0])(*wires)
        case "rzz":
            return cirq.ZZPowGate(exponent=gate.params[0] / np.pi, global_shift=-0.5)(*wires)
        case "sx":
            return (cirq.X**0.5)(*wires)
        case "swap":
            return cirq.SWAP(*wires)
        case _:
            return cirq.MatrixGate(parts(gate).matrix, unitary_check=False)(*reversed(wires))


class QsimSession:
    """A qsim circuit and its options; qsim allocates and frees the state in every run itself."""

    def __init__(self, setup: Setup, fused: int) -> None:
        self._n = setup.n
        # qsim wants a bit string with wire 0 first.
        strings = [format(index, f"0{setup.n}b")[::-1] for index in setup.watch]
        options = QSimOptions(max_fused_gate_size=fused, cpu_threads=setup.threads)
        plain: dict[str, Any] = options.as_dict()  # type: ignore[no-untyped-call]
        self._options = {**plain, "s": 1, "i": "\n".join(strings)}
        self._read: list[complex] = []

    def load(self, gates: Sequence[Gate]) -> None:
        """Translate through Cirq to qsim's C++ circuit."""
        order = [cirq.LineQubit(w) for w in reversed(range(self._n))]
        circuit = QSimCircuit(cirq.Circuit(operation(g) for g in gates))
        self._options["c"], _ = circuit.translate_cirq_to_qsim(order)

    def run(self) -> Timing:
        """Allocate, set to |0...0>, fuse, simulate, read the watched amplitudes, free."""
        start = perf_counter()
        self._read = qsim.qsim_simulate(self._options)
        return Timing(perf_counter() - start)

    def amplitudes(self) -> Amplitudes:
        """Return what the last run read."""
        return np.array(self._read, dtype=np.complex128)

    def facts(self) -> Mapping[str, Any]:
        """Nothing is to be said of a state in one piece."""
        return {}

    def close(self) -> None:
        """Nothing is held between runs but the circuit."""


class QsimPeer:
    """qsim with fused gates of up to 3 and up to 4 qubits."""

    name = "qsim"
    version = str(_version.__version__)
    precisions: tuple[Precision, ...] = ("single",)
    note = "the time includes allocation and gate fusion, which qsim does in every call"

    def variants(self, setup: Setup) -> tuple[str, ...]:
        """Return the settings that are measured, for a state in one piece."""
        in_one_piece(setup, self.name)
        return ("fused3", "fused4")

    def open(self, setup: Setup, variant: str) -> QsimSession:
        """Set qsim up; the variant names the largest fused gate."""
        return QsimSession(setup, fused=int(variant.removeprefix("fused")))


def peer(device: str) -> QsimPeer:
    """Return the peer; it runs on the CPU."""
    del device
    return QsimPeer()
