"""The states of a gradient on one device: those behind a circuit, of many bindings, and observables on them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.observables import PauliSum, StoredSum
from qsim_ex.circuit.structure import Structure
from qsim_ex.devices.adjoint import Differentiates
from qsim_ex.execution.prepare import plan_of, prepare
from qsim_ex.options import Options
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import Tick
from qsim_ex.placement.batch import Batch, BatchDevice
from qsim_ex.steps.layout import Layout, Shape
from qsim_ex.steps.plan import Plan


class DifferentiatingDevice(BatchDevice, Differentiates):
    """A device that works on batches and differentiates."""


def forward_plan(work: Structure, num_wires: int, shape: Shape, grows: bool) -> Plan:
    """Return the plan of work on new states in one piece; grows: whether those of the device do."""
    fresh = (1 << num_wires) - 1 if grows else 0
    return plan_of(work, num_wires, Layout.identity(num_wires), shape, fresh, None, fresh != 0)


def final_states(
    plan: Plan, operands: NDArray[np.complex128], device: BatchDevice, options: Options, tick: Tick
) -> Batch:
    """Return the states behind a plan of `forward_plan`, one for each row of operands [rows, total]."""
    states = Batch(device, plan.num_wires, len(operands), options.dtype)
    states.layout = at.begun_as(states.layout, plan.start)
    states.run(plan, prepare(plan, operands, (device,), options.dtype, options.compile, rows=True), tick)
    return states


@lru_cache(maxsize=16)
def stored(observables: tuple[PauliSum, ...], layout: Layout) -> tuple[StoredSum, ...]:
    """Return observables as operators on stored amplitudes; cached, since loops ask for the same ones again."""
    return tuple(_stored_sum(one, layout) for one in observables)


def _stored_sum(observable: PauliSum, layout: Layout) -> StoredSum:
    found = []
    for term in observable.terms:
        x, z = at.index_mask(layout, term.x), at.index_mask(layout, term.z)
        turned = (1, 1j, -1, -1j)[term.num_y % 4]
        found.append((x, z, at.parity_sign(layout, z) * turned * term.coefficient))
    return tuple(found)
