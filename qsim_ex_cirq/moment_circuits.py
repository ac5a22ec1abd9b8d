"""The circuits of single moments, which are kept with the moments."""

from __future__ import annotations

from collections.abc import Sequence

import cirq

from qsim_ex import Circuit
from qsim_ex.frameworks import Remembered
from qsim_ex_cirq.translation.circuits import Moments, are_constant, translator_of
from qsim_ex_cirq.translation.gates import always
from qsim_ex_cirq.translation.noise import MomentOperation


def circuit_of(
    operations: Sequence[MomentOperation], qubits: tuple[cirq.Qid, ...], whole: cirq.Moment | None = None
) -> Circuit:
    """Return the circuit of operations on some qubits, the last of which is wire 0.

    whole: the moment whose operations on these qubits they are, if they are all of them; its circuit is kept.
    """
    known: Circuit | None = None if whole is None else _known.get(whole, qubits, Moments((whole,)))
    if known is not None:
        return known
    translator = translator_of(qubits, False)
    translator.operations(operations, always)
    circuit = translator.translation(False).circuit
    if whole is not None and are_constant(translator.gates):
        _known.put(whole, qubits, Moments((whole,), translator.matrix_gates), circuit, len(circuit.instructions))
    return circuit


_known = Remembered()
"""The circuits of moments that were read one by one, for each order of the qubits."""
