"""A circuit without the gates at its end that none of its measurements sees, and no saved probabilities.

Both see populations of basis states alone. So a gate is not seen that is diagonal in all wires that a later gate does
not turn, and one that mixes only wires below all that are measured: shots draw the highest wires first, so what is
below the last wire that is asked for changes none of them.
"""

from __future__ import annotations

from functools import lru_cache

from qsim_ex import thresholds
from qsim_ex.circuit.instruction import Answers
from qsim_ex.circuit.ops import Instruction, Measure, Op, Permutation, Save, pattern
from qsim_ex.circuit.saves import SAVE_KINDS
from qsim_ex.circuit.structure import Structure, structure_of

_UNIT = frozenset(pattern("01-jJwWvV"))
"""The entries of matrices that move basis states, with a phase."""


@thresholds.depends
@lru_cache(maxsize=256)
def parted(structure: Structure) -> Structure:
    """Return a structure without what nothing sees where that leaves wires idle or in parts; else the structure itself.

    Elsewhere its program is made without it (`seen`): what is written of a circuit is found in all of its gates.
    """
    found = seen(structure, whole=True)
    return structure if found is structure or found.is_one_part(observed=False) else found


@thresholds.depends
@lru_cache(maxsize=256)
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
    ends, left, first, acted = _Ends(structure, whole), list[Instruction](), end, structure.acted
    while first and every[first - 1].unitary and ends.turned != ends.every:
        first -= 1
        wires = acted[first]
        known = wires and not wires & ~ends.turned  # a gate on turned wires alone is seen, and changes nothing else
        if known or ends.sees(every[first], wires):
            left.append(every[first])
    if first + len(left) == end:
        return structure
    return structure_of(structure.num_qubits, structure.num_clbits, (*every[:first], *reversed(left), *every[end:]))


class _Ends:
    """Goes through the gates of a circuit from its end.

    every: mask of the wires that gates mix. unseen: of those of which nothing is asked from here on.
    turned: of those of which more is asked than populations.
    """

    def __init__(self, structure: Structure, whole: bool) -> None:
        measured, wires = 0, structure.gate_wires
        for one in structure.distinct:
            measured |= one.acts_on if one.written_bits else 0
        self.unseen = (measured & -measured) - 1 if measured and whole and not structure.has_saves else 0
        self.turned = 0
        self.every = (1 << structure.num_qubits) - 1 if wires is None else wires.mixed

    def sees(self, gate: Answers, acted: int) -> bool:
        """Return whether what is asked of the wires behind a gate sees it; then more may be asked of them before it.

        acted: mask of the wires that it acts on.
        """
        mixes, operation = gate.mixed_wires, gate.applies
        turned = acted & self.turned
        if not (turned or mixes & ~self.unseen):
            return False
        if turned or not (operation is None or _UNIT.issuperset(operation.pattern)):
            self.turned |= mixes
        self.unseen &= ~acted
        return True
