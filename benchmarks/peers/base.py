"""What a peer is: something that turns a gate list into its own circuit and runs it on a clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

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


class PeerMissing(Exception):
    """This peer cannot run here; the message says what is missing and how to get it."""


@dataclass(frozen=True)
class Setup:
    """What a session is opened for.

    watch: little-endian indices of the amplitudes that `Session.amplitudes` returns. They are named
        in advance because qsim and Aer can only be asked for amplitudes as part of a run.
    """

    n: int
    precision: Precision
    threads: int
    watch: tuple[int, ...] = (0,)


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

    def close(self) -> None:
        """Give the engine's memory back."""
        ...


class Peer(Protocol):
    """A simulator: its name, version, the settings worth trying, and a way to open a session."""

    name: str
    version: str
    precisions: tuple[Precision, ...]
    variants: tuple[str, ...]
    """Settings among which the table takes the fastest, cell by cell; each is measured."""
    note: str
    """What a reader of the table must know about this peer."""

    def open(self, setup: Setup, variant: str) -> Session:
        """Set the engine up, with one of `variants`."""
        ...
