"""The checkpoints of a run over several processes: all write the state, one writes the results, all read both.

All processes see one folder. They continue together; there may be more or fewer of them than before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from qsim_ex.comm.agreed import require_same
from qsim_ex.comm.protocol import Communicator
from qsim_ex.execution.checkpoints import Arrays, Checkpoints, Digests
from qsim_ex.options import Checkpoint
from qsim_ex.steps.layout import Levels


class CheckpointsOfRanks(Checkpoints):
    """The checkpoints of one run, on one of its ranks; all ranks make the same calls."""

    def __init__(
        self,
        ranks: Communicator,
        where: Checkpoint,
        every: float,
        identity: Mapping[str, object],
        seeds: Sequence[int] | None,
        fresh_seeds: Callable[[], Sequence[int]],
        *,
        one_by_one: bool,
        levels: Levels,
        digests: Digests,
    ) -> None:
        super().__init__(
            where, every, identity, seeds, fresh_seeds, one_by_one=one_by_one, levels=levels, digests=digests
        )
        self._ranks = ranks
        self._warned = ranks.rank > 0  # one warning is enough
        known = None if self.state is None else (self.state.about, self.state.content)
        told = {"of the state": known, "of the results": sorted(self.found), "seeds of the checkpoint": self.seeds}
        require_same(ranks, {f"checkpoint {self.path}, {name}": value for name, value in told.items()})

    def due(self) -> bool:
        """Return whether the next checkpoint should be written now, by the clock of rank 0."""
        return bool(self._ranks.broadcast(super().due()))

    def write_found(self, arrays: Arrays) -> bool:
        """Write the results so far on rank 0, which has them as all others do; return whether that succeeded."""
        written = super().write_found(arrays) if self._ranks.rank == 0 else True
        self.unwritten = not self._ranks.broadcast(written)
        return not self.unwritten

    def remove(self) -> None:
        """Remove all files, on rank 0."""
        if self._ranks.rank == 0:
            super().remove()
