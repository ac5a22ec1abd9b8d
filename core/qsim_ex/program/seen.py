"""A circuit without the gates at its end that none of its measurements sees, and no saved probabilities.

Both see populations of basis states alone. So a gate is not seen that is diagonal in all wires that a later gate does
not turn, and one that mixes only wires below all that are measured: shots draw the highest wires first, so what is
below the last wire that is asked for changes none of them.
"""

from __future__ import annotations

from itertools import compress

import numpy as np

from qsim_ex import thresholds
from qsim_ex.circuit.kept import Kept
from qsim_ex.circuit.ops import Measure, Op, Permutation, Save, pattern
from qsim_ex.circuit.saves import SAVE_KINDS
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.native.library import address, function

_UNITS = sum(1 << entry for entry in pattern("01-jJwWvV"))
"""The mask of the entries of matrices that move basis states, with a phase."""


@Kept
def parted(structure: Structure) -> Structure:
    """Return a structure without what nothing sees where that leaves wires idle or in parts; else the structure itself.

    Elsewhere its program is made without it (`seen`): what is written of a circuit is found in all of its gates.
    """
    found = seen(structure, whole=True)
    return structure if found is structure or found.is_one_part(observed=False) else found


@Kept
def seen(structure: Structure, *, whole: bool) -> Structure:
    """Return a structure without the gates at its end that nothing sees, if measurements and saves are all that asks.

    whole: whether it has all wires of a circuit; else others may be drawn after those below all that it measures.
    Operands stay where they are, and a seed means the same shots. The structure itself is returned if it measures and
    saves nothing, and if a shot takes more than one number, since how many depends on the parts.
    """
    every, end = structure.instructions, len(structure.instructions)
    measures_gates = structure.kinds <= {Op, Permutation, Measure, Save}
    if not measures_gates or structure.num_qubits > thresholds.now.chosen_wires:
        return structure
    while end and not every[end - 1].unitary:
        end -= 1
    if end == len(every) or any(one.saved and not SAVE_KINDS[one.saved.what].of_populations for one in every[end:]):
        return structure
    measured, wires, flags = 0, structure.gate_wires, np.empty(end, dtype=np.uint8)
    for one in every[structure.gates_before :]:
        measured |= one.acts_on if one.written_bits else 0
    unseen = (measured & -measured) - 1 if measured and whole and not structure.has_saves else 0
    turned = (1 << structure.num_qubits) - 1 if wires is None else wires.mixed
    first = function("structure_seen")(every, Op, Permutation, "acts_on", end, _UNITS, unseen, turned, address(flags))
    left = flags[first:].tolist()
    if all(left):
        return structure
    return structure_of(
        structure.num_qubits, structure.num_clbits, (*every[:first], *compress(every[first:end], left), *every[end:])
    )
