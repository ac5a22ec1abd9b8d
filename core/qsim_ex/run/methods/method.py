"""What a method says of circuits and does with them, and the ways in which states of a program are simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from qsim_ex.circuit.circuit import Circuit
    from qsim_ex.deployment.assignment import Assignment
    from qsim_ex.options import Options
    from qsim_ex.program.program import Program
    from qsim_ex.program.separation import Separation
    from qsim_ex.result import BatchResult
    from qsim_ex.run.pipeline import BatchCall
    from qsim_ex.run.worker import WorkQueue
    from qsim_ex.steps.layout import Levels
    from qsim_ex.steps.plan import Plan

    Parts = tuple[Separation | None, list[tuple[Circuit, Program]]]


class SimulatesStates(Protocol):
    """The machine of a way: one device, or the devices that share one state.

    rows: the number of states at a time. plans: those of the program's segments, () if it follows none. batched:
    whether several states are simulated at a time. prepare_seconds, run_seconds, bytes_moved: so far.
    """

    where: Assignment
    rows: int
    plans: tuple[Plan, ...]
    prepare_seconds: float
    run_seconds: float

    @property
    def batched(self) -> bool:
        """Whether several states are simulated at a time."""

    @property
    def bytes_moved(self) -> int:
        """Bytes copied so far between devices, and between devices and the host."""

    def plans_on(self, levels: Levels) -> list[tuple[Plan, ...]]:
        """Return what the plans may be where states are divided by other levels, on devices like this one."""


class HasRun(Protocol):
    """What has run states and says how many."""

    @property
    def most_rows(self) -> int:
        """The largest number of states at a time."""

    @property
    def states(self) -> int:
        """The number of all states."""


class RunsUnits(HasRun, Protocol):
    """The worker of a way."""

    def __call__(self, queue: WorkQueue, seeds: Sequence[int]) -> None:
        """Run units of work until none is left."""


@dataclass(frozen=True, slots=True)
class ProgramWay:
    """How states of a program are simulated.

    name: what results call it. machine: makes the machine of an assignment, a program, options and a number of states.
    worker: makes the worker of a machine, a program, a request, a collector, a ticker, checkpoints and the number of
    bindings. suits: whether it simulates a program on a device in a deployment with some options; None: any.
    description: what `explain` says of a program that it suits. names_itself: whether results of programs without
    random choices name it too.
    """

    name: str
    machine: Callable[..., SimulatesStates]
    worker: Callable[..., RunsUnits]
    suits: Callable[..., bool] | None = None
    description: str = ""
    names_itself: bool = False


@dataclass(frozen=True, slots=True)
class Suited:
    """A call that a method takes of its own accord: the reason in words, and what runs it."""

    why: str
    run: Callable[[], BatchResult]

    def result(self) -> BatchResult:
        """Run the call, and return a result that says why its method was chosen."""
        found = self.run()
        facts = {**found.provenance.facts, "method_reason": self.why}
        return replace(found, provenance=replace(found.provenance, facts=facts))


def _never(_call: BatchCall) -> None:
    """Return that a method takes no call of its own accord."""


@dataclass(frozen=True, slots=True)
class RunMethod:
    """One method.

    run: runs a call; raises before it allocates memory what the method does not take. suits: why a call that several
    methods may run is run by this one, and what runs it; None if it is not. run_joined: runs a call whose gates join
    all wires, of which nothing needs to be found out; None: `run` does. parts: the parts of a circuit with their
    programs, as they are planned; None: as of state vectors. adds: what `explain` adds for circuits that it suits.
    heads: what it says of each part before its plans. explains: what it says in place of plans. would_suit: what a call
    that does not fit in memory needs to be run by this method; None if it never would.
    """

    run: Callable[[BatchCall], BatchResult]
    suits: Callable[[BatchCall], Suited | None] = _never
    run_joined: Callable[[BatchCall], BatchResult] | None = None
    parts: Callable[[Circuit, Options], Parts] | None = None
    adds: str = ""
    heads: Callable[[Circuit], str] | None = None
    explains: Callable[[BatchCall], list[str]] | None = None
    would_suit: Callable[[BatchCall], str | None] = _never


@lru_cache(maxsize=16)
def loaded(name: str) -> Any:
    """Return the file of a row by its name, which is imported when a run first needs it."""
    return import_module(f"qsim_ex.run.methods.{name}")
