"""The unitary of a circuit up to a save, from the state of twice as many wires; see `program.entangled`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.deployment.assign import assign
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.errors import OutOfMemory
from qsim_ex.options import Options
from qsim_ex.placement.base import Tick
from qsim_ex.precision import Amplitudes
from qsim_ex.program.entangled import BELL, entangled
from qsim_ex.program.program import Program, Segment
from qsim_ex.run.machine import Machine

Complex = NDArray[np.complex128]


def place_unitary(num_wires: int, options: Options) -> Assignment:
    """Return where the unitary of `num_wires` wires is computed; raises `OutOfMemory` if there is no such place."""
    try:
        return assign(2 * num_wires, options)
    except OutOfMemory as error:
        raise OutOfMemory(
            f"the unitary of {num_wires} wires is computed as a state of {2 * num_wires} wires: {error}"
        ) from error


def unitaries(
    program: Program,
    node: int,
    num_wires: int,
    options: Options,
    operands: Callable[[Segment], Complex],
    rows: Sequence[int],
    tick: Tick,
) -> Amplitudes:
    """Return the unitary of the work before a node for some bindings, [rows, 2^n, 2^n].

    operands: returns those of a segment, [bindings, total] or, if they are equal for all, [1, total]. rows: the
    bindings, as rows of the operands.
    """
    whole = entangled(program, node, num_wires)
    machine = Machine(place_unitary(num_wires, options), whole, options, 1)
    found = np.empty((len(rows), 1 << num_wires, 1 << num_wires), dtype=options.dtype)
    numbers = [BELL, *map(operands, whole.segments[1:])]
    for at, row in enumerate(rows):
        states = machine.begin(1)
        try:
            for plan, of in zip(machine.plans, numbers, strict=True):
                machine.run(states, plan, of[:1] if len(of) == 1 else of[row : row + 1], tick)
            found[at] = states.read_in_order().reshape(found.shape[1:]).T
        finally:
            machine.end(states)
    found *= 2 ** (num_wires / 2)
    return found
