"""Seeds: fresh ones, those that a caller gives, and all that are made of one base seed.

`numpy.random.SeedSequence` makes them, so that the random numbers of different places are independent, and a run has
the same seed whatever the number of runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.comm import connection, launcher
from qsim_ex.errors import OptionError
from qsim_ex.options import Options

_REMEMBERED = 1 << 20
"""The most seeds that are remembered as drawn; their circuits have run long before."""


def fresh_seed() -> int:
    """Return a 64-bit seed from the operating system."""
    return int.from_bytes(os.urandom(8), "little")


def fresh_job_seed() -> int:
    """Return a random base seed of a job, below 2^63 so that every framework and file format can store it."""
    seed = fresh_seed() >> 1
    remember_drawn([seed])
    return seed


_drawn: set[int] = set()
"""Seeds that no user gave, where there are several processes: those that share a state take the seeds of rank 0."""


def remember_drawn(seeds: Iterable[int]) -> None:
    """Remember seeds that were drawn, or made of one that was; without a launcher nobody asks for them."""
    if not _among_several():
        return
    if len(_drawn) > _REMEMBERED:
        _drawn.clear()
    _drawn.update(seeds)


def were_drawn(seeds: Iterable[int]) -> bool:
    """Return whether all seeds are known to be drawn, and given by no user."""
    return bool(_drawn) and _drawn.issuperset(seeds)


def checked_seed(seed: object) -> int:
    """Return a seed from 0 to 2^64 − 1 as a plain integer; raises `OptionError`."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= int(seed) < 1 << 64:
        raise OptionError(f"expected a seed that is a whole number from 0 to 2^64 - 1, got seed={seed!r}; pass seed=7.")
    return int(seed)


class DrawnSeeds(tuple[int, ...]):
    """The seeds of a run over several processes that no user gave: those that rank 0 drew."""

    __slots__ = ()


def seeds_of(seeds: Any, count: int, what: str) -> tuple[int, ...]:
    """Return a seed for each of `count` states or bindings: those given, or made of one; raises `OptionError`."""
    if isinstance(seeds, int | np.integer):
        base = checked_seed(seeds)
        return (base,) if count == 1 else tuple(np.random.SeedSequence(base).generate_state(count, np.uint64).tolist())
    known = tuple(checked_seed(seed) for seed in seeds)
    if len(known) != count:
        raise OptionError(f"expected one seed for each of {count} {what}, or a single seed, got {len(known)} seeds.")
    return known


def given_seeds(seeds: object, count: int, options: Options) -> tuple[int, ...] | None:
    """Return a seed for each binding, given or made of one; None if neither the call nor the options have one."""
    if seeds is None:
        seeds = options.seed
    return None if seeds is None else seeds_of(seeds, count, "bindings")


def fresh_seeds(count: int) -> tuple[int, ...]:
    """Return seeds of bindings, made of one from the operating system."""
    return seeds_of(fresh_seed(), count, "bindings")


def job_seeds(base: int, count: int) -> list[int]:
    """Return the seeds of a job's circuits: the base seed for the first, derived ones below 2^63 for the others."""
    derived = (derived_seeds(base, count) >> np.uint64(1)).tolist() if count > 1 else []
    found: list[int] = [base, *derived[1:]][:count]
    _remember(base, found)
    return found


def may_be_divided(options: Options) -> bool:
    """Return whether states may be divided over processes, which then make their calls in one order."""
    return _among_several() and connection.asked(options.processes)


def derived_seeds(base: int, count: int, *place: int) -> NDArray[np.uint64]:
    """Return `count` seeds for a place in a job, such as a PUB and what is random in it: uint64 [count]."""
    made = np.random.SeedSequence(base, spawn_key=place).generate_state(count, np.uint64)
    _remember(base, made)
    return made.astype(np.uint64, copy=False)


def _remember(base: int, seeds: Sequence[int] | NDArray[np.generic]) -> None:
    """Remember that no user gave these seeds, if none gave the base; without other processes nobody asks."""
    if _among_several() and were_drawn([base]):
        remember_drawn(map(int, seeds))


def random_generator(base: int, *place: int) -> np.random.Generator:
    """Return a generator for what a framework itself draws at a place in a job."""
    return np.random.default_rng(np.random.SeedSequence(base, spawn_key=place))


def _among_several() -> bool:
    """Return whether there are other processes, or will be."""
    return bool(launcher.LAUNCHED or connection.CONNECTED.is_set())
