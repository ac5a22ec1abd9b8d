"""New states on a GPU, again and again: what a loop over the numbers of one circuit does for each point, and no more.

At 20 wires a GPU is done before Python has gone its usual way through options, plans and guards. So what a structure's
runs have in common is kept here, once its kernels are settled, and kernels are queued before anything else is made.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Structure
from qsim_ex.deployment.assign import Assignment
from qsim_ex.devices.base import Device, LoadsNumbers
from qsim_ex.execution.prepare import plan_of
from qsim_ex.options import Options
from qsim_ex.placement.single import Single
from qsim_ex.planning.numbers.binding import fill
from qsim_ex.program.divide import unitary_program
from qsim_ex.state.vector import StateVector
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan

KEPT = 256
"""Structures that are remembered."""


class _Known(NamedTuple):
    """A structure's plan, prepared on a device. touched: mask of the wires that it acts on."""

    device: Device
    plan: Plan
    prepared: Any
    touched: int


class RepeatedCircuit:
    """Makes the state that a circuit makes of |0…0>, in one piece, on devices on which states grow.

    It is what ``StateVector(n, where=where).apply(circuit)`` is, and raises what that raises. Nobody is told of its
    progress, and nobody can cancel it.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._dtype = options.dtype
        self._known: OrderedDict[Structure, _Known] = OrderedDict()

    def __call__(self, circuit: Circuit, where: Assignment) -> StateVector:
        """The state, whose kernels are queued; where: as `Simulator.placement` chooses it."""
        known = self._known.get(circuit.structure)
        if known is None or known.device is not where.device:
            known = self._prepared(circuit, where.device)
        device, plan, prepared, touched = known
        numbers = fill(plan.numbers, circuit.operands[0])
        loaded = device.load(prepared, numbers) if isinstance(device, LoadsNumbers) else numbers
        buffer = device.allocate(1 << plan.num_wires, self._dtype)
        placed = Single(device, buffer, plan.start, plan.fresh, begun=False)
        placed.run(plan, ((prepared, loaded),), _nobody)
        return StateVector.of(placed, where, self._options, touched)

    def _prepared(self, circuit: Circuit, device: Device) -> _Known:
        """Plan and prepare; what is not settled (see `Device.prepare`) has to be prepared anew for the next run."""
        program, num_wires = unitary_program(circuit.structure), circuit.num_qubits
        start, fresh = Layout.identity(num_wires), (1 << num_wires) - 1
        plan = plan_of(program.whole, num_wires, start, device.shape(self._dtype), fresh, place=True)
        prepared = device.prepare(plan.steps, num_wires, self._dtype, self._options.compile)
        known = _Known(device, plan, prepared, program.touched)
        if getattr(prepared, "settled", False):
            self._known[circuit.structure] = known
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return known


def _nobody() -> None:
    """Asks whether to go on."""
