"""The trajectories of a run that ranks share out, and the sum of what each of them has collected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qsim_ex.comm.protocol import Communicator
from qsim_ex.observe.sampling import STEP

if TYPE_CHECKING:
    from qsim_ex.run.collector import Collector


def trajectories_of(ranks: Communicator, trajectories: int) -> tuple[int, int]:
    """Return the first trajectory of this rank, and the one behind its last; blocks of random numbers stay whole."""
    steps = -(-trajectories // STEP)
    begin, end = (STEP * (steps * rank // ranks.size) for rank in (ranks.rank, ranks.rank + 1))
    return begin, min(end, trajectories)


def add_up(ranks: Communicator, collector: Collector) -> None:
    """Give every rank what all of them have collected: each shot comes from one rank, and is zero on all others."""
    if collector.packed is not None:
        collector.packed[...] = ranks.allreduce(collector.packed)
    collector.sums[...] = ranks.allreduce(collector.sums)
    collector.squares[...] = ranks.allreduce(collector.squares)
