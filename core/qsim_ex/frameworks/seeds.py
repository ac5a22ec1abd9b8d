"""Seeds of the runs that a call of a framework consists of, all made of one base seed.

`numpy.random.SeedSequence` makes them, so that the random numbers of different places are independent, and a run has
the same seed whatever the number of runs. `sampling.fresh_job_seed` makes a base seed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.comm import connection, launcher
from qsim_ex.observe.sampling import remember_drawn, were_drawn
from qsim_ex.options import Options


def job_seeds(base: int, count: int) -> list[int]:
    """Return the seeds of a job's circuits: the base seed for the first, derived ones below 2^63 for the others."""
    derived = (derived_seeds(base, count) >> np.uint64(1)).tolist() if count > 1 else []
    found: list[int] = [base, *derived[1:]][:count]
    _remember(base, found)
    return found


def may_be_divided(options: Options) -> bool:
    """Return whether states may be divided over processes, which then make their calls in one order."""
    return bool(launcher.LAUNCHED or connection.CONNECTED.is_set()) and connection.asked(options.processes)


def derived_seeds(base: int, count: int, *place: int) -> NDArray[np.uint64]:
    """Return `count` seeds for a place in a job, such as a PUB and what is random in it: uint64 [count]."""
    made = np.random.SeedSequence(base, spawn_key=place).generate_state(count, np.uint64)
    _remember(base, made)
    return made.astype(np.uint64, copy=False)


def _remember(base: int, seeds: Sequence[int] | NDArray[np.generic]) -> None:
    """Remember that no user gave these seeds, if none gave the base; without other processes nobody asks."""
    if (launcher.LAUNCHED or connection.CONNECTED.is_set()) and were_drawn([base]):
        remember_drawn(map(int, seeds))


def random_generator(base: int, *place: int) -> np.random.Generator:
    """Return a generator for what a framework itself draws at a place in a job."""
    return np.random.default_rng(np.random.SeedSequence(base, spawn_key=place))
