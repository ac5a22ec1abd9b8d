"""The fast path for new states on a GPU, for loops over the numbers of one circuit.

At 20 wires a GPU finishes before Python has passed the usual way through options, plans and guards. So the common part
of a structure's runs is kept here, once its kernels are settled, and kernels are queued before anything else is made.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.structure import Structure
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.base import Device
from qsim_ex.execution.prepare import loaded, plan_of
from qsim_ex.kernels.giving_way import FIRST_RUNS
from qsim_ex.options import Options
from qsim_ex.placement.single import Single
from qsim_ex.planning.coefficients.binding import fill
from qsim_ex.program.one_state import unitary_program
from qsim_ex.program.program import Program
from qsim_ex.run.where import Where
from qsim_ex.run.written_out import written_out
from qsim_ex.state.vector import StateVector
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan

KEPT = 256
"""Most structures that are kept."""


class _Known(NamedTuple):
    """The plan of a structure, prepared on a device, and its program."""

    device: Device
    plan: Plan
    prepared: Any
    program: Program


class _PlannedCircuit(NamedTuple):
    program: Program
    plan: Plan


class RepeatedCircuit:
    """Applies circuits to |0…0>, in one piece, on devices on which states grow, and returns the state vectors.

    The result and the errors are those of ``StateVector(n, where=where).apply(circuit)``. It reports no progress, and
    cannot be cancelled.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._dtype = options.dtype
        self._known: OrderedDict[Structure, _Known] = OrderedDict()
        thresholds.depends(self)

    def cache_clear(self) -> None:
        """Forget all of it."""
        self._known.clear()

    def __call__(self, circuit: Circuit, where: Assignment) -> StateVector:
        """Return the state vector as soon as its kernels are queued; where: as `Simulator.placement` chooses it."""
        if circuit.structure in self._known:
            return self._run(circuit, where)
        with FIRST_RUNS:
            return self._run(circuit, where)

    def _run(self, circuit: Circuit, where: Assignment) -> StateVector:
        circuit, planned = self._faster(circuit, where)
        known = self._known.get(circuit.structure)
        if known is None or known.device is not where.device:
            known = self._prepared(circuit, where.device, *(planned or self._planned(circuit.structure, where.device)))
        device, plan, prepared, program = known
        numbers = fill(plan.coefficients, circuit.operands[0])
        # The state comes first: a table would be taken out of the block that the state before has left to the pool.
        buffer = device.allocate(1 << plan.num_wires, self._dtype)
        work = prepared, loaded(device, prepared, numbers)
        placed = Single(device, buffer, plan.start, plan.fresh, begun=False)
        placed.run(plan, (work,), _nobody)
        return StateVector.of(placed, where, self._options, program.touched)

    def _faster(self, circuit: Circuit, where: Assignment) -> tuple[Circuit, _PlannedCircuit | None]:
        """Return what runs in place of a circuit, another one if that is faster; and its plan, if it was asked for."""
        device, structure, mine = where.device, circuit.structure, list[_PlannedCircuit]()
        heavy = len(structure.instructions) << structure.num_qubits >= thresholds.now.method_work
        if not heavy:
            return circuit, None

        def planned(written: Structure) -> tuple[Program, tuple[Plan]]:
            program, plan = self._planned(written, device)
            return program, (plan,)

        def came() -> tuple[Plan]:
            mine.append(self._planned(structure, device))
            return (mine[-1].plan,)

        bound, place = Bindings.of(circuit.operands[:1]), Where(device, where.deployment, self._options)
        found = written_out(structure, bound, came, place, planned)
        return (circuit, mine[-1] if mine else None) if found is None else (found.circuit, None)

    def _planned(self, structure: Structure, device: Device) -> _PlannedCircuit:
        """Return the program of a structure, and its plan from |0…0⟩."""
        program, num_wires = unitary_program(structure), structure.num_qubits
        start, fresh = Layout.identity(num_wires), (1 << num_wires) - 1
        plan = plan_of(program.whole.work, num_wires, start, device.shape(self._dtype), fresh, place=True)
        return _PlannedCircuit(program, plan)

    def _prepared(self, circuit: Circuit, device: Device, program: Program, plan: Plan) -> _Known:
        """Prepare a plan; only settled work (see `Device.prepare`) is kept for the next run."""
        prepared = device.prepare(plan.steps, plan.num_wires, self._dtype, self._options.compile)
        known = _Known(device, plan, prepared, program)
        if getattr(prepared, "settled", False):
            self._known[circuit.structure] = known
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return known


def _nobody() -> None:
    """Do nothing before a step: the run can be neither cancelled nor watched."""
