"""One cell of the table: every peer on the same circuits, in turn, on the same clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import sqrt
from statistics import median
from time import sleep
from typing import Any

import numpy as np

from benchmarks.dense import simulate
from benchmarks.families import by_name
from benchmarks.gates import Gate
from benchmarks.peers.base import COMPLEX, Amplitudes, CannotDivide, Peer, Precision, Session, Setup, Timing

ORACLE_LIMIT = 12
"""Up to this many qubits the oracle decides what is right; above it the peers check each other."""

REHEARSAL_LIMIT = 20
"""Up to this many qubits a state fits into caches, so every turn begins with a run that is not timed."""

ROUNDS = 4
"""Up to as many qubits, a turn has this many timed runs, each with fresh numbers: as in a user's loop, where no other
program's data and no pause come between two runs."""

PAUSE = 0.01
"""Seconds before a turn, in which the OpenMP threads of the peer before stop spinning."""


@dataclass(frozen=True)
class Case:
    """A family at one size and one precision; gpus, device_wires and in_flight as in `Setup`."""

    family: str
    n: int
    precision: Precision
    gpus: int = 1
    device_wires: int | None = None
    in_flight: int | None = None

    def setup(self, threads: int, watch: tuple[int, ...]) -> Setup:
        """Return what sessions are opened for; raises ValueError for a state that cannot be divided so."""
        return Setup(self.n, self.precision, threads, watch, self.gpus, self.device_wires, self.in_flight)

    def gates(self, seed: int) -> list[Gate]:
        """Build the circuit: same structure for every seed, other numbers."""
        return by_name(self.family).build(self.n, seed)

    def state_bytes(self) -> int:
        """Return the size of one state."""
        return int(2**self.n * np.dtype(COMPLEX[self.precision]).itemsize)

    def tolerance(self, gates: int) -> float:
        """Bound the relative error of a few amplitudes.

        That of a whole state is at most 1e-6 + 3e-8 per gate in complex64 and 1e-12 in complex128;
        16 amplitudes may be unlucky, and two peers may err in opposite directions: ten times that.
        """
        return 10 * (1e-6 + 3e-8 * gates if self.precision == "single" else 1e-12)


@dataclass(frozen=True)
class Cell:
    """What one peer did in one case; `error` says why there are no seconds.

    seconds: one entry per repetition, each with fresh numbers, after the warm-up.
    extras: medians of the times that do not count, by name.
    facts: of a state in several pieces, where the last one lay and what was moved.
    deviation: relative error of the watched amplitudes of the last repetition.
    """

    family: str
    n: int
    precision: Precision
    gates: int
    peer: str
    variant: str
    seconds: list[float] = field(default_factory=list)
    extras: dict[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    deviation: float | None = None
    correct: bool | None = None
    interleaved: bool = True
    error: str | None = None

    @property
    def median(self) -> float | None:
        """Return the median of the repetitions in seconds."""
        return median(self.seconds) if self.seconds else None

    def to_json(self) -> dict[str, object]:
        """Return plain data, the median included."""
        return {**asdict(self), "median": self.median}


class _Runner:
    """A peer in one variant, going through the repetitions; an error stops this peer alone."""

    def __init__(self, peer: Peer, variant: str) -> None:
        self.peer, self.variant = peer, variant
        self.timings: list[Timing] = []
        self.amplitudes: Amplitudes | None = None
        self.facts: Mapping[str, Any] = {}
        self.error: str | None = None
        self._session: Session | None = None

    def open(self, setup: Setup) -> None:
        try:
            self._session = self.peer.open(setup, self.variant)
        except Exception as error:  # noqa: BLE001 - a peer out of memory must not end the table; it is reported
            self._fail(error)

    def repeat(self, circuits: Sequence[Sequence[Gate]], *, counts: bool, rehearse: bool) -> None:
        """Translate and run one circuit after another, and keep the times if this repetition counts.

        A rehearsal repeats the circuit of the turn before: it warms what the peer before left cold,
        and the circuit that counts still has fresh numbers.
        """
        if self._session is None:
            return
        try:
            sleep(PAUSE)
            if rehearse:
                self._session.run()
            for gates in circuits:
                self._session.load(gates)
                timing = self._session.run()
                if counts:
                    self.timings.append(timing)
        except Exception as error:  # noqa: BLE001 - as above
            self._fail(error)

    def finish(self) -> None:
        """Read the watched amplitudes of the last repetition and give the memory back."""
        if self._session is None:
            return
        try:
            self.facts = self._session.facts()
            self.amplitudes = self._session.amplitudes()
            self._session.close()
        except Exception as error:  # noqa: BLE001 - as above
            self._fail(error)
        self._session = None

    def _fail(self, error: Exception) -> None:
        self.error = f"{type(error).__name__}: {error}"
        self.timings.clear()
        self._session = None


def watched(n: int) -> tuple[int, ...]:
    """Choose the amplitudes to compare: both ends and 14 in between (reading more would cost qsim time)."""
    if n <= 4:
        return tuple(range(2**n))
    rng = np.random.default_rng(n)
    return (0, 2**n - 1, *(int(i) for i in rng.integers(1, 2**n - 1, 14)))


def able(case: Case, peers: Sequence[Peer]) -> tuple[list[Peer], dict[str, str]]:
    """Return the peers that can hold such a state and, by name, why the others cannot."""
    setup, here, refused = case.setup(1, (0,)), [], {}
    for peer in peers:
        try:
            peer.variants(setup)
            here.append(peer)
        except CannotDivide as error:
            refused[peer.name] = str(error)
    return here, refused


def measure(
    case: Case,
    peers: Sequence[Peer],
    *,
    threads: int,
    repeat: int,
    warmup: int,
    memory: int,
    host_memory: int | None = None,
    seed: int = 0,
) -> list[Cell]:
    """Run every peer on one case; all of them must be `able`.

    memory, host_memory: bytes of each device, and of the host beside it (None where the device is the host).

    Interleaved: repetition by repetition, all peers in turn, a different one first each time, so
    that drift of clocks and neighbours on the machine fall on everybody alike. Where the memory
    does not hold a state of each peer at once, one peer after the other instead; the cells say so.
    """
    setup = case.setup(threads, watched(case.n))
    runners = [
        _Runner(peer, variant)
        for peer in peers
        if case.precision in peer.precisions
        for variant in peer.variants(setup)
    ]
    interleaved = _fits(len(runners), setup, memory, host_memory)
    turns = [runners] if interleaved else [[runner] for runner in runners]
    small = case.n <= REHEARSAL_LIMIT
    rounds = ROUNDS if small else 1
    gates: list[Gate] = []
    for turn in turns:
        for runner in turn:
            runner.open(setup)
        for k in range(warmup + repeat):
            circuits = [case.gates(seed + rounds * k + round_) for round_ in range(rounds)]
            gates = circuits[-1]
            for runner in turn[k % len(turn) :] + turn[: k % len(turn)]:
                runner.repeat(circuits, counts=k >= warmup, rehearse=k > 0 and small)
        for runner in turn:
            runner.finish()
    return _cells(case, runners, gates, interleaved)


def _fits(sessions: int, setup: Setup, memory: int, host_memory: int | None) -> bool:
    """Whether the states of so many sessions fit side by side."""
    device, host = setup.held()
    if host_memory is None:
        return sessions * (device * setup.gpus + host) < 0.8 * memory
    return sessions * device < 0.8 * memory and sessions * host < 0.8 * host_memory


def _cells(case: Case, runners: Sequence[_Runner], gates: Sequence[Gate], interleaved: bool) -> list[Cell]:
    """Compare the amplitudes of the last repetition and write everything down."""
    reference = _reference(case, runners, gates)
    cells = []
    for runner in runners:
        deviation = None
        if runner.amplitudes is not None and reference is not None:
            deviation = _deviation(runner.amplitudes, reference, case.n)
        names = runner.timings[0].extras if runner.timings else {}
        extras = {name: median(t.extras[name] for t in runner.timings) for name in names}
        cells.append(
            Cell(
                *(case.family, case.n, case.precision, len(gates), runner.peer.name, runner.variant),
                seconds=[t.seconds for t in runner.timings],
                extras=extras,
                facts=runner.facts,
                deviation=deviation,
                correct=None if deviation is None else deviation <= case.tolerance(len(gates)),
                interleaved=interleaved,
                error=runner.error,
            )
        )
    return cells


def _reference(case: Case, runners: Sequence[_Runner], gates: Sequence[Gate]) -> Amplitudes | None:
    """Return what the watched amplitudes should be: the oracle's, else those of somebody else.

    Above the oracle's reach a peer that is not ours is believed first, so a deviation is ours.
    """
    if case.n <= ORACLE_LIMIT:
        return simulate(gates, case.n)[list(watched(case.n))]
    answers = [r for r in runners if r.amplitudes is not None]
    answers.sort(key=lambda r: r.peer.name == "ours")
    return answers[0].amplitudes if len(answers) > 1 else None


def _deviation(amplitudes: Amplitudes, reference: Amplitudes, n: int) -> float:
    """Return the relative error of a sample of amplitudes.

    Relative to the sample's own length, or to that of a typical sample where this one happens to
    have little weight.
    """
    scale = max(float(np.linalg.norm(reference)), sqrt(len(reference) / 2**n))
    return float(np.linalg.norm(amplitudes - reference)) / scale
