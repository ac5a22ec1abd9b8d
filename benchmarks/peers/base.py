"""What a peer is: something that turns a gate list into its own circuit and runs it on a clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.gates import Gate

Precision = Literal["single", "double"]
Amplitudes = NDArray[np.complex128]

REAL: Mapping[Precision, type[np.floating]] = {"single": np.float32, "double": np.float64}
COMPLEX: Mapping[Precision, type[np.complexfloating]] = {
    "single": np.complex64,
    "double": np.complex128,
}


IN_FLIGHT = 3
"""Sub state vectors on a device beside host memory: one comes, one is worked on, one goes."""


class PeerMissing(Exception):
    """This peer cannot run here; the message says what is missing and how to get it."""


class CannotDivide(Exception):
    """This peer cannot hold a state that is divided so; the message says why."""


@dataclass(frozen=True)
class Setup:
    """What a session is opened for.

    watch: little-endian indices of the amplitudes that `Session.amplitudes` returns. They are named
        in advance because qsim and Aer can only be asked for amplitudes as part of a run.
    gpus: how many devices share the state, from number 0 up; a power of two. On a CPU, how many sub
        state vectors share it.
    device_wires: wires of one sub state vector; what is above those and the devices lies in host
        memory. None for a state that lies on its devices altogether.
    in_flight: at most so many sub state vectors are on each device at a time beside host memory.
        None is `IN_FLIGHT`, but never all that there are, so that some of the state is elsewhere.
    """

    n: int
    precision: Precision
    threads: int
    watch: tuple[int, ...] = (0,)
    gpus: int = 1
    device_wires: int | None = None
    in_flight: int | None = None

    def __post_init__(self) -> None:
        if self.gpus < 1 or self.gpus.bit_count() != 1:
            raise ValueError(f"expected a power of two devices, got {self.gpus}")
        if not 0 < self.local <= self.n - self.peers:
            raise ValueError(
                f"expected 1 to {self.n - self.peers} wires on each of {self.gpus} devices for {self.n} wires, got "
                f"{self.local}"
            )
        if self.in_flight is not None and self.in_flight < 1:
            raise ValueError(f"expected in_flight >= 1, got {self.in_flight}")

    @property
    def peers(self) -> int:
        """Wires whose value is the number of a device."""
        return self.gpus.bit_length() - 1

    @property
    def local(self) -> int:
        """Wires of one sub state vector."""
        return self.n - self.peers if self.device_wires is None else self.device_wires

    @property
    def migration(self) -> int:
        """Wires for whose values sub state vectors lie in host memory."""
        return self.n - self.peers - self.local

    @property
    def divided(self) -> bool:
        """Whether the state is in several pieces."""
        return self.local < self.n

    def windows(self, *, some_elsewhere: bool = False) -> int:
        """Return how many sub state vectors are on each device at a time; `some_elsewhere` is as for None."""
        all_of_them = 1 << self.migration
        if self.migration and (some_elsewhere or self.in_flight is None):
            all_of_them -= 1
        return min(self.in_flight or IN_FLIGHT, all_of_them)

    def held(self) -> tuple[int, int]:
        """Bytes that one session takes on each device and on the host, about and at most."""
        state = int(np.dtype(COMPLEX[self.precision]).itemsize << self.n)
        if not self.divided:
            return state, 0
        device = (state >> (self.n - self.local)) * (self.windows() + 1)  # one more for staging
        return device, state if self.migration else 0


@dataclass(frozen=True)
class Timing:
    """One repetition: the seconds that count, and whatever else is worth keeping, by name.

    ``seconds`` runs from the request for |0...0> to the synchronised state, which stays in the
    engine. Times in ``extras`` (translation, enqueueing, wall clock around a slow front end) are
    not part of it.
    """

    seconds: float
    extras: Mapping[str, float] = field(default_factory=dict)


class Session(Protocol):
    """One engine set up for one size and precision; it may keep memory between repetitions."""

    def load(self, gates: Sequence[Gate]) -> None:
        """Translate the gates into the engine's own circuit; not timed."""
        ...

    def run(self) -> Timing:
        """Simulate the loaded circuit from |0...0> and wait until the state is there."""
        ...

    def amplitudes(self) -> Amplitudes:
        """Return the watched amplitudes of the last run, to compare peers; not timed."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """Say where the state of the last run lies and what was moved, as what JSON can hold; not timed."""
        ...

    def close(self) -> None:
        """Give the engine's memory back."""
        ...


class Peer(Protocol):
    """A simulator: its name, version, the settings worth trying, and a way to open a session."""

    name: str
    version: str
    precisions: tuple[Precision, ...]
    note: str
    """What a reader of the table must know about this peer."""

    def variants(self, setup: Setup) -> tuple[str, ...]:
        """Return the settings among which the table takes the fastest, cell by cell; each is measured.

        Raises `CannotDivide` where this peer cannot hold such a state at all.
        """
        ...

    def open(self, setup: Setup, variant: str) -> Session:
        """Set the engine up, with one of `variants`."""
        ...


def in_one_piece(setup: Setup, peer: str) -> None:
    """Raise `CannotDivide` unless the state lies in one piece on one device."""
    if setup.divided:
        raise CannotDivide(f"{peer}: it holds a state in one piece only")
