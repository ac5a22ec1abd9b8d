"""The circuit on density matrices whose measured bits are branches: that of circuits with blocks, loops and variables.

Where a circuit's way depends on a bit, a bit wire does not help: branches do different work. So a measurement stays a
measurement here, of the row wire, and what follows it sets to zero all entries whose column is another one. Markers
and stores stay as they are. The program of this circuit is divided as that of any circuit with loops is
(`program.control_flow`), and `run.exact.traversal` follows every outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.classical import Expression
from qsim_ex.circuit.control import End, If, Marker, Record, Store
from qsim_ex.circuit.kept import Kept
from qsim_ex.circuit.ops import Conditional, Instruction, Measure, Op, Pattern, Save, mask_of
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.density.bit_wires import Wires
from qsim_ex.density.doubled import Asked, Doubled, Doubler
from qsim_ex.density.questions import check_mixed


def doubled_in_branches(structure: Structure, total: int, patterns: Sequence[Pattern]) -> Doubled:
    """Return the circuit on density matrices of a circuit with control flow; the same object for equal arguments.

    total, patterns: see `doubled.doubled`. Readout errors are applied where bits are measured, by the traversal.
    Raises `NotSupported` for saves of amplitudes, which a mixed state does not have.
    """
    return _doubled(structure, total, tuple(patterns))


def in_blocks(circuit: Circuit) -> Circuit:
    """Return a circuit whose conditions on many bits are blocks: these bits are branches, and need no bit wires."""
    made = _in_blocks(circuit.structure)
    return circuit if made is circuit.structure else Circuit.of_structure(made, circuit.operands)


@Kept
def _in_blocks(structure: Structure) -> Structure:
    made: list[Instruction] = []
    for condition, group in groupby(structure.instructions, _wide_condition):
        if condition is None:
            made += group
        else:
            holds = Expression.of_bits(condition.clbits).among(condition.values)
            made += [If(holds), *[one for i in group if (one := i.applies) is not None], End()]
    if len(made) == len(structure.instructions):
        return structure
    return structure_of(structure.num_qubits, structure.num_clbits, tuple(made))


class _WideCondition(NamedTuple):
    """The bits and the values of a condition."""

    clbits: Wires
    values: Wires


def _wide_condition(instruction: Instruction) -> _WideCondition | None:
    required = instruction.required
    return _WideCondition(*required) if required and len(required[0]) > thresholds.now.listed_bits else None


@Kept
def _doubled(structure: Structure, total: int, patterns: tuple[Pattern, ...]) -> Doubled:
    wires = structure.num_qubits
    asked = Asked(total, wires, 0, observed=False, sampled=False, dephased=False)
    return _BranchDoubler(structure, asked, patterns, ()).doubled()


class _BranchDoubler(Doubler):
    """Doubles one circuit; every measurement of a wire that may not be |0⟩ is a branch point."""

    def _control(self, instruction: Marker | Store | Record) -> None:
        self._made.append(instruction)
        self._touched = (1 << self._n) - 1  # as a round of a loop may begin with any wires touched

    def _measure(self, wires: Wires, clbits: Wires) -> None:
        self._made.append(Measure(wires, clbits))
        # This also ties column wires to their row wires: no operation on a column comes before the measurement of its
        # row, if it stands behind it in the circuit. So it is there for wires at |0⟩ too.
        self._bits.dephase(wires)

    def _conditional(self, place: int, op: Op, clbits: Wires, values: Wires) -> None:  # noqa: ARG002
        if op.mixes or op.reads or op.when.mask:  # a global phase cancels
            self._touched |= mask_of(op.mixes)
            self._made += [Conditional(op, clbits, values), Conditional(self._conjugate(op), clbits, values)]

    def _save(self, place: int, save: Save) -> None:  # noqa: ARG002
        check_mixed(save)
        self._made.append(save)
