"""The rule that chooses between compiling a sweep's kernel and interpreting the sweep.

Compiling costs a third of a second of one core or more for each kernel, once; interpreting costs about twice the
kernel's own time, at every run. With ``compile='auto'`` nobody waits for the compiler: runs are interpreted until a
kernel is there. It is made in the background if

1. the structure of its sweep has been prepared `RETURNS` times already, and so is likely to run again; or
2. compiling is cheaper than what interpreting has cost so far and would cost now. Kernels are compiled at the same
   time, one on each core, so this is decided for one round after another, the costliest sweeps first. (The cost is at
   most twice that of the best choice in hindsight.)

'always' compiles every sweep before it runs, and 'never' none. Predictions are rough on purpose: they only have to tell
microseconds from seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qsim_ex import thresholds
from qsim_ex.precision import Precision

RETURNS = 2
"""The number of interpreted runs after which a structure is compiled."""

COMPILE_SECONDS = 0.6
"""The time of a round of kernels, one on each core. One alone needed 0.1 to 0.5 s on three kinds of 2020s server CPUs,
sixteen at once on sixteen cores 0.4 to 1.4."""

BYTES_PER_SECOND = 2e12
"""The rate at which a sweep moves bytes; a large GPU reaches 4e12, a small one 0.4e12."""

SLOWDOWN = 2.0
"""Interpreted time over compiled time (1.7 to 3 were measured at 28 bits, the most where a kernel does least)."""

LAUNCH_SECONDS = 5e-6
"""The extra time of an interpreted sweep for a state of any size."""

LOOK_SECONDS = 2e-3
"""The time to write a kernel's text and look for its machine code on disk (1 to 8 ms were measured)."""


class CandidateSweep(NamedTuple):
    """A sweep for which compiling or interpreting is chosen.

    at_hand: whether its compiled kernel is loaded.
    runs: how often its structure was interpreted before.
    bits: log2 of the amplitudes that it visits.
    """

    at_hand: bool
    runs: int
    bits: int


def extra_seconds(bits: int, precision: Precision) -> float:
    """Return the time by which interpreting a sweep over 2^bits amplitudes is slower than its compiled kernel."""
    return LAUNCH_SECONDS + (SLOWDOWN - 1) * precision.storage.nbytes(2 << bits) / BYTES_PER_SECOND


def loads(bits: int, precision: Precision) -> bool:
    """Return whether a run that has to load a sweep's kernel from disk gains by it."""
    return int(1e6 * extra_seconds(bits, precision)) > thresholds.now.loaded_microseconds


def may_choose(runs: int, bits: int, precision: Precision) -> bool:
    """Return whether `choose` may take some of the sweeps over at most 2^bits amplitudes that ran at most so often."""
    return runs >= RETURNS or extra_seconds(bits, precision) * (runs + 1) > LOOK_SECONDS


def choose(candidates: Sequence[CandidateSweep], precision: Precision, cores: int) -> tuple[bool, ...]:
    """Return for each sweep whether it has a kernel or is to get one."""
    chosen = [candidate.at_hand or candidate.runs >= RETURNS for candidate in candidates]
    costs = [extra_seconds(c.bits, precision) * (c.runs + 1) for c in candidates]
    new = [k for k, candidate in enumerate(candidates) if not candidate.at_hand and costs[k] > LOOK_SECONDS]
    new.sort(key=lambda k: -costs[k])
    for start in range(0, len(new), max(1, cores)):
        round_ = new[start : start + max(1, cores)]
        if sum(costs[k] for k in round_) <= COMPILE_SECONDS:
            break
        for k in round_:
            chosen[k] = True
    return tuple(chosen)
