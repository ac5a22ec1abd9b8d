"""From a Cirq circuit to a circuit of the engine: one pure function, `translate`.

Qubit k of the order becomes wire n−1−k, so that the engine's little-endian state is Cirq's big-endian one without
any amplitude being moved. (Where a qid has other levels than two, see `qudits.levels`.) Measurements at the end become
one `Measure` of all measured wires, wire w into classical bit w; what is measured before goes into classical bits of
its own (see `measurements`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import cirq

from qsim_ex import CircuitBuilder
from qsim_ex.errors import InvalidInput, NotSupported, WireError, other_circuit
from qsim_ex.frameworks import Remembered, later, uncollected
from qsim_ex_cirq.translation.conditions import WHILE
from qsim_ex_cirq.translation.gates import RULES, FromAttributes, Power, always
from qsim_ex_cirq.translation.matrices import MatrixGates
from qsim_ex_cirq.translation.native_columns import GATE_OPERATIONS, native_columns
from qsim_ex_cirq.translation.noise import is_virtual, noisy_operations
from qsim_ex_cirq.translation.place import ToNumber, require_numbers
from qsim_ex_cirq.translation.translation import Translation
from qsim_ex_cirq.translation.translator import Translator
from qsim_ex_cirq.wires import levels_of

if TYPE_CHECKING:
    from qsim_ex_cirq.qudits import translator as qudits
else:
    qudits = later("qsim_ex_cirq.qudits.translator")


@uncollected
def translate(
    circuit: cirq.AbstractCircuit,
    resolver: cirq.ParamResolverOrSimilarType = None,
    qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
    *,
    from_zero: bool = True,
    noise: cirq.NoiseModel = cirq.NO_NOISE,
    sampled: bool = False,
    initial: int = 0,
) -> Translation:
    """Translate a circuit, its symbols replaced by the resolver's numbers, with the noise of a model.

    from_zero: the state that the circuit will act on is |0…0>; from another one every reset is random.
    sampled: only the measurements are asked for, so that noise after them is left out. initial: a basis value, bit w of
    which is wire w, that is prepared first.

    Raises `ParameterError` for symbols without a number, `WireError` for a bad order,
    `UnknownInstruction` for an operation with neither a matrix nor a decomposition, and `NotSupported` for
    repeat-until loops.
    """
    require_circuit(circuit)
    resolved = cirq.resolve_parameters(circuit, cirq.ParamResolver(resolver))
    given = _Given(circuit, resolved, qubit_order, from_zero, noise, sampled, initial)
    if resolved is not circuit or noise is not cirq.NO_NOISE:
        return given.translator().translation(sampled)
    # The default order follows from the moments, so that a circuit that comes again need not be asked for its qubits.
    order = None if qubit_order is cirq.QubitOrder.DEFAULT else order_of(circuit, qubit_order)
    how, moments = (order, from_zero, sampled, initial), Moments(tuple(circuit))
    found: Translation | None = _known.get(circuit, how, moments)
    if found is None:
        translator = given.native_translator() or given.translator()
        found = translator.translation(sampled)
        if are_constant(translator.gates):
            read = Moments(moments.moments, translator.matrix_gates)
            _known.put(circuit, how, read, found, len(found.circuit.instructions))
    return found


_known = Remembered()
"""The translations of circuits without symbols and noise models."""


class Moments:
    """The moments of a circuit, which are equal only if they are the same objects: a moment never changes.

    read: the matrix gates among their operations, if these were read.
    """

    def __init__(self, moments: tuple[cirq.Moment, ...], read: MatrixGates | None = None) -> None:
        self.moments, self._read = moments, read

    def __eq__(self, other: object) -> bool:
        """Return whether another circuit has the same moments, and matrices are as they were read for this one."""
        if not isinstance(other, Moments) or len(self.moments) != len(other.moments):
            return False
        same = all(map(operator.is_, self.moments, other.moments))
        return same and (self._read is None or self._read.are_unchanged())

    __hash__ = None  # type: ignore[assignment]


def are_constant(gates: Sequence[cirq.Gate | None]) -> bool:
    """Return whether gates have no contents that may change, but for matrices, which `Moments` looks at again.

    They are rows of the gate table, matrices, and measurements. gates: of all operations that are no rows, at least;
    None for one that is no gate alone.
    """
    measured = [gate for gate in gates if type(gate) is cirq.MeasurementGate]
    return {*map(type, gates)} <= _CONSTANT and not any(gate.confusion_map for gate in measured)


_CONSTANT = frozenset(
    {kind for kind, rule in RULES.items() if isinstance(rule, Power | FromAttributes)}
    | {cirq.MatrixGate, cirq.PhasedXZGate, cirq.IdentityGate, cirq.ResetChannel, cirq.MeasurementGate}
)


class _Given(NamedTuple):
    """What a translation is made from; see `translate`. resolved: the circuit with numbers for its symbols."""

    circuit: cirq.AbstractCircuit
    resolved: cirq.AbstractCircuit
    qubit_order: cirq.QubitOrderOrList
    from_zero: bool
    noise: cirq.NoiseModel
    sampled: bool
    initial: int

    def translator(self) -> Translator:
        """Return the translator that has appended the circuit."""
        literal, circuit, resolved = always, self.circuit, self.resolved
        if resolved is not circuit:
            pairs = zip(circuit.all_operations(), resolved.all_operations(), strict=True)
            symbolic = {id(op) for written, op in pairs if written is not op}  # these became numbers; noise has none
            literal = lambda op: id(op) not in symbolic  # noqa: E731
        translator = self._begun(order_of(circuit, self.qubit_order))
        operations = noisy_operations(resolved, self.noise, self.sampled)
        self._append(lambda: translator.operations(operations, literal))
        return translator

    def native_translator(self) -> Translator | None:
        """Return the same for a circuit without symbols and noise, read by native code; None if it has to be Python."""
        found = native_columns(self.circuit)
        if found is None:
            return None
        columns, qubits = found
        if self.sampled and any(map(is_virtual, columns.tagged)):  # some of these may be left out
            return None
        order = _ordered(frozenset(qubits), self.qubit_order)
        if levels_of(order) is not None:
            return None
        columns.order(qubits, order)
        translator = self._begun(order)
        self._append(lambda: translator.columns(columns))
        return translator

    def _begun(self, order: tuple[cirq.Qid, ...]) -> Translator:
        translator = translator_of(order, self.from_zero)
        translator.begin(self.initial)
        return translator

    def _append(self, append: Callable[[], None]) -> None:
        try:
            append()
        except (InvalidInput, NotSupported):
            require_numbers(self.resolved)
            raise


def translator_of(
    qubits: tuple[cirq.Qid, ...],
    from_zero: bool,
    kind: type[CircuitBuilder] = CircuitBuilder,
    number: ToNumber | None = None,
) -> Translator:
    """Return the translator for some qubits, or for qids of any number of levels; see `Translator`."""
    made = Translator if {qubit.dimension for qubit in qubits} <= {2} else qudits.QuditTranslator
    return made(qubits, from_zero, kind, number)


def has_loop(circuit: cirq.AbstractCircuit) -> bool:
    """Return whether a subcircuit is repeated until a condition on measured keys holds."""
    operations = [moment.operations for moment in circuit]
    if {*map(type, chain.from_iterable(operations))} <= {*GATE_OPERATIONS}:
        return False
    every = [op.untagged for op in chain.from_iterable(operations)]
    if any(isinstance(op, WHILE) for op in every):
        return True
    inner = (op.without_classical_controls().untagged for op in every)
    return any(
        isinstance(op, cirq.CircuitOperation) and (op.repeat_until is not None or has_loop(op.circuit)) for op in inner
    )


def order_of(circuit: cirq.AbstractCircuit, qubit_order: cirq.QubitOrderOrList) -> tuple[cirq.Qid, ...]:
    """Return all qubits in order; raises `WireError` for a qubit given twice or one left out."""
    require_circuit(circuit)
    return _ordered(circuit.all_qubits(), qubit_order)


def _ordered(qubits: Iterable[cirq.Qid], qubit_order: cirq.QubitOrderOrList) -> tuple[cirq.Qid, ...]:
    """Return qubits in order, with those that the order adds; raises as `order_of`."""
    try:
        order = cirq.QubitOrder.as_qubit_order(qubit_order).order_for(qubits)
    except ValueError as error:
        raise WireError(f"this qubit order does not fit the circuit: {error}") from error
    return tuple(order)


def require_circuit(given: object) -> None:
    """Raise `CircuitError` for what is no circuit of Cirq, with what runs it."""
    if not isinstance(given, cirq.AbstractCircuit):
        raise other_circuit(given, "a cirq.Circuit")
