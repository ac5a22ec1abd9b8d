"""What is wrong with circuits of qudits is said in words of qids and their levels."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import cirq
import numpy as np
import pytest

from qsim_ex import errors
from qsim_ex_cirq import QsimExDensityMatrixSimulator, QsimExSimulator
from tools.fuzz.qudit_programs import Channel, isometry

OURS = QsimExSimulator(device="cpu")
A, B = cirq.LineQid.for_qid_shape((3, 5))
X3 = cirq.XPowGate(dimension=3)
WIDE = cirq.LineQid.range(60, dimension=3)
JOINED = cirq.Circuit(cirq.MatrixGate(isometry(1, 9, 1)[0], qid_shape=(3, 3))(*pair) for pair in pairwise(WIDE))


class Says(cirq.Gate):
    """A gate on a qutrit with any matrix that somebody says it has."""

    def __init__(self, **said: Any) -> None:
        self._said = said

    def _qid_shape_(self) -> tuple[int, ...]:
        return (3,)

    def _unitary_(self) -> Any:
        return self._said.get("unitary", NotImplemented)

    def _kraus_(self) -> Any:
        return self._said.get("kraus", NotImplemented)


def simulated(*operations: cirq.Operation, **how: Any) -> object:
    """The result of a simulation."""
    return OURS.simulate(cirq.Circuit(operations), **how)


MEASURED = JOINED + cirq.measure(*WIDE[:2], key="k")
ROOM = "60 qids of 3 levels are 120 wires"
MISTAKES: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "too many: simulate": (lambda: OURS.simulate(JOINED), errors.OutOfMemory, ROOM),
    "too many: run": (lambda: OURS.run(MEASURED), errors.OutOfMemory, ROOM),
    "too many: steps": (lambda: list(OURS.simulate_moment_steps(JOINED)), errors.OutOfMemory, ROOM),
    "too many: amplitudes": (lambda: OURS.compute_amplitudes(JOINED, [0]), errors.OutOfMemory, ROOM),
    "too many: values": (
        lambda: OURS.simulate_expectation_values(
            JOINED + cirq.ControlledOperation([WIDE[0]], cirq.X(cirq.q(0))), cirq.Z(cirq.q(0))
        ),
        errors.OutOfMemory,
        "61 qids of",
    ),
    "too many: density matrix": (
        lambda: QsimExDensityMatrixSimulator(device="cpu").simulate(JOINED).final_density_matrix,
        errors.OutOfMemory,
        ROOM,
    ),
    "a value that is none": (
        lambda: simulated(X3(A), initial_state=3),
        errors.StateError,
        "one qid of 3 levels, from 0 to 2",
    ),
    "a digit that is none": (lambda: simulated(X3(A), initial_state=[3]), errors.StateError, "one qid of 3 levels"),
    "amplitudes of qubits": (
        lambda: simulated(X3(A), cirq.IdentityGate(qid_shape=(5,))(B), initial_state=np.eye(16)[0]),
        errors.StateError,
        "2 qids of 3, 5 levels",
    ),
    "not normalised": (
        lambda: simulated(X3(A), initial_state=np.ones(3, dtype=complex)),
        errors.StateError,
        "norm 1.73205",
    ),
    "a density matrix's value that is none": (
        lambda: QsimExDensityMatrixSimulator().simulate(cirq.Circuit(X3(A)), initial_state=3),
        errors.StateError,
        "one qid of 3 levels have the values 0 to 2",
    ),
    "a bitstring that is none": (
        lambda: OURS.compute_amplitudes(cirq.Circuit(X3(A)), [3]),
        errors.CircuitError,
        "0 to 2 for one qid of 3 levels, got 3",
    ),
    "a matrix of another size": (
        lambda: simulated(Says(unitary=np.eye(4))(A)),
        errors.MatrixError,
        "3 rows and columns for qids of 3 levels",
    ),
    "a matrix that is not unitary": (
        lambda: simulated(Says(unitary=2 * np.eye(3))(A)),
        errors.MatrixError,
        "unitary",
    ),
    "a channel of another size": (
        lambda: simulated(Says(kraus=[np.eye(2)])(A)),
        errors.MatrixError,
        "3 rows and columns for qids of 3 levels",
    ),
    "a channel that loses probability": (
        lambda: simulated(Says(kraus=[np.eye(3) / 2])(A)),
        errors.NoiseError,
        "keep the trace",
    ),
    "a channel of too many matrices": (
        lambda: simulated(Channel((5, 5), 17, 1)(B, cirq.LineQid(2, 5))),
        errors.NoiseError,
        "at most 16 matrices on qids that take 6 bits, got 17",
    ),
    "noise of qubits": (
        lambda: QsimExSimulator(noise=cirq.depolarize(0.1)).simulate(cirq.Circuit(X3(A))),
        errors.NoiseError,
        r"Expected \(2,\) but got \(3,\)",
    ),
    "a key on other levels": (
        lambda: OURS.run(cirq.Circuit(cirq.measure(A, key="k"), cirq.measure(B, key="k"))),
        errors.MeasurementError,
        "measured on one qid of 3 levels and again on one qid of 5 levels",
    ),
    "a qid that the noise model adds": (
        lambda: QsimExSimulator(noise=Adds()).simulate(cirq.Circuit(X3(A))),
        errors.WireError,
        "which is no qid of the circuit",
    ),
    "samples from amplitudes": (
        lambda: OURS.sample_from_amplitudes(cirq.Circuit(X3(A)), None, 1, 3),
        errors.NotSupported,
        "expected qubits, got one qid of 3 levels; use run",
    ),
    "nothing to go by": (lambda: simulated(Says()(A)), errors.UnknownInstruction, "with none of them"),
}


class Adds(cirq.NoiseModel):
    """Acts on a qid that no circuit has."""

    def noisy_operation(self, operation: cirq.Operation) -> cirq.OP_TREE:
        """Return an operation and one elsewhere."""
        return [operation, X3(cirq.NamedQid("other", 3))]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake: str) -> None:
    """A mistake raises its class of error, in words of qids."""
    make, kind, says = MISTAKES[mistake]
    with pytest.raises(kind, match=says):
        make()
