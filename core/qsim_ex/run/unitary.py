"""The unitary of a circuit up to a save: the state of twice as many wires, half of them entangled with the others.

Wire k begins in a Bell pair with wire n + k, on which nothing acts. So the state is Σ_c U|c⟩ ⊗ |c⟩ / √2^n, and its
amplitudes are the columns of U (Choi, Linear Algebra and its Applications 10, 285, 1975).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Initialize
from qsim_ex.deployment.assign import Assignment, assign
from qsim_ex.errors import OutOfMemory
from qsim_ex.options import Options
from qsim_ex.placement.base import Amplitudes, Tick
from qsim_ex.program.program import Program, Segment
from qsim_ex.run.machine import Machine

Complex = NDArray[np.complex128]

_BELL = np.array([[0, 1, 0.5**0.5, 0, 0, 0.5**0.5]], dtype=np.complex128)
"""The operands of the first segment: the constants 0 and 1, and the amplitudes of a Bell pair."""


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
    pairs = Segment(tuple(Initialize((wire, num_wires + wire), 2) for wire in range(num_wires)))
    before = [one for one in program.nodes[:node] if isinstance(one, Segment)]
    whole = replace(program, make_nodes=lambda: (pairs, *before), choices=(), early=(), saves=(), memory={})
    machine = Machine(place_unitary(num_wires, options), whole, options, 1)
    found = np.empty((len(rows), 1 << num_wires, 1 << num_wires), dtype=options.dtype)
    numbers = [_BELL, *map(operands, before)]
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
