"""The runs of the engine behind one call of a framework: bindings that one run takes together, and their checkpoint."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise.readout import ReadoutErrors, key_of
from qsim_ex.circuit.parameters.bindings import Bindings, Operands
from qsim_ex.circuit.parameters.sweep import Numbers, ParameterSweep, bindings_of
from qsim_ex.circuit.structure import Structure
from qsim_ex.comm.connection import asked
from qsim_ex.execution.job_checkpoint import JobCheckpoint
from qsim_ex.later import later
from qsim_ex.observe.seeding import fresh_job_seed
from qsim_ex.options import Options
from qsim_ex.result import BatchResult
from qsim_ex.simulator import Simulator

if TYPE_CHECKING:
    from qsim_ex.run import over_ranks
else:
    over_ranks = later("qsim_ex.run.over_ranks")


@dataclass(frozen=True, eq=False, slots=True)
class BindingGroup:
    """Bindings of one structure whose classical bits are misread alike; member k is ``binding[k]`` of a sweep.

    template: a circuit that has the structure. sweep: of each member which of `sweeps` it is of, int [members],
    increasing. places: the number of each member among all bindings that were grouped, in increasing order, as a list
    of Python's numbers.
    """

    template: Circuit
    sweeps: tuple[ParameterSweep, ...]
    sweep: Numbers
    binding: Numbers
    places: list[int]
    readout_errors: ReadoutErrors

    def __len__(self) -> int:
        """Return the number of bindings."""
        return len(self.places)

    def run(self, simulator: Simulator, seeds: Sequence[int], **requested: Any) -> BatchResult:
        """Run all bindings, each with its seed; requested: other arguments of `Simulator.run_batch`."""
        alone = len(self.sweeps) == len(self.places) == 1 and not self.sweeps[0].swept  # the template's own numbers
        bindings = None if alone else self.bindings()
        return simulator.run_batch(self.template, bindings, seeds=seeds, readout=self.readout_errors, **requested)

    def operands(self, begin: int, end: int) -> Operands:
        """Return the operands of the members from `begin` up to `end`, complex128 [end − begin, total]."""
        if len(self.sweeps) == 1:
            return self.sweeps[0].operands(self.binding[begin:end])
        owners, first = np.unique(self.sweep[begin:end], return_index=True)
        parts = np.split(self.binding[begin:end], first[1:])
        found = [self.sweeps[owner].operands(part) for owner, part in zip(owners.tolist(), parts, strict=True)]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def bindings(self) -> Bindings:
        """Return the operands of all members; see `bindings_of`."""
        return bindings_of(self.template, len(self), self.operands)

    def among(self, places: NDArray[np.intp]) -> BindingGroup:
        """Return the group of those bindings whose numbers are in `places`; it may be empty."""
        if self.places == places.tolist():
            return self
        own = np.array(self.places)
        chosen = np.isin(own, places)
        if chosen.all():
            return self
        return replace(self, sweep=self.sweep[chosen], binding=self.binding[chosen], places=own[chosen].tolist())

    def key(self) -> str:
        """Return what tells this work from other work: a digest of structure, numbers, places and readout errors."""
        digest = hashlib.blake2b(self.template.key.encode(), digest_size=8)
        digest.update(np.array(self.places, dtype=np.int64).tobytes())
        for begin, end in thresholds.pieces(len(self), thresholds.now.bindings_at_once):
            digest.update(self.operands(begin, end).tobytes())
        return f"{digest.hexdigest()} {key_of(self.readout_errors)!r}"


def binding_groups(sweeps: Sequence[ParameterSweep], readout_errors: Sequence[ReadoutErrors]) -> list[BindingGroup]:
    """Group the bindings of all sweeps; groups come in the order of their first bindings.

    readout_errors: how the classical bits of each sweep are misread.
    """
    grouped: dict[tuple[Structure, Hashable], list[tuple[int, ParameterSweep, ReadoutErrors]]] = {}
    begin = 0
    for sweep, errors in zip(sweeps, readout_errors, strict=True):
        if sweep.count:  # equal structures are one object
            alike = sweep.template.structure, key_of(errors) if errors else ()
            grouped.setdefault(alike, []).append((begin, sweep, errors))
        begin += sweep.count
    return [_group(members) for members in grouped.values()]


_FIRST = np.zeros(1, dtype=np.int64)
_FIRST.flags.writeable = False


def _group(members: list[tuple[int, ParameterSweep, ReadoutErrors]]) -> BindingGroup:
    begins, sweeps, errors = zip(*members, strict=True)
    counts = [sweep.count for sweep in sweeps]
    if counts == [1]:  # a circuit of a job, most often
        sweep = binding = _FIRST
        places = list(begins)
    elif len(members) == 1:
        sweep, binding = np.zeros(counts[0], dtype=np.int64), np.arange(counts[0])
        places = list(range(begins[0], begins[0] + counts[0]))
    else:
        sweep = np.repeat(np.arange(len(members)), counts)
        binding = np.concatenate([np.arange(count) for count in counts])
        places = (np.repeat(begins, counts) + binding).tolist()
    return BindingGroup(sweeps[0].template, sweeps, sweep, binding, places, errors[0])


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
