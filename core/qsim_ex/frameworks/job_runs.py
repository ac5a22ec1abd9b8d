"""The runs of the engine behind one call of a framework, and the checkpoint that they share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qsim_ex.comm.connection import asked
from qsim_ex.execution.job_checkpoint import JobCheckpoint
from qsim_ex.later import later
from qsim_ex.observe.seeding import fresh_job_seed
from qsim_ex.options import Options
from qsim_ex.simulator import Simulator

if TYPE_CHECKING:
    from qsim_ex.run import over_ranks
else:
    over_ranks = later("qsim_ex.run.over_ranks")


def digest(*parts: object) -> str:
    """Return a short digest of what tells a job from others; parts: objects whose `repr` tells them apart."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def job_checkpoint(options: Options, key: str, runs: int, seed: int | None) -> JobCheckpoint:
    """Return the checkpoint of a job whose options ask for one; see `JobCheckpoint` for what it raises.

    key: a digest of what the job computes, but for its seed. runs: how many runs it has at most.
    """
    checkpoint: Any = options.checkpoint
    return JobCheckpoint(getattr(checkpoint, "path", checkpoint), key, runs, seed, options.processes)


class JobRuns:
    """The runs that a call consists of, one after the other.

    Where the options ask for a checkpoint, each run has one of its own. A run that had ended before the process was
    killed returns its result from its checkpoint.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._checkpoint: JobCheckpoint | None = None
        self._begun = 0

    @property
    def options(self) -> Options:
        """The options of all runs."""
        return self._simulator.options

    @property
    def waits_for_checkpoint(self) -> bool:
        """Whether the options ask for a checkpoint and `begin` was not called yet."""
        return self._checkpoint is None and self.options.checkpoint is not None

    def begin(self, key: Callable[[], str], runs: int, seed: int | None, num_wires: int = 0) -> int:
        """Open the checkpoint, if there is to be one, and return the job's seed.

        The seed is the given one, or else that of the checkpoint's file, or a fresh one; of processes that share a
        state of `num_wires` wires, the most that a circuit has, it is that of the first. key, runs: see
        `job_checkpoint`; the key is made only where there is a checkpoint.
        """
        if self.waits_for_checkpoint:
            self._checkpoint = job_checkpoint(self.options, key(), runs, seed)
            found = self._checkpoint.seed
        else:
            found = fresh_job_seed() if seed is None else seed
        if seed is not None or not asked(self.options.processes):
            return found
        return over_ranks.agreed_seed(self.options, num_wires, found)

    def next(self) -> Simulator:
        """Return the simulator of the next run."""
        if self._checkpoint is None:
            return self._simulator
        self._begun += 1
        return Simulator(self.options.with_({"checkpoint": self._checkpoint.part(self._begun - 1)}))

    def unkept(self) -> Simulator:
        """Return a simulator without a checkpoint, for example for a state that was computed already."""
        if self._checkpoint is None:
            return self._simulator
        return Simulator(self.options.with_({"checkpoint": None}))

    def end(self) -> None:
        """Remove all files of the job, whose runs have ended."""
        if self._checkpoint is not None:
            self._checkpoint.end()
