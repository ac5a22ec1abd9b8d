"""The preparation of work for devices: its plan, its numbers, and its kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.kept import Kept
from qsim_ex.circuit.ops import Unitary
from qsim_ex.circuit.structure import Structure
from qsim_ex.devices.base import Device, LoadsNumbers
from qsim_ex.display.log import LOGGER
from qsim_ex.placement.batch import BatchDevice
from qsim_ex.planning.coefficients.binding import fill, fill_batch
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import AmplitudeDtype
from qsim_ex.program.program import Program
from qsim_ex.steps.coefficients import Bound
from qsim_ex.steps.layout import Layout, Levels, Shape
from qsim_ex.steps.plan import Plan

Prepared = Sequence[tuple[Any, Iterable[Any]]]
"""For each device the prepared steps of a plan, and the numbers of each step."""


@Kept
def plan_of(
    work: Structure,
    num_wires: int,
    start: Layout,
    shape: Shape,
    fresh: int,
    levels: Levels | None = None,
    place: bool = False,
) -> Plan:
    """Return the plan of a segment's work; see `make_plan`. This is the cache of plans: equal work is one object."""
    plan = make_plan(cast(tuple[Unitary, ...], work.instructions), num_wires, start, shape, fresh, levels, place)
    LOGGER.debug("planned %r", plan)
    return plan


@Kept
def ordered_plan_of(work: Structure, num_wires: int, shape: Shape, fresh: int) -> Plan:
    """Return a plan that begins and ends with each wire on its own index bit, for a state in one piece on a CPU.

    Sweeps that touch memory in pieces half as long have one more bit to choose. That is slower for a sweep (by up to a
    fifth, from 24 wires on) and faster if a sweep fewer is needed.
    """
    shapes = shape.ordered(shape.low), shape.ordered(shape.low - 1)
    plans = [plan_of(work, num_wires, Layout.identity(num_wires), one, fresh) for one in shapes]
    return min(plans, key=lambda plan: len(plan.steps))


@Kept
def plans_of(
    program: Program,
    num_wires: int,
    shape: Shape,
    levels: Levels | None = None,
    grows: bool = False,
) -> Mapping[int, Plan]:
    """Return a plan for each segment of a program that begins in |0…0⟩, by its node; each goes on from the one before.

    levels: how the index bits are divided; None for a state in one piece. grows: whether index bits that were not
    mixed yet need no memory. A save of the state vector puts the wires in order, and so does a state that is set. The
    layout after other saves, and after forks and jumps, is a guess; a segment that finds another one is planned for
    that when it runs.
    """
    plans: dict[int, Plan] = {}
    shape = shape.staying() if program.loops else shape  # so that all rounds of a loop begin in one layout
    every = (1 << num_wires) - 1
    start, fresh = Layout.identity(num_wires), every if grows else 0
    for number, node in enumerate(program.nodes):
        if node.work is not None:
            place = not plans and fresh == every
            plan = plans[number] = plan_of(node.work, num_wires, start, shape, fresh, levels, place)
            start, fresh = plan.end, plan.left
        elif node.in_order:
            start, fresh = Layout.identity(num_wires), 0
    return plans


def prepare(
    plan: Plan,
    operands: NDArray[np.complex128],
    devices: Sequence[Device],
    dtype: AmplitudeDtype,
    compile: str,
    *,
    rows: bool = False,
) -> Prepared:
    """Bind a plan to numbers and prepare it on each device; peers on one device share the prepared work.

    operands: complex128 [1, total]. rows: prepare for many states on one device, with operands [rows, total] or, if
    they are equal for all states, [1, total].
    """
    local = plan.levels.local
    if rows:
        one = cast(BatchDevice, devices[0])
        ready = one.prepare_batch(plan.steps, local, dtype, compile)
        return ((ready, one.load_batch(ready, bound_rows(plan, operands))),)
    numbers = fill(plan.coefficients, operands[0])
    shares: dict[int, tuple[Any, Iterable[object]]] = {}
    for device in devices:
        if id(device) not in shares:
            ready = device.prepare(plan.steps, local, dtype, compile)
            shares[id(device)] = ready, loaded(device, ready, numbers)
    return tuple(shares[id(device)] for device in devices)


def loaded(device: Device, ready: object, numbers: Bound) -> Iterable[object]:
    """Return the numbers of all steps of a plan as its device takes them, which runs all of them for one state."""
    if isinstance(device, LoadsNumbers):
        return device.load(ready, numbers)
    turn_blocks: Callable[[Bound], Iterable[object]] | None = getattr(ready, "turn_blocks", None)
    return numbers if turn_blocks is None else turn_blocks(numbers)


def bound_rows(plan: Plan, operands: NDArray[np.complex128]) -> Bound:
    """Bind a plan to the operands [rows, total] of many states, for work that needs the whole coefficient buffer."""
    return fill_batch(plan.coefficients, operands)
