"""From a Cirq circuit to a circuit of the engine: one pure function, `translate`.

Qubit k of the order becomes wire n−1−k, so that the engine's little-endian state is Cirq's big-endian one without
any amplitude being moved. Measurements at the end become one `Measure` of all measured wires, wire w into
classical bit w; what is measured before goes into classical bits of its own (see `measurements`).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import chain

import cirq

from qsim_ex.errors import InvalidInput, NotSupported, WireError
from qsim_ex.frameworks import Remembered, uncollected
from qsim_ex_cirq.translation.gates import RULES, FromAttributes, Power, always
from qsim_ex_cirq.translation.noise import noisy_operations
from qsim_ex_cirq.translation.translation import Translation
from qsim_ex_cirq.translation.translator import Translator, require_numbers


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

    Raises `ParameterError` for symbols without a number, `WireError` for qudits and for a bad order,
    `UnknownInstruction` for an operation with neither a matrix nor a decomposition, and `NotSupported` for
    repeat-until loops.
    """
    resolved = cirq.resolve_parameters(circuit, cirq.ParamResolver(resolver))
    plain = resolved is circuit and noise is cirq.NO_NOISE
    # The default order follows from the moments, so that a circuit that comes again need not be asked for its qubits.
    order = None if plain and qubit_order is cirq.QubitOrder.DEFAULT else order_of(circuit, qubit_order)
    if not plain:
        assert order is not None
        return _translator(circuit, resolved, order, from_zero, noise, sampled, initial).translation(sampled)
    how, moments = (order, from_zero, sampled, initial), Moments(tuple(circuit))
    found: Translation | None = _known.get(circuit, how, moments)
    if found is None:
        order = order_of(circuit, qubit_order) if order is None else order
        translator = _translator(circuit, resolved, order, from_zero, noise, sampled, initial)
        found = translator.translation(sampled)
        if _are_constant(translator.gates):
            _known.put(circuit, how, moments, found, len(found.circuit.instructions))
    return found


_known = Remembered()
"""The translations of circuits without symbols and noise models."""


class Moments:
    """The moments of a circuit, which are equal only if they are the same objects: a moment never changes."""

    def __init__(self, moments: tuple[cirq.Moment, ...]) -> None:
        self._moments = moments

    def __eq__(self, other: object) -> bool:
        """Return whether two circuits have the same moments."""
        if not isinstance(other, Moments) or len(self._moments) != len(other._moments):
            return False
        return all(map(operator.is_, self._moments, other._moments))

    __hash__ = None  # type: ignore[assignment]


def _are_constant(gates: Sequence[cirq.Gate | None]) -> bool:
    """Return whether no gate has contents that may change: all are rows of the gate table, matrices, measurements.

    A matrix of Cirq's cannot be reached from outside. gates: of all operations; None for one that is no gate alone.
    """
    measured = [gate for gate in gates if type(gate) is cirq.MeasurementGate]
    return {*map(type, gates)} <= _CONSTANT and not any(gate.confusion_map for gate in measured)


_CONSTANT = frozenset(
    {kind for kind, rule in RULES.items() if isinstance(rule, Power | FromAttributes)}
    | {cirq.MatrixGate, cirq.PhasedXZGate, cirq.IdentityGate, cirq.ResetChannel, cirq.MeasurementGate}
)


def _translator(
    circuit: cirq.AbstractCircuit,
    resolved: cirq.AbstractCircuit,
    order: tuple[cirq.Qid, ...],
    from_zero: bool,
    noise: cirq.NoiseModel,
    sampled: bool,
    initial: int,
) -> Translator:
    """Return the translator that has appended a circuit."""
    literal = always
    if resolved is not circuit:
        pairs = zip(circuit.all_operations(), resolved.all_operations(), strict=True)
        symbolic = {id(op) for written, op in pairs if written is not op}  # these became numbers; noise has none
        literal = lambda op: id(op) not in symbolic  # noqa: E731
    translator = Translator(order, from_zero)
    translator.begin(initial)
    try:
        translator.operations(noisy_operations(resolved, noise, sampled), literal)
    except (InvalidInput, NotSupported):
        require_numbers(resolved)
        raise
    return translator


_GATES = frozenset({cirq.GateOperation, type(cirq.X(cirq.LineQubit(0)))})
"""Classes of operations that are gates; Cirq has one of its own for X, Y and Z."""


def has_loop(circuit: cirq.AbstractCircuit) -> bool:
    """Return whether a subcircuit is repeated until a condition on measured keys holds."""
    operations = [moment.operations for moment in circuit]
    if {*map(type, chain.from_iterable(operations))} <= _GATES:
        return False
    inner = (op.without_classical_controls().untagged for op in chain.from_iterable(operations))
    return any(
        isinstance(op, cirq.CircuitOperation) and (op.repeat_until is not None or has_loop(op.circuit)) for op in inner
    )


def order_of(circuit: cirq.AbstractCircuit, qubit_order: cirq.QubitOrderOrList) -> tuple[cirq.Qid, ...]:
    """Return all qubits in order; raises `WireError` for a qudit, a qubit given twice or one left out."""
    try:
        qubits = cirq.QubitOrder.as_qubit_order(qubit_order).order_for(circuit.all_qubits())
    except ValueError as error:
        raise WireError(f"this qubit order does not fit the circuit: {error}") from error
    for qubit in qubits:
        require_two_levels(qubit)
    return tuple(qubits)


def require_two_levels(qubit: cirq.Qid) -> None:
    """Raise `WireError` for a qudit."""
    if qubit.dimension != 2:
        raise WireError(f"{qubit!r} has {qubit.dimension} levels; qsim-ex simulates qubits, which have two.")
