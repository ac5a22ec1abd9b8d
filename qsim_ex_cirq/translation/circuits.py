"""From a Cirq circuit to a circuit of the engine: one pure function, `translate`.

Qubit k of the order becomes wire n−1−k, so that the engine's little-endian state is Cirq's big-endian one without
any amplitude being moved. Measurements at the end become one `Measure` of all measured wires, wire w into
classical bit w; what is measured before goes into classical bits of its own (see `measurements`).
"""

from __future__ import annotations

import cirq

from qsim_ex.errors import InvalidInput, NotSupported, WireError
from qsim_ex_cirq.translation.columns import always
from qsim_ex_cirq.translation.noise import noisy_operations
from qsim_ex_cirq.translation.translation import Translation
from qsim_ex_cirq.translation.translator import Translator, require_numbers


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
    literal = always
    if resolved is not circuit:
        pairs = zip(circuit.all_operations(), resolved.all_operations(), strict=True)
        symbolic = {id(op) for written, op in pairs if written is not op}  # these became numbers; noise has none
        literal = lambda op: id(op) not in symbolic  # noqa: E731
    translator = Translator(order_of(circuit, qubit_order), from_zero)
    translator.begin(initial)
    try:
        translator.operations(noisy_operations(resolved, noise, sampled), literal)
    except (InvalidInput, NotSupported):
        require_numbers(resolved)
        raise
    return translator.translation(sampled)


def order_of(circuit: cirq.AbstractCircuit, qubit_order: cirq.QubitOrderOrList) -> tuple[cirq.Qid, ...]:
    """Return all qubits in order; raises `WireError` for a qudit, a qubit given twice or one left out."""
    try:
        qubits = cirq.QubitOrder.as_qubit_order(qubit_order).order_for(circuit.all_qubits())
    except ValueError as error:
        raise WireError(f"this qubit order does not fit the circuit: {error}") from error
    for qubit in qubits:
        if qubit.dimension != 2:
            raise WireError(f"{qubit!r} has {qubit.dimension} levels; qsim-ex simulates qubits, which have two.")
    return tuple(qubits)
