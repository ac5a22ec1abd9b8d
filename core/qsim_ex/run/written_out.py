"""What is written out of a circuit's form in its place, where that is predicted to be faster.

A circuit has nearly the same form in every basis (`planning.form`), so what is written out of it does not take longer
where a transpiler wrote the circuit in the gates of a machine. One circuit is written for all bindings of a structure
(`planning.written_bindings`); where there is none, that of one binding is written for it alone. Where it is not faster
than the circuit as it came, that is run, and its structure is not tried again there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.ops import Measure, Op, Permutation, Save
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.devices.hypothetical import HypotheticalDevice
from qsim_ex.devices.memory import state_bytes
from qsim_ex.execution.costs import total_of
from qsim_ex.options import Options
from qsim_ex.placement.deployment import Deployment
from qsim_ex.planning.behind import before
from qsim_ex.planning.compiled import MOST_WIRES
from qsim_ex.planning.cost.first_run import interpreted_longer
from qsim_ex.planning.cost.rates import Rates
from qsim_ex.planning.form import UNBOUNDED
from qsim_ex.planning.written import Manner, WrittenCircuit
from qsim_ex.planning.written import written_out as write
from qsim_ex.planning.written_bindings import WrittenBindings
from qsim_ex.program.program import Program
from qsim_ex.run.tried import Tried
from qsim_ex.run.tried import tried as tried_of
from qsim_ex.steps.compiled import arrays_of
from qsim_ex.steps.plan import Plan

FACT = "written"
"""The fact of a result that says in which words its circuit was run."""

AS = "as Pauli rotations"
AS_ONE = f"{AS}, for this binding alone"


class Where(NamedTuple):
    """Where a circuit is to run."""

    device: HypotheticalDevice
    deployment: Deployment
    options: Options

    @property
    def rates(self) -> Rates:
        """How fast it is there, as nearly as two ways to run one circuit are compared by it."""
        return self.device.rates(self.options.dtype, self.options.threads).shared(self.options.virtual_peers)

    def at_first(self, plans: Sequence[Plan]) -> float:
        """Return by how many seconds some plans take longer there in a first run: sweeps may be interpreted."""
        if not self.device.interprets or self.options.compile == "always":
            return 0.0
        native = [arrays_of(plan.steps) for plan in plans if plan.steps]
        return sum(interpreted_longer(one, self.deployment.num_wires, self.rates) for one in native if one)

    def seconds(self, plans: Sequence[Plan]) -> float:
        """Return how long some plans take there."""
        native = [arrays_of(plan.steps) for plan in plans if plan.steps]
        if None in native:
            return total_of(plans, self.options.dtype, self.deployment, self.rates).seconds
        one = 2 * state_bytes(self.deployment.num_wires, self.options.dtype) / self.rates.memory
        return one * sum(arrays.passes for arrays in native if arrays)


Planned = Callable[[Circuit], tuple[Program, Sequence[Plan]]]


class Written(NamedTuple):
    """What runs in the place of a circuit: another one with its bindings, and its program.

    fact: how it was written. observables: those whose values are asked for behind it.
    """

    circuit: Circuit
    program: Program
    bound: Bindings
    fact: str
    observables: tuple[PauliSum, ...]


def written_out(
    structure: Structure,
    bound: Bindings,
    plans: Callable[[], Sequence[Plan]],
    where: Where,
    planned: Planned,
    *,
    again: bool = False,
    values: tuple[PauliSum, ...] = (),
) -> Written | None:
    """Return what runs in place of some bindings of a structure; None if that is not faster.

    plans: returns those of its segments. planned: makes the program of what is written, and its plans. again: whether
    the circuit comes again, so that planning need not pay within this run. values: the observables, if their values are
    all that is asked for; then the Clifford operator at the end is left out, and they are others.
    """
    if not thresholds.now.written_percent:
        return None
    tried = tried_of(
        structure, where.deployment, where.options.dtype, where.options.threads, bound.count > 1, bool(values)
    )
    if tried.slower:
        return None
    made, now = plans(), thresholds.now
    seconds = where.seconds(made)
    if int(1e6 * seconds * bound.count) < now.written_microseconds:
        tried.slower = bound.count == 1  # a larger batch may take longer
        return None
    tried.spent += int(1e6 * (seconds + where.at_first(made)) * bound.count)
    if not again and tried.waits():
        return None
    most, usual = where.rates.surely * seconds, most_rotations(structure)
    rotations = usual if again else tried.affordable(usual)
    for first, fact in _candidates(structure, bound, seconds, tried, rotations):
        gates, tried.rotations = len(first.structure.instructions), rotations
        if tried.faster is None and not (again or tried.pays(gates)):
            tried.looked = tried.spent
            return None
        ways = _ways(first, tried, gates, again)
        if found := _fastest(ways, bound, where, planned, tried, most, bool(values)):
            written, program = found
            numbers = partial(_numbers, written, bound)
            other = Bindings.of(numbers(0, 1)) if bound.count == 1 else Bindings(bound.count, numbers)
            behind = before(written.last_gates(), values) if values else ()
            return Written(_circuit(written, bound, bool(values)), program, other, fact, behind)
        tried.alone = True
    if rotations != usual and tried.rotations is None:
        tried.looked = tried.spent
    else:
        tried.slower = True
    return None


def most_rotations(structure: Structure) -> int:
    """Return the most rotations of a form that is written at all."""
    now = thresholds.now
    if not now.gates_of_a_rotation:
        return UNBOUNDED
    return min(_gates_of(structure) // now.gates_of_a_rotation, now.written_rotations)


def _in_manners(first: WrittenCircuit, manners: Sequence[Manner]) -> Iterator[tuple[Manner, WrittenCircuit]]:
    """Yield what is written in some manners; and what was written first if nothing is in any of them."""
    some = False
    for manner in manners:
        if written := first if manner is first.manner else first.again(manner):
            some = True
            yield manner, written
    if not some:
        yield first.manner, first


def _ways(first: WrittenCircuit, tried: Tried, gates: int, again: bool) -> Iterator[tuple[Manner, WrittenCircuit]]:
    """Yield what is to be planned; clusters, too, which are few gates, where nothing that was planned is faster."""
    yield from _in_manners(first, tried.manners(gates, again))
    if again or tried.faster is not None or first.manner is Manner.CLUSTERS:
        return
    shorter = first.again(Manner.CLUSTERS)
    if shorter and tried.pays(len(shorter.structure.instructions)):
        yield shorter.manner, shorter


def _percent(seconds: float, of: float) -> int:
    """Return a time in whole percent of another one."""
    return int(100 * seconds / of) if of else 100


def _fastest(
    ways: Iterable[tuple[Manner, WrittenCircuit]],
    bound: Bindings,
    where: Where,
    planned: Planned,
    tried: Tried,
    most: float,
    only_values: bool,
) -> tuple[WrittenCircuit, Program] | None:
    """Return what takes the least time of what is written in some ways, and its program; None if all take too long."""
    best, least = None, math.inf
    for manner, written in ways:
        circuit = _circuit(written, bound, only_values)
        program, plans = planned(circuit)
        seconds = where.seconds(plans)
        if (_percent(seconds, most) < thresholds.now.written_percent and seconds < least) or (
            tried.faster is circuit.structure
        ):
            least, best = min(least, seconds), (written, program)
            tried.faster, tried.manner = circuit.structure, manner
        if manner is not Manner.CLUSTERS or tried.compared >= manner:  # it may come before others
            tried.compared = max(tried.compared, manner + 1)
    return best


def _circuit(written: WrittenCircuit, bound: Bindings, only_values: bool) -> Circuit:
    """Return what is written for the first of some bindings, without the operator at the end for values alone."""
    structure = written.without_last() if only_values else written.structure
    return Circuit.of_structure(structure, _numbers(written, bound, 0, 1))


def _numbers(written: WrittenCircuit, bound: Bindings, begin: int, end: int) -> NDArray[np.complex128]:
    return written.numbers(bound.operands(begin, end))


def _candidates(
    structure: Structure, bound: Bindings, seconds: float, tried: Tried, rotations: int
) -> Iterator[tuple[WrittenCircuit, str]]:
    """Yield what may run in place of some bindings, each of which takes some seconds; nothing where it would not pay.

    It is what is written for all bindings, or for this one alone, if that is something else.
    """
    now, gates = thresholds.now, _gates_of(structure)
    if not gates or int(1e9 * seconds) < now.written_nanoseconds * gates:
        return
    limits = int(1e6 * seconds), rotations
    known = written_bindings(structure, gates, *limits)
    if not tried.alone and (written := known.of(bound)):
        yield written, AS
    if bound.count > 1 or known.compares_nothing:
        return
    if written := _alone(structure, gates, *limits, bound.operands(0, 1).tobytes()):
        yield written, AS_ONE


@lru_cache(maxsize=1024)
def _gates_of(structure: Structure) -> int:
    """Return how many gates a circuit begins with, if measurements and saves are all that follows; else 0."""
    if structure.num_qubits > MOST_WIRES or not structure.kinds <= {Op, Permutation, Measure, Save}:
        return 0
    if structure.only_gates:
        return len(structure.instructions)
    kinds = list(map(type, structure.instructions))
    gates = next((k for k, kind in enumerate(kinds) if kind in (Measure, Save)), len(kinds))
    return gates if {Op, Permutation}.isdisjoint(kinds[gates:]) else 0


@lru_cache(maxsize=32)  # each with numbers of a few of its bindings
def written_bindings(structure: Structure, gates: int, microseconds: int, rotations: int) -> WrittenBindings:
    """Return what is written out of the gates that a structure begins with.

    microseconds: of the run in whose place. rotations: the most that its form may have.
    """
    only = structure_of(structure.num_qubits, 0, structure.instructions[:gates])
    return WrittenBindings(only, partial(_written, structure, gates, microseconds, rotations))


@lru_cache(maxsize=8)  # each with all numbers of its circuit
def _alone(
    structure: Structure, gates: int, microseconds: int, rotations: int, operands: bytes
) -> WrittenCircuit | None:
    """Return what is written for one binding alone."""
    numbers: NDArray[np.complex128] = np.frombuffer(operands, dtype=np.complex128)[None]
    only = structure_of(structure.num_qubits, 0, structure.instructions[:gates])
    return _written(structure, gates, microseconds, rotations, Circuit.of_structure(only, numbers))


def _written(
    structure: Structure, gates: int, microseconds: int, rotations: int, given: Circuit
) -> WrittenCircuit | None:
    """Return what is written of gates, with all that stands behind them; None if it cannot be, or promises nothing."""
    found = write(given, most_rotations=rotations, microseconds=microseconds, zeros=True)
    if found is None:
        return None
    return _WithEnd(structure, gates)(found)


class _WithEnd:
    """Puts what stands behind the gates of a structure behind what is written of them, in each manner."""

    def __init__(self, structure: Structure, gates: int) -> None:
        self._num_wires, self._num_clbits = structure.num_qubits, structure.num_clbits
        self._behind = structure.instructions[gates:]

    def __call__(self, gates: WrittenCircuit) -> WrittenCircuit:
        """Return what is written of gates, with the end behind it. What is written in other manners is kept with it."""
        whole = structure_of(self._num_wires, self._num_clbits, (*gates.structure.instructions, *self._behind))
        return WrittenCircuit(whole, gates.numbers, gates.last, gates.manner, cache(partial(self._again, gates)))

    def _again(self, gates: WrittenCircuit, manner: Manner) -> WrittenCircuit | None:
        other = gates.again(manner)
        return other and self(other)


thresholds.depends(written_bindings)
thresholds.depends(_alone)
