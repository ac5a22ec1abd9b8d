"""The translator of circuits of qids: what acts on qubits alone goes the usual way, all else by its matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

import cirq

from qsim_ex.errors import InvalidInput, NotSupported, WireError
from qsim_ex_cirq.qudits.levels import Levels, width_of
from qsim_ex_cirq.translation.conditions import Conjunction
from qsim_ex_cirq.translation.noise import MomentOperation
from qsim_ex_cirq.translation.place import Place, require_numbers
from qsim_ex_cirq.translation.translator import Translator
from qsim_ex_cirq.translation.without_rule import append_without_rule
from qsim_ex_cirq.wires import levels_of, wires_of_qubits

_WRAPPED = (
    cirq.TaggedOperation,
    cirq.ControlledOperation,
    cirq.CircuitOperation,
    cirq.ClassicallyControlledOperation,
)
"""Operations that are taken apart before a gate is looked at."""


class QuditTranslator(Translator):
    """Appends operations on qids of any number of levels, each of which is as many wires as its levels need."""

    levels: Levels

    def lay_out(self) -> int:
        """Give each qid its wires, the last qid the lowest ones, and return how many wires there are."""
        self.levels = Levels(tuple(qid.dimension for qid in self.qubits))
        self._wires_of: dict[cirq.Qid, tuple[int, ...]] = dict(zip(self.qubits, self.levels.wires, strict=True))
        self.wire_of = wires_of_qubits(self.qubits)
        return self.levels.num_wires

    # --- wires ----------------------------------------------------------------------------------------------------

    def wires(self, qubits: Sequence[cirq.Qid]) -> tuple[int, ...]:
        """Return the wires of some qids, one after another; raises `WireError` for one that the circuit has not."""
        try:
            return tuple([wire for qid in qubits for wire in self._wires_of[qid]])
        except KeyError as error:
            raise WireError(f"the noise model adds {error.args[0]!r}, which is no qid of the circuit.") from None

    def knows(self, qubits: Iterable[cirq.Qid]) -> bool:
        """Return whether the circuit has all of some qids."""
        return all(qid in self._wires_of for qid in qubits)

    def lend(self, qubits: Sequence[cirq.Qid]) -> list[int]:
        """Give qids that a decomposition brings with it wires in |0⟩, and return these."""
        lent: list[int] = []
        for qid in qubits:
            wires = self.ancillas.take(width_of(qid.dimension))
            self._wires_of[qid] = tuple(wires)
            if qid.dimension == 2:
                self.wire_of[qid] = wires[0]
            lent += wires
        return lent

    def take_back(self, qubits: Sequence[cirq.Qid], wires: Sequence[int]) -> None:
        """Forget such qids, whose wires are |0⟩ again."""
        for qid in qubits:
            del self._wires_of[qid]
            self.wire_of.pop(qid, None)
        self.ancillas.give_back(wires)

    def levels_of(self, op: cirq.Operation) -> Levels | None:
        """Return the levels of an operation's qids; None if each has two."""
        return levels_of(op.qubits)

    # --- operations -----------------------------------------------------------------------------------------------

    def operations(self, numbered: Sequence[MomentOperation], literal: Callable[[cirq.Operation], bool]) -> None:
        """Append operations, each with its moment's number, one by one; see `Translator.operations`."""
        self.gates = (None,)  # which says that gates may change, so that the translation is not kept
        for number, op in numbered:
            try:
                self.operation(op, literal(op))
            except (InvalidInput, NotSupported) as error:
                error.add_note(f"in moment {number} of the circuit, at {op!r}")
                raise

    def operation(self, op: cirq.Operation, literal: bool) -> None:
        """Append one operation."""
        if self.levels_of(op) is None:
            super().operation(op, literal)
            return
        if not self.symbols:
            require_numbers(op)
        self.general(op, Place(self.builder, self.wires(op.qubits), (), 0, literal, self.number))

    def unitary(self, op: cirq.Operation, place: Place) -> None:
        """Append a unitary operation or a channel by its rule, its parts, or its matrices."""
        if self.levels_of(op) is None or isinstance(op, _WRAPPED):
            super().unitary(op, place)
        else:
            append_without_rule(self, op, place)

    def conjunctions(self, op: cirq.ControlledOperation, wires: tuple[int, ...]) -> Iterator[Conjunction]:
        """Yield the controls and control values of each term, whose values are levels of the controls."""
        levels = levels_of(op.controls)
        if levels is None:
            yield from super().conjunctions(op, wires)
            return
        values = op.control_values
        every = isinstance(values, cirq.ProductOfSums)
        free = [k for k, allowed in enumerate(values) if every and len(allowed) == levels.shape[k]]
        kept = [k for k in range(len(levels.shape)) if k not in free]
        terms = product(*(tuple(values)[k] for k in kept)) if every else values.expand()
        widths = levels.of(kept).widths
        held = tuple(wire for k in kept for wire in wires[levels.bits[k]])
        for term in terms:
            yield held, tuple([bit for level, width in zip(term, widths, strict=True) for bit in _bits(level, width)])


def _bits(level: int, width: int) -> list[int]:
    """Return the bits of a level, the most significant first."""
    return [level >> k & 1 for k in reversed(range(width))]
