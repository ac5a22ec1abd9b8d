"""Records of qudits: digits, inversions, confusion, conditions, loops, resets and channels, by Cirq's own matrices."""

from __future__ import annotations

from typing import Any

import cirq
import numpy as np
import pytest
import sympy
from support.cirq_records import assert_from

from qsim_ex_cirq import QsimExSimulator
from tools.fuzz.qudit_oracle import distribution
from tools.fuzz.qudit_programs import Channel, isometry, misreads

A, B, C = cirq.LineQid.for_qid_shape((3, 2, 5))
X3, X5 = cirq.XPowGate(dimension=3), cirq.XPowGate(dimension=5)
K = sympy.Symbol("k")
SHOTS = 3000


def unitary(seed: int, *qids: cirq.Qid) -> cirq.Operation:
    """A random matrix on some qids."""
    shape = cirq.qid_shape(qids)
    return cirq.MatrixGate(isometry(1, int(np.prod(shape)), seed)[0], qid_shape=shape).on(*qids)


BEGIN = [unitary(1, A, C), unitary(2, A, B)]
CIRCUITS: dict[str, list[cirq.Operation]] = {
    "at the end": [*BEGIN, cirq.measure(C, A, key="k"), cirq.measure(B, key="b")],
    "on the way": [*BEGIN, cirq.measure(A, key="k"), unitary(3, A, C), cirq.measure(A, C, key="l")],
    "inverted": [*BEGIN, cirq.measure(A, B, C, key="k", invert_mask=(True, True, True)), cirq.measure(A, key="l")],
    "confused": [*BEGIN, cirq.measure(B, A, C, key="k", confusion_map={(1,): misreads(3, 1), (2, 0): misreads(10, 2)})],
    "confused on the way": [
        *BEGIN,
        cirq.measure(A, key="k", confusion_map={(0,): misreads(3, 1)}, invert_mask=(True,)),
        X3(A).with_classical_controls("k"),
        cirq.measure(A, key="l"),
    ],
    "any digit": [*BEGIN, cirq.measure(A, C, key="k"), X5(C).with_classical_controls("k"), cirq.measure(C, key="l")],
    "a value": [
        *BEGIN,
        cirq.measure(A, C, key="k", invert_mask=(True, False)),
        unitary(4, C).with_classical_controls(sympy.Eq(K, 8)),
        cirq.measure(C, key="l"),
    ],
    "one digit": [
        *BEGIN,
        cirq.measure(C, A, key="k", invert_mask=(True, True)),
        cirq.X(B).with_classical_controls(sympy.IndexedBase("k")[0] > 2),
        X3(A).with_classical_controls(sympy.Eq(sympy.IndexedBase("k")[1], 2)),
        cirq.measure(A, B, key="l"),
    ],
    "a mask": [
        *BEGIN,
        cirq.measure(A, C, key="k"),
        X3(A).with_classical_controls(cirq.BitMaskKeyCondition("k", bitmask=4, target_value=4, equal_target=True)),
        cirq.measure(A, key="l"),
    ],
    "a function that the engine has not": [
        *BEGIN,
        cirq.measure(A, C, key="k", invert_mask=(False, True)),
        X3(A).with_classical_controls(cirq.SympyCondition(sympy.Eq(sympy.floor(K / 3), 2))),
        cirq.measure(A, key="l"),
    ],
    "resets": [*BEGIN, cirq.reset(A), unitary(3, A, C), cirq.ResetChannel(5)(C), unitary(4, C), cirq.measure(A, C)],
    "channels": [
        *BEGIN,
        Channel((3,), 3, 4)(A),
        Channel((5,), 2, 5, mixed=True)(C),
        Channel((2, 3), 2, 6)(B, A),
        unitary(4, C, A),
        cirq.measure(A, C, key="k"),
    ],
    "one level": [*BEGIN, cirq.measure(cirq.LineQid(9, 1), A, key="k")],
    "a key again": [*BEGIN, cirq.measure(A, key="k"), unitary(3, A), cirq.measure(A, key="k")],
}


@pytest.mark.parametrize("name", CIRCUITS)
@pytest.mark.parametrize("method", ["automatic", "density_matrix"])
def test_records_are_as_frequent_as_by_definition(name: str, method: str) -> None:
    """Digits of all keys come from the exact distribution, by trajectories and by density matrices."""
    circuit = cirq.Circuit(CIRCUITS[name])
    result = QsimExSimulator(seed=1, device="cpu", method=method).run(circuit, repetitions=SHOTS)
    assert_from(result, distribution(circuit, sorted(circuit.all_qubits())))


def test_records_on_every_device(simulator: QsimExSimulator) -> None:
    """Records are int8 [repetitions, instances, qids] with digits from 0 on, of one repetition uint8 [qids]."""
    circuit = cirq.Circuit(X3(A) ** 2, cirq.X(B), X5(C) ** 4, cirq.measure(C, B, A, key="k"), cirq.measure(A, key="l"))
    result = simulator.run(circuit, repetitions=4)
    assert result.records["k"].tolist() == [[[4, 1, 2]]] * 4
    assert result.records["k"].dtype == np.int8
    found = simulator.simulate(circuit).measurements
    assert (found["k"].tolist(), found["l"].tolist(), found["k"].dtype) == ([4, 1, 2], [2], np.uint8)
    none = simulator.run(circuit, repetitions=0).records["k"]
    assert (none.shape, none.dtype) == ((0, 1, 3), np.int8)
    assert cirq.read_json(json_text=cirq.to_json(result)) == result


def test_histograms() -> None:
    """A base makes one number of digits, however large; without one they are folded by Cirq's own rule for bits."""
    qids = cirq.LineQid.range(6, dimension=3)
    result = QsimExSimulator().run(cirq.Circuit((X3**2).on_each(*qids), cirq.measure(*qids, key="k")), repetitions=2)
    assert result.histogram(key="k", fold_func=tuple) == {(2,) * 6: 2}
    assert result.histogram(key="k") == cirq.ResultDict(records=result.records).histogram(key="k")
    if "fold_base" in cirq.Result.histogram.__kwdefaults__:  # since Cirq 1.7
        assert result.histogram(key="k", fold_base=3) == {728: 2}


def test_more_than_128_levels() -> None:
    """Digits that no int8 has come in a wider type."""
    qid = cirq.LineQid(0, dimension=130)
    turned = cirq.MatrixGate(np.roll(np.eye(130), -1, axis=0), qid_shape=(130,))(qid)
    circuit = cirq.Circuit(turned, cirq.measure(qid, key="k"))
    assert QsimExSimulator().run(circuit).records["k"].tolist() == [[[129]]]
    assert QsimExSimulator().simulate(circuit).measurements["k"].tolist() == [129]


def test_loops_that_a_digit_ends() -> None:
    """A loop ends when the digit is 2, its records are all rounds, and conditions behind it read the last one."""
    body = cirq.FrozenCircuit(unitary(1, A), cirq.measure(A, B, key="k", invert_mask=(True, False)))
    until = cirq.SympyCondition(sympy.Eq(K, 4))  # the digits 2 and 0
    loop = cirq.CircuitOperation(body, use_repetition_ids=False, repeat_until=until)
    circuit = cirq.Circuit(loop, X5(C).with_classical_controls(sympy.Eq(sympy.IndexedBase("k")[0], 2)), cirq.measure(C))
    simulator = QsimExSimulator(seed=1)
    result = simulator.run(circuit, repetitions=2000)
    ends = (result.records["k"] == [2, 0]).all(axis=2).argmax(axis=1)
    assert result.records["q(2) (d=5)"].all()
    matrix = cirq.unitary(unitary(1, A))
    weight, state = [], np.eye(3)[0]
    # The first round begins in level 0, and each later one in a level that is not 2.
    first = abs(matrix @ state) ** 2
    weight.append(first[2])
    assert (ends == 0).mean() == pytest.approx(weight[0], abs=0.06)
    assert (ends == 1).mean() == pytest.approx(sum(first[k] * abs(matrix[2, k]) ** 2 for k in (0, 1)), abs=0.06)
    assert simulator.simulate(circuit).measurements["k"].tolist() == [2, 0]


class Noted(Channel):
    """A channel that writes down which of its matrices was chosen."""

    def _measurement_key_obj_(self) -> cirq.MeasurementKey:
        return cirq.MeasurementKey("c")

    def _is_measurement_(self) -> bool:
        return True

    def _with_measurement_key_mapping_(self, key_map: Any) -> cirq.Gate:  # noqa: ARG002
        return self


def test_channels_with_a_key() -> None:
    """A channel on a qutrit with a key writes down each matrix as often as its weight says."""
    circuit = cirq.Circuit(unitary(1, A), Noted((3,), 3, 4)(A))
    choices = QsimExSimulator(seed=1).run(circuit, repetitions=SHOTS).records["c"][:, 0, 0]
    psi = cirq.unitary(unitary(1, A))[:, 0]
    weights = [np.linalg.norm(matrix @ psi) ** 2 for matrix in isometry(3, 3, 4)]
    assert np.bincount(choices, minlength=3) / SHOTS == pytest.approx(weights, abs=0.05)


class Leaks(cirq.NoiseModel):
    """Lets every transmon that was acted on leak from level 1 to 2, and lose what is in 2."""

    def noisy_operation(self, operation: cirq.Operation) -> cirq.OP_TREE:
        """Return an operation and what leaks after it."""
        if cirq.is_measurement(operation):
            return operation
        return [operation, [Channel((3,), 2, 7)(qid) for qid in operation.qubits if qid.dimension == 3]]


@pytest.mark.parametrize("method", ["automatic", "density_matrix"])
def test_noise_models_of_qutrits(method: str) -> None:
    """A model's channels on qutrits act after each operation, as in Cirq."""
    circuit = cirq.Circuit(unitary(1, A, B), X3(A), cirq.H(B), unitary(2, B, A), cirq.measure(A, B, key="k"))
    qids = sorted(circuit.all_qubits())
    noisy = cirq.Circuit(Leaks().noisy_moments(circuit, qids))
    result = QsimExSimulator(seed=1, noise=Leaks(), method=method).run(circuit, repetitions=SHOTS)
    assert_from(result, distribution(noisy, qids))
