"""qsim-ex itself, through its public engine API, measured like any other peer.

The circuit is built outside of the clock, as for the others. The timed call is the whole of
``Simulator.state``: look up or make the plan, bind the numbers, allocate, run, synchronise. Plans
and kernels stay cached in the simulator between repetitions (warm), the numbers do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, Literal

import numpy as np

from benchmarks.gates import Gate
from benchmarks.peers.base import Amplitudes, PeerMissing, Precision, Setup, Timing

try:
    import qsim_ex
    from qsim_ex import CircuitBuilder, Options, Simulator
except ImportError as error:
    raise PeerMissing(f"ours: {error}; pip install -e . in the repository") from error


class OursSession:
    """A simulator, the circuit, and the state of the last run."""

    def __init__(self, setup: Setup, device: Literal["cpu", "gpu"]) -> None:
        self._setup = setup
        self._device = device
        self._simulator = Simulator(Options(device=device, precision=setup.precision, threads=setup.threads))
        self._circuit: Any = None
        self._counts: dict[str, float] = {}
        self._state: Any = None

    def load(self, gates: Sequence[Gate]) -> None:
        """Build the circuit; the gate names are those of the engine's table."""
        builder = CircuitBuilder(self._setup.n)
        for gate in gates:
            if gate.matrix is not None:
                builder.unitary(gate.matrix, gate.wires)
            else:
                builder.gate(gate.name, gate.wires, *gate.params)
        self._circuit = builder.build()
        if not self._counts:
            self._counts = self._counted()

    def _counted(self) -> dict[str, float]:
        """What the plan of this structure does; the same for all numbers, and not timed."""
        found = self._simulator.summary(self._circuit)
        return {"sweeps": found.sweeps, "bytes": found.bytes_moved, "fma": found.fma}

    def run(self) -> Timing:
        """Free the last state (not timed), then make the new one and wait for it."""
        self._drop()
        start = perf_counter()
        self._state = self._simulator.state(self._circuit)
        self._state.synchronize()
        return Timing(perf_counter() - start, self._counts)

    def amplitudes(self) -> Amplitudes:
        """Read the watched amplitudes of the last state."""
        return np.asarray(self._state.amplitudes(list(self._setup.watch)), dtype=np.complex128)

    def close(self) -> None:
        """Free the state; on a GPU also the blocks that CuPy keeps, which others may need now."""
        self._drop()
        if self._device == "gpu":
            import cupy

            cupy.get_default_memory_pool().free_all_blocks()

    def _drop(self) -> None:
        if self._state is not None:
            self._state.close()
            self._state = None


class OursPeer:
    """qsim-ex on one device."""

    name = "ours"
    precisions: tuple[Precision, ...] = ("single", "double")
    variants = ("default",)
    note = "the time includes plan look-up, binding of fresh numbers and allocation"

    def __init__(self, device: Literal["cpu", "gpu"]) -> None:
        self.version = str(getattr(qsim_ex, "__version__", "unreleased"))
        self._device = device

    def open(self, setup: Setup, variant: str) -> OursSession:
        """Make a simulator with the default options but for device, precision and threads."""
        del variant
        return OursSession(setup, self._device)


def peer(device: Literal["cpu", "gpu"]) -> OursPeer:
    """Return the peer for ``cpu`` or ``gpu``."""
    return OursPeer(device)
