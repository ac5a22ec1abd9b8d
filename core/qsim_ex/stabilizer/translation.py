"""A circuit as a circuit of Stim: instruction by instruction, with every classical bit as a parity of Stim's records.

What is no Clifford gate, Pauli channel, measurement, reset, or Pauli gate under a condition is refused by its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn, assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.classical import Expression
from qsim_ex.circuit.control import ControlFlow, Record, Store
from qsim_ex.circuit.noise.readout import ReadoutErrors
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.ops import (
    Begin,
    Channel,
    Conditional,
    Initialize,
    Instruction,
    Measure,
    Op,
    Permutation,
    Reset,
    Save,
    SetState,
    wires_of,
)
from qsim_ex.circuit.structure import Structure
from qsim_ex.errors import NotSupported
from qsim_ex.stabilizer.blocks import NOWHERE, Blocks, Conditions, both
from qsim_ex.stabilizer.cliffords import MOST_WIRES, stabilizer_vector
from qsim_ex.stabilizer.gates import Template, preparation_of, template_of
from qsim_ex.stabilizer.misreadings import Misreadings
from qsim_ex.stabilizer.operations import OnWires, Recogniser
from qsim_ex.stabilizer.parities import ZERO, Condition, Parity, Test, condition_of, value_of
from qsim_ex.stabilizer.questions import at_the_end, is_random
from qsim_ex.stabilizer.stim_circuit import LateMeasurement, ShotPaulis, Translation
from qsim_ex.stabilizer.values import SavedPoint, Values, refusal

if TYPE_CHECKING:
    from qsim_ex.circuit.classical import Token

Wires = tuple[int, ...]

INSTEAD = "use method='statevector', or 'density_matrix' for few wires"

_WIDEST_STATE = 12
"""The most wires of amplitudes that are looked at."""


def translated(
    structure: Structure,
    operands: NDArray[np.complex128],
    readout: ReadoutErrors = (),
    observables: Sequence[PauliSum] = (),
) -> Translation:
    """Translate a circuit with its numbers, complex128 [total]; raises `NotSupported` for what Stim does not do."""
    return _Translator(structure, operands, readout).everything(observables)


@dataclass(eq=False)
class _Translator:
    """Translates one circuit. lines: Stim's instructions so far. bits, variables: their present values."""

    structure: Structure
    operands: NDArray[np.complex128]
    readout: ReadoutErrors
    lines: list[str] = field(default_factory=list)
    place: int = 0

    def __post_init__(self) -> None:
        self.records = 0
        self.bits = [ZERO] * self.structure.num_clbits
        self.variables: dict[object, list[Parity]] = {}
        self.recorded: dict[str, list[list[Parity]]] = {}
        self.recogniser = Recogniser(self.operands)
        self.misreadings = Misreadings.of(self.structure, self.readout)
        self.values = Values(self.lines, self.structure.num_qubits, is_random(self.structure))
        self.blocks = Blocks()
        self.waiting: list[LateMeasurement] = []
        self.between: list[tuple[int, ShotPaulis]] = []  # each behind so many lines

    def everything(self, observables: Sequence[PauliSum]) -> Translation:
        """Translate all instructions; the values of observables are taken before the measurements at the end."""
        waits = at_the_end(self.structure) if observables else {}
        # Circuits are long, and most of their instructions are gates: those are told apart first.
        for place, instruction in enumerate(self.structure.instructions):
            self.place = place
            if type(instruction) is Op and not self.blocks.open:
                self._gate(self.recogniser.operation(instruction), instruction)
            elif isinstance(instruction, Measure) and place in waits:
                self._measure(instruction, waits[place])
            else:
                self._other(instruction)
        found = []
        for number, observable in enumerate(observables):
            save = Save(f"observable {number}", "expectation_value", None, "average", observable)
            found.append(self._saved(save))
        for one in self.waiting:
            self._measured(one.wire, one.flips)
            if one.clbit is not None:
                self.bits[one.clbit] = Parity(frozenset((self.records - 1,)))
        saves = tuple(self.values.saved[: len(self.values.saved) - len(found)])
        cuts = [0, *(line for line, _ in self.between), len(self.lines)]
        texts = tuple(["\n".join(self.lines[begin:end]) for begin, end in pairwise(cuts)])
        between, read = tuple([one for _, one in self.between]), self.misreadings.read
        return Translation(texts, between, self.records, tuple(self.bits), saves, tuple(found), self.recorded, read)

    # --- one instruction ---------------------------------------------------------------------------------------------

    def _other(self, instruction: Instruction) -> None:
        if isinstance(instruction, ControlFlow) and not isinstance(instruction, Store | Record):
            if (words := self.blocks.marker(instruction, self._bits_of)) is not None:
                self._refuse(instruction, words)
            return
        conditions = self.blocks.conditions
        if not conditions:
            self._certain(instruction)
        elif conditions == NOWHERE:
            return
        elif isinstance(instruction, Op):
            self._under(conditions, instruction)
        elif isinstance(instruction, Conditional):
            self._under(both(conditions, self._condition(instruction)), instruction.operation)
        elif isinstance(instruction, Channel):
            self._noise(instruction, conditions)
        elif not isinstance(instruction, Begin):
            self._refuse(instruction, "it stands under a condition, where Stim does Pauli gates and noise alone")

    def _certain(self, instruction: Instruction) -> None:
        """Translate an instruction that every shot does."""
        match instruction:
            case Op():
                self._gate(self.recogniser.operation(instruction), instruction)
            case Permutation():
                self._gate(self.recogniser.permutation(instruction), instruction)
            case Conditional(operation):
                self._under(both((), self._condition(instruction)), operation)
            case Initialize(wires, operand):
                self._prepare(instruction, wires, operand)
            case SetState(wires, operand):
                self.lines.append(f"R {' '.join(map(str, wires))}")
                self._prepare(instruction, wires, operand)
            case Measure():
                self._measure(instruction, 0)
            case Reset(wires):
                self.lines.append(f"R {' '.join(map(str, wires))}")
            case Channel():
                self._noise(instruction, ())
            case Save():
                self._saved(instruction)
            case Store(target, value):
                self._store(instruction, target, value_of(value, self._bits_of))
            case Record(label, value):
                found = value_of(value, self._bits_of)
                if found is None:
                    self._refuse(instruction, "its value is no parity of measured bits")
                self.recorded.setdefault(label, []).append(found)
            case Begin():
                pass
            case ControlFlow():
                raise AssertionError("markers of blocks are followed before")
            case _:
                assert_never(instruction)

    def _gate(self, gate: OnWires, instruction: Op | Permutation) -> None:
        if gate.images is None:
            wide = len(gate.wires) > MOST_WIRES
            self._refuse(instruction, f"it acts on more than {MOST_WIRES} wires" if wide else "it is no Clifford gate")
        if not gate.wires:
            return  # a global phase
        chain = [f"CX {wire} {gate.folded[-1]}" for wire in gate.folded[:-1]]
        self.lines.extend(chain)
        self._emit(template_of(gate.images), gate.wires)
        self.lines.extend(reversed(chain))

    def _emit(self, template: Template, wires: Wires) -> None:
        for name, targets in template:
            if len(targets) == 1:
                self.lines.append(f"{name} {wires[targets[0]]}")
            else:
                self.lines.append(f"{name} {wires[targets[0]]} {wires[targets[1]]}")

    def _condition(self, instruction: Conditional) -> Condition:
        return condition_of(Expression.of_bits(instruction.clbits).among(instruction.values), self._bits_of)

    def _under(self, conditions: Conditions, operation: Op) -> None:
        """Do a gate in the shots in which conditions hold."""
        gate = self.recogniser.operation(operation)
        if conditions == NOWHERE:
            return
        if not conditions:
            self._gate(gate, operation)
            return
        pauli = None if gate.images is None else gate.images.pauli
        if pauli is None:
            self._refuse(operation, "it stands under a condition, where Stim does Pauli gates and noise alone")
        wires, letters = gate.wires, pauli.letters(len(gate.wires))
        if gate.folded:  # Z on the parity is Z on each of its wires
            wires, letters = gate.folded, letters[gate.wires.index(gate.folded[-1])] * len(gate.folded)
        if len(conditions) > 1 or isinstance(conditions[0], Test):
            self._in_some_shots(ShotPaulis(conditions, wires, ((letters, 1.0),)))
            return
        for letter, wire in zip(letters, wires, strict=True):
            if letter != "I":
                self.lines.extend([f"{letter} {wire}"] * conditions[0].constant)
                records = sorted(conditions[0].records)
                self.lines.extend(f"C{letter} rec[{record - self.records}] {wire}" for record in records)

    def _in_some_shots(self, paulis: ShotPaulis) -> None:
        self.between.append((len(self.lines), paulis))

    def _prepare(self, instruction: Initialize | SetState, wires: Wires, operand: int) -> None:
        amplitudes = self.operands[operand : operand + (1 << len(wires))]
        made = stabilizer_vector(amplitudes) if len(wires) <= _WIDEST_STATE else None
        template = None if made is None else preparation_of(made)
        if template is None:
            self._refuse(instruction, f"its state is no stabilizer state, or has more than {_WIDEST_STATE} wires")
        self._emit(template, wires)

    def _noise(self, channel: Channel, conditions: Conditions) -> None:
        chosen = self.recogniser.channel(channel)
        if chosen is None:
            self._refuse(channel, "it is no Pauli channel")
        errors = [(pauli, p) for pauli, p in chosen if pauli.x or pauli.z]
        if conditions:
            chosen_letters = tuple([(pauli.letters(len(channel.wires)), p) for pauli, p in errors])
            self._in_some_shots(ShotPaulis(conditions, channel.wires, chosen_letters))
            return
        left, kind = 1.0, "CORRELATED_ERROR"
        for pauli, p in errors:  # each is tried if none before it has happened
            letters = pauli.letters(len(channel.wires))
            on = " ".join(f"{a}{w}" for a, w in zip(letters, channel.wires, strict=True) if a != "I")
            self.lines.append(f"{kind}({p / left if p < left else 1.0:.17g}) {on}")
            left, kind = left - p, "ELSE_CORRELATED_ERROR"

    # --- bits --------------------------------------------------------------------------------------------------------

    def _bits_of(self, token: Token) -> list[Parity]:
        if token.op == "bits":
            return [self.bits[clbit] for clbit in token.value]
        return self.variables.get(token.value, [ZERO] * (token.width or 64))

    def _store(self, instruction: Store, target: Token, found: list[Parity] | None) -> None:
        if found is None:
            self._refuse(instruction, "its value is no parity of measured bits")
        if target.op != "bits":
            self.variables[target.value] = found
            return
        if self.misreadings.unread(target.value):
            self._refuse(instruction, "it writes a bit that is misread otherwise than as a flip of one bit")
        for clbit, bit in zip(target.value, found, strict=True):
            self.bits[clbit] = bit

    def _measure(self, instruction: Measure, waits: int) -> None:
        """Measure wires, or let those wait whose bit of `waits` is 1."""
        for wire, clbit in zip(instruction.wires, instruction.clbits, strict=True):
            if (flips := self.misreadings.measured(clbit)) is None:
                self._refuse(instruction, "a condition reads its bit, which is misread otherwise than as a flip of one")
            for one in self.waiting:
                one.clbit = None if one.clbit == clbit else one.clbit
            if waits >> wire & 1:
                self.waiting.append(LateMeasurement(wire, clbit, flips))
            else:
                self._measured(wire, flips)
                self.bits[clbit] = Parity(frozenset((self.records - 1,)))

    def _measured(self, wire: int, flips: float) -> None:
        self.lines.append(f"M({flips:.17g}) {wire}" if flips else f"M {wire}")
        self.records += 1

    # --- values ------------------------------------------------------------------------------------------------------

    def _saved(self, save: Save) -> SavedPoint:
        if (words := refusal(save, self.structure.num_qubits)) is not None:
            self._refuse(save, words)
        found = self.values.save(save, self.records, tuple(self.bits) if save.by_memory else ())
        self.records += found.records
        return found

    def _refuse(self, instruction: Instruction, why: str) -> NoReturn:
        name = getattr(instruction, "name", "") or getattr(instruction, "label", "")
        named = f"{type(instruction).__name__} {name!r}" if name else type(instruction).__name__
        wires = wires_of(instruction.acts_on)
        on = f" on wires {', '.join(map(str, wires[:8]))}" if wires else ""
        raise NotSupported(
            f"method='stabilizer': expected Clifford gates, Pauli noise, measurements, resets, and Pauli gates under "
            f"conditions, got instruction {self.place}, {named}{on}: {why}; {INSTEAD}."
        )
