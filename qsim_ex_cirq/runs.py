"""The runs of the engine behind one call of a simulator: their seeds, and what each leaves on the disk on its way."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import cirq
import numpy as np

from qsim_ex import JobCheckpoint, Simulator
from qsim_ex.circuit.parameters.families import families
from qsim_ex.errors import OptionError
from qsim_ex_cirq.translation import Translation


class Seeds:
    """The seeds of a simulator's runs, from what Cirq takes for a seed; equal ones give equal runs in the same order.

    A number that was given is the seed of the first run, so the engine, or another framework's simulator, draws the
    same shots from it. given: whether there was one. Raises `OptionError`.
    """

    def __init__(self, given: Any) -> None:
        try:
            generator: Any = cirq.value.parse_random_state(given)
            self._draw = generator.integers if isinstance(generator, np.random.Generator) else generator.randint
        except (ValueError, TypeError, AttributeError) as error:
            raise OptionError(
                f"expected a number, a random state of NumPy, or None, got seed={given!r} ({error}); pass seed=7."
            ) from error
        self.given = given is not None
        self._first = deque([int(given)] if isinstance(given, int | np.integer) else [])

    def __call__(self) -> int:
        """The seed of the next run."""
        with suppress(IndexError):  # and not a check first, which two threads could pass
            return self._first.popleft()
        return int(self._draw(1 << 62, dtype=np.int64))


class Runs:
    """What a call asks of the engine, run by run.

    Where the simulator has a checkpoint, each run has one of its own, and those that had ended before a kill give their
    results at once; without a seed the points have those that come from the file's. most: runs that there are at most.
    """

    def __init__(self, engine: Simulator, seeds: Seeds, most: int) -> None:
        self._engine = engine
        self._seeds = seeds
        self._most = most
        self._kept: JobCheckpoint | None = None
        self._begun = 0

    def seeds(self, count: int, key: Callable[[], str]) -> list[int]:
        """Those of the next points; key: tells the call from others, and is asked for by the first points only."""
        checkpoint: Any = self._engine.options.checkpoint
        found: list[int] = []
        if checkpoint is not None and self._kept is None and count:
            given = self._seeds() if self._seeds.given else None
            self._kept = JobCheckpoint(getattr(checkpoint, "path", checkpoint), key(), self._most, given)
            if given is None:
                self._seeds = Seeds(self._kept.seed % (1 << 32))  # which is what Cirq takes for a seed, to run it again
            else:
                found.append(given)
        return found + [self._seeds() for _ in range(count - len(found))]

    def engine(self) -> Simulator:
        """What does the next run."""
        if self._kept is None:
            return self._engine
        self._begun += 1
        return Simulator(self._engine.options.with_({"checkpoint": self._kept.part(self._begun - 1)}))

    def unkept(self) -> Simulator:
        """What holds a state that was found already, which needs no checkpoint."""
        return self._engine if self._kept is None else Simulator(self._engine.options.with_({"checkpoint": None}))

    def end(self) -> None:
        """All runs have ended: nothing is left on the disk."""
        if self._kept is not None:
            self._kept.end()


def key_of(translations: Sequence[Translation], *asked: object) -> str:
    """A digest of circuits and their numbers, and of what is asked of them."""
    parts = [family.key() for family in families(one.sweep for one in translations)]
    return hashlib.blake2b(repr((parts, asked)).encode(), digest_size=8).hexdigest()
