"""Amplitudes of circuits in separate parts: products of the amplitudes of their parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.bits import gathered
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.program.separate import separation_of
from qsim_ex.simulator import Simulator


def amplitudes_by_parts(simulator: Simulator, circuit: Circuit, values: Sequence[int]) -> NDArray[np.complex128] | None:
    """Return the amplitudes of basis values after a circuit of gates, from the states of its separate parts.

    values: of any size; bit k is wire k. The result is complex128 [values]; None for a circuit of one part, and for one
    that is not of gates alone or is to be divided over devices, whose amplitudes are those of its whole state. Memory
    is needed for the largest part.
    """
    options = simulator.options
    if not options.separate or options.divides or circuit.structure.is_one_part(observed=False):
        return None
    gates = circuit.structure.only_gates
    separation = separation_of(circuit.structure) if gates else None
    if separation is None:
        return None
    idle = (1 << circuit.num_qubits) - 1
    found = np.full(len(values), circuit.operands[0, list(separation.phases)].prod())
    for part in separation.parts:
        idle &= ~sum(1 << wire for wire in part.wires)
        if part.wires:
            own = [gathered(value, part.wires) for value in values]
            operands = circuit.operands if part.columns is None else circuit.operands[:, part.columns]
            with simulator.state(Circuit.of_structure(part.structure, operands)) as state:
                found *= state.amplitudes(own)
    found[[value & idle != 0 for value in values]] = 0
    return found
