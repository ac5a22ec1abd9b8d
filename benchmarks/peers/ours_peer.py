"""qsim-ex itself, through its public engine API, measured like any other peer.

The circuit is built outside of the clock, as for the others. The timed call is the whole of
``Simulator.state``: look up or make the plan, bind the numbers, allocate, run, synchronise. Plans
and kernels stay cached in the simulator between repetitions (warm), the numbers do not; on a GPU the first repetition,
which warms up, waits for the compiler (compile='always'), since kernels that are made beside the runs would be there
after some of them. A state that is divided is waited for until all copies are done, on all devices; its host memory,
once locked, is kept by the process from one repetition to the next, as cuStateVec Ex keeps its state vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any, Literal

import numpy as np

from benchmarks.gates import Gate
from benchmarks.memory import Peak, give_back_pools, wait_for_all, watched_pool
from benchmarks.peers.base import Amplitudes, PeerMissing, Precision, Setup, Timing
from qsim_ex.precision import BY_DTYPE

try:
    import qsim_ex
    from benchmarks.engine import circuit_of
    from qsim_ex import Options, Simulator
    from qsim_ex.planning.cost.stage_cost import seconds, stage_costs
except ImportError as error:
    raise PeerMissing(f"ours: {error}; pip install -e . in the repository") from error


class OursSession:
    """A simulator, the circuit, and the state of the last run."""

    def __init__(self, setup: Setup, device: Literal["cpu", "gpu"], variant: str) -> None:
        self._setup = setup
        self._device = device
        self._simulator = Simulator(options(setup, device, variant))
        self._facts: dict[str, Any] = {}
        self._circuit: Any = None
        self._counts: dict[str, float] = {}
        self._state: Any = None

    def load(self, gates: Sequence[Gate]) -> None:
        """Build the circuit; the gate names are those of the engine's table."""
        self._circuit = circuit_of(gates, self._setup.n)
        if not self._counts:
            self._counts = self._counted()

    def _counted(self) -> dict[str, float]:
        """What the plan of this structure does; the same for all numbers, and not timed."""
        found = self._simulator.summary(self._circuit)
        return {"sweeps": found.sweeps, "bytes": found.bytes_moved, "fma": found.fma}

    def run(self) -> Timing:
        """Free the last state (not timed), then make the new one and wait for it."""
        self._drop()
        peak, divided = Peak(), self._setup.divided
        with self._watched(peak):
            start = perf_counter()
            self._state = self._simulator.state(self._circuit)
            self._state.synchronize()
            if divided and self._device == "gpu":
                wait_for_all(self._setup.gpus)  # copies have streams of their own
            taken = perf_counter() - start
        if divided:
            self._facts = self._found(peak)
        return Timing(taken, self._counts)

    def _watched(self, peak: Peak) -> AbstractContextManager[None]:
        """Watch the device memory of a divided state; that of one in one piece is not worth the microseconds."""
        return watched_pool(peak) if self._setup.divided and self._device == "gpu" else nullcontext()

    def _found(self, peak: Peak) -> dict[str, Any]:
        """Where the state lies, what was counted, and what was planned for each level of memory."""
        with self._state.placed() as placed:
            found = placed.report()
        if self._device == "gpu":
            found["peak_device_bytes"] = peak.bytes_on(self._setup.gpus)
        return {"deployment": self._state.where.deployment.to_json(), **found, "planned": self._planned()}

    def _planned(self) -> dict[str, float]:
        """What planning says of each level; and beside it, if sub state vectors in flight stay between passes."""
        in_flight, precision = self._state.where.deployment.in_flight, BY_DTYPE[self._state.dtype]
        summary = self._simulator.summary(self._circuit)
        host = predicted = 0.0
        for plan in self._simulator.plans(self._circuit):
            costs = stage_costs(
                plan.stages, plan.num_wires, plan.levels, precision, resident=in_flight, shape=plan.shape
            )
            host += sum(cost.host_in + cost.host_out for cost in costs)
            predicted += seconds(plan.stages, costs)
        return {
            "passes": summary.passes,
            "exchanges": summary.exchanges,
            "bytes_device": summary.bytes_moved,
            "bytes_host": summary.bytes_host,
            "bytes_peers": summary.bytes_peers,
            "seconds": summary.seconds,
            "bytes_host_if_some_stay": host,
            "seconds_if_some_stay": predicted,
        }

    def facts(self) -> Mapping[str, Any]:
        """Return where the last state lay, bytes over each link as counted and as planned, and memory taken."""
        return self._facts

    def amplitudes(self) -> Amplitudes:
        """Read the watched amplitudes of the last state."""
        return np.asarray(self._state.amplitudes(list(self._setup.watch)), dtype=np.complex128)

    def close(self) -> None:
        """Free the state; on a GPU also what is kept for the next one, which others may need now."""
        self._drop()
        if self._device == "gpu":
            give_back_pools()

    def _drop(self) -> None:
        if self._state is not None:
            self._state.close()
            self._state = None


def options(setup: Setup, device: Literal["cpu", "gpu"], variant: str) -> Options:
    """Return the options of a session: defaults, but for what the setup says.

    A state that is 'spread' has one sub state vector less on its device than there are, or it would all be there.
    """
    found: dict[str, Any] = {"device": device, "precision": setup.precision, "threads": setup.threads}
    if device == "gpu":
        found["compile"] = "always"
    if setup.gpus > 1:
        found |= {"devices": tuple(range(setup.gpus))} if device == "gpu" else {"virtual_peers": setup.gpus}
    if setup.migration:
        found |= {"device_wires": setup.local, "host_memory": variant}
        found |= {"in_flight_buffers": setup.windows(some_elsewhere=variant == "spread")}
    return Options(**found)


class OursPeer:
    """qsim-ex on one device or several, with host memory or without it."""

    name = "ours"
    precisions: tuple[Precision, ...] = ("single", "double")
    note = "the time includes plan look-up, binding of fresh numbers and allocation"

    def __init__(self, device: Literal["cpu", "gpu"]) -> None:
        self.version = str(getattr(qsim_ex, "__version__", "unreleased"))
        self._device = device

    def variants(self, setup: Setup) -> tuple[str, ...]:
        """Return how host memory is used where it is; several devices have all of a state at home there."""
        if not setup.migration:
            return ("default",)
        return ("whole", "spread") if setup.gpus == 1 else ("whole",)

    def open(self, setup: Setup, variant: str) -> OursSession:
        """Make a simulator; see `options`."""
        return OursSession(setup, self._device, variant)


def peer(device: Literal["cpu", "gpu"]) -> OursPeer:
    """Return the peer for ``cpu`` or ``gpu``."""
    return OursPeer(device)
