"""The rule that chooses between compiling a sweep's kernel and interpreting the sweep.

Compiling costs about a quarter of a second of one core for each kernel, once; interpreting costs a few times the
kernel's own time, at every run. So, with ``compile='auto'``, a sweep runs as a compiled kernel if

1. its kernel is at hand, in memory or on disk; or
2. its structure has been prepared `RETURNS` times already: what came back will come back; or
3. what interpreting has cost so far and would cost now, over all sweeps still to be compiled, is more than compiling
   them. (Nobody pays more than twice what they would have paid had they known.)

Otherwise it is interpreted. 'always' and 'never' mean what they say. Predictions are rough on purpose: they only
have to tell microseconds from seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

RETURNS = 2
"""After so many runs that were interpreted, a structure is compiled."""

COMPILE_SECONDS = 0.3
"""What one kernel costs one core; three kinds of 2020s server CPUs needed 0.1 to 0.5."""

BYTES_PER_SECOND = 2e12
"""What a sweep moves; a large GPU reaches 4e12, a small one 0.4e12."""

SLOWDOWN = 4.0
"""Interpreted time over compiled time (3 to 5 were measured at 28 bits)."""

LAUNCH_SECONDS = 5e-6
"""What an interpreted sweep costs more however small the state is."""

LOOK_SECONDS = 0.5e-3
"""What it costs to write a kernel's text and to look for its machine code on disk."""


class Candidate(NamedTuple):
    """A sweep for which one of the two is chosen.

    at_hand: whether its compiled kernel is in memory or on disk.
    runs: how often its structure was interpreted before.
    """

    at_hand: bool
    runs: int


def extra_seconds(num_bits: int, itemsize: int) -> float:
    """What interpreting one sweep costs more than running its compiled kernel."""
    return LAUNCH_SECONDS + (SLOWDOWN - 1) * (2 << num_bits) * itemsize / BYTES_PER_SECOND


def worth_a_look(num_bits: int, itemsize: int, runs: int) -> bool:
    """Whether a kernel is so much as written and looked up on disk, which takes milliseconds in Python."""
    return runs > 0 or extra_seconds(num_bits, itemsize) > LOOK_SECONDS


def choose(
    candidates: Sequence[Candidate], num_bits: int, itemsize: int, cores: int, compile: str = "auto"
) -> tuple[bool, ...]:
    """For each sweep whether its kernel is compiled (or loaded) rather than interpreted."""
    if compile != "auto":
        return (compile == "always",) * len(candidates)
    new = [candidate for candidate in candidates if not candidate.at_hand]
    rounds = -(-len(new) // max(1, cores))
    extra = extra_seconds(num_bits, itemsize) * sum(candidate.runs + 1 for candidate in new)
    all_new = extra > COMPILE_SECONDS * rounds
    return tuple(c.at_hand or c.runs >= RETURNS or all_new for c in candidates)
