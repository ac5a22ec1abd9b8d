"""The runs of the engine behind one call of the simulator, with their seeds and their checkpoint."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import cirq
import numpy as np

from qsim_ex import Simulator
from qsim_ex.errors import OptionError
from qsim_ex.frameworks import JobRuns, binding_groups, digest, remember_drawn
from qsim_ex_cirq.translation.translation import Translation


class SeedStream:
    """The seeds of a simulator's runs, made of what Cirq takes for a seed; equal seeds give equal runs in order.

    A number that was given is the seed of the first run, so the engine, or another framework's simulator, draws the
    same shots from it. given: whether there was one. Raises `OptionError`.
    """

    def __init__(self, given: object) -> None:
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
        """Return the seed of the next run."""
        try:
            seed = self._first.popleft()
        except IndexError:  # and no check first, which two threads could pass
            seed = int(self._draw(1 << 62, dtype=np.int64))
        if not self.given:
            remember_drawn([seed])
        return seed


class SweepRuns:
    """The runs of the engine for the points of a call, and their seeds.

    Each point has the next seed of the simulator; where there is a checkpoint and no seed was given, the points have
    seeds that come from that of the checkpoint's file. most: how many runs there are at most.
    """

    def __init__(self, engine: Simulator, seeds: SeedStream, most: int) -> None:
        self.job = JobRuns(engine)
        self._seeds = seeds
        self._most = most

    def seeds(self, count: int, key: Callable[[], str], num_wires: int) -> list[int]:
        """Return the seeds of the next points; key: tells the call from others, made for the first points only.

        num_wires: the most that any circuit has.
        """
        found: list[int] = []
        if count and self.job.waits_for_checkpoint:
            given = self._seeds() if self._seeds.given else None
            seed = self.job.begin(key, self._most, given, num_wires)
            if given is None:
                self._seeds = SeedStream(seed % (1 << 32))  # which is what Cirq takes for a seed, to run it again
                self._seeds.given = False
            else:
                found.append(given)
        return found + [self._seeds() for _ in range(count - len(found))]


def key_of(translations: Sequence[Translation], *asked: object) -> str:
    """Return a digest of circuits, their numbers and their readout errors, and of what is asked of them."""
    groups = binding_groups([one.sweep for one in translations], [one.readout for one in translations])
    return digest(*(group.key() for group in groups), asked)
