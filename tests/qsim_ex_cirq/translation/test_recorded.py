"""Channels by way of ancillas, wide ones and those with a key: the key, the state, and what conditions see."""

from __future__ import annotations

from typing import Any

import cirq
import numpy as np
import pytest
import sympy
from numpy.typing import NDArray
from support.strategies import random_unitary

from qsim_ex import errors
from qsim_ex_cirq import QsimExDensityMatrixSimulator, QsimExSimulator
from tools.fuzz.qudit_programs import Channel

A, B = cirq.LineQubit.range(2)
SHOTS = 2_000


def kraus(count: int, size: int, seed: int) -> list[NDArray[np.complex128]]:
    """Kraus matrices without zeros: the blocks of an isometry."""
    return [*random_unitary(count * size, seed)[:, :size].reshape(count, size, size)]


CHANNELS: dict[str, cirq.Gate] = {
    "one matrix": cirq.KrausChannel([random_unitary(2, 1)], key="k"),
    "a measurement of X": cirq.KrausChannel([np.full((2, 2), 0.5), np.array([[0.5, -0.5], [-0.5, 0.5]])], key="k"),
    "three matrices": cirq.KrausChannel(kraus(3, 2, 5), key="k"),
    "two qubits": cirq.KrausChannel(kraus(5, 4, 6), key="k"),
    "a mixture": cirq.MixedUnitaryChannel([(0.2, random_unitary(4, 1)), (0.8, random_unitary(4, 2))], key="k"),
    "a matrix of probability 0": cirq.MixedUnitaryChannel([(0, np.eye(2)), (1, cirq.unitary(cirq.X))], key="k"),
}


def operations_of(gate: cirq.Gate) -> list[cirq.Operation]:
    """A channel on a state that is no eigenstate of anything."""
    return [cirq.ry(0.7)(A), cirq.rx(1.1)(B), cirq.CNOT(A, B), gate.on(*[B, A][: cirq.num_qubits(gate)])]


@pytest.mark.parametrize("name", CHANNELS)
def test_choices_and_what_follows_are_distributed_as_cirqs(name: str) -> None:
    """The records of the key and of later measurements together are as frequent as the density matrix says."""
    gate: Any = CHANNELS[name]
    circuit = cirq.Circuit(operations_of(gate), cirq.measure(A, B, key="end"))
    found = QsimExSimulator(seed=1, device="cpu").run(circuit, repetitions=SHOTS)
    assert found.records["k"].shape == (SHOTS, 1, 1)
    state = cirq.Circuit(operations_of(gate)[:-1]).final_state_vector(qubit_order=[A, B], dtype=np.complex128)
    for number, matrix in enumerate(cirq.kraus(gate)):
        on = [1, 0][: cirq.num_qubits(gate)]
        after = cirq.targeted_left_multiply(
            np.asarray(matrix, dtype=complex).reshape((2,) * (2 * len(on))), state.reshape(2, 2), on
        )
        for value, expected in enumerate(np.abs(after.reshape(-1)) ** 2 * SHOTS):
            both = (found.measurements["k"][:, 0] == number) & (found.measurements["end"] @ [2, 1] == value)
            assert abs(both.sum() - expected) < 5 * np.sqrt(expected + 1)


@pytest.mark.parametrize("name", CHANNELS)
def test_a_final_state_is_that_of_the_choice_in_the_record(name: str) -> None:
    """`simulate` gives the matrix's state, normalised, and the number of the matrix."""
    gate: Any = CHANNELS[name]
    circuit = cirq.Circuit(operations_of(gate))
    simulator = QsimExSimulator(seed=2, device="cpu", dtype=np.complex128)
    for _ in range(5):
        result = simulator.simulate(circuit, qubit_order=[A, B])
        (number,) = result.measurements["k"]
        matrix = cirq.MatrixGate(np.eye(2 ** cirq.num_qubits(gate)))  # the qubits alone, then the Kraus matrix by hand
        state = cirq.Circuit(operations_of(matrix)).final_state_vector(qubit_order=[A, B], dtype=np.complex128)
        on = [1, 0][: cirq.num_qubits(gate)]
        chosen = np.asarray(cirq.kraus(gate)[number], dtype=complex).reshape((2,) * (2 * len(on)))
        expected = cirq.targeted_left_multiply(chosen, state.reshape(2, 2), on).reshape(-1)
        expected /= np.linalg.norm(expected)
        assert abs(np.vdot(expected, result.final_state_vector)) == pytest.approx(1, abs=1e-9)


def test_a_repeated_key_has_one_record_for_each_channel() -> None:
    """Instances stand side by side, as in Cirq."""
    flip = cirq.MixedUnitaryChannel([(0.5, np.eye(2)), (0.5, cirq.unitary(cirq.X))], key="k")
    circuit = cirq.Circuit(flip(A), flip(A), cirq.measure(A, key="m"))
    ours = QsimExSimulator(seed=1, device="cpu").run(circuit, repetitions=50).records
    theirs = cirq.Simulator(seed=1).run(circuit, repetitions=50).records
    assert ours["k"].shape == theirs["k"].shape == (50, 1, 2)
    assert np.array_equal(ours["k"].sum(axis=2) % 2, ours["m"][:, 0])


def test_conditions_see_the_number_of_the_matrix() -> None:
    """A key as a condition asks whether the number is not 0, a formula takes the number."""
    gate = cirq.KrausChannel([np.eye(2) * np.sqrt(p) for p in (0.2, 0.3, 0.5)], key="k")
    circuit = cirq.Circuit(
        gate(A),
        cirq.X(A).with_classical_controls("k"),
        cirq.X(B).with_classical_controls(sympy.Eq(sympy.Symbol("k"), 2)),
        cirq.measure(A, key="a"),
        cirq.measure(B, key="b"),
    )
    found = QsimExSimulator(seed=1, device="cpu").run(circuit, repetitions=200).measurements
    assert set(found["k"][:, 0]) == {0, 1, 2}
    assert np.array_equal(found["a"], found["k"] != 0)
    assert np.array_equal(found["b"], found["k"] == 2)


def test_a_sweep_has_the_choices_of_each_point() -> None:
    """Points of a sweep run together, and each has its own records."""
    gate = CHANNELS["a measurement of X"]
    circuit = cirq.Circuit(cirq.ry(sympy.Symbol("t"))(A), gate(A))
    simulator = QsimExSimulator(seed=1, device="cpu")
    results = simulator.run_sweep(circuit, [{"t": angle} for angle in (np.pi / 2, 0.0, -np.pi / 2)], 100)
    counts = [int(one.measurements["k"].sum()) for one in results]
    assert counts[0] == 0
    assert 25 < counts[1] < 75
    assert counts[2] == 100


@pytest.mark.parametrize(
    ("operations", "error", "message"),
    [
        ([cirq.measure(A, key="k"), CHANNELS["three matrices"](B)], errors.MeasurementError, "'k' is measured on one"),
        (
            [CHANNELS["three matrices"](B), cirq.measure(A, key="k")],
            errors.MeasurementError,
            "'k' is measured by a chan",
        ),
        ([cirq.KrausChannel([np.eye(2) / 32] * 1024, key="k")(A)], errors.NoiseError, "at most 512 matrices on 1"),
        ([cirq.KrausChannel([np.eye(2) / 2], key="k", validate=False)(A)], errors.NoiseError, "keep the trace"),
    ],
)
def test_what_no_record_can_be_made_of_is_refused(operations: Any, error: type[Exception], message: str) -> None:
    """A key of two kinds, too many matrices, and matrices that lose probability raise errors."""
    with pytest.raises(error, match=message):
        QsimExSimulator().run(cirq.Circuit(operations))


WIDE = {"five qubits": ((2,) * 5, 3, False), "three qutrits": ((3,) * 3, 2, False), "a mixture": ((3, 2, 3), 3, True)}
"""Of channels on more than four wires the levels, the number of matrices, and whether they are scaled unitary ones."""


@pytest.mark.parametrize("name", WIDE)
def test_a_channel_on_many_wires_is_its_matrices(name: str) -> None:
    """The density matrix after a wide channel is Cirq's, and samples are as frequent as it says."""
    shape, count, mixed = WIDE[name]
    size, qids = int(np.prod(shape)), cirq.LineQid.for_qid_shape(shape)
    prepared = cirq.MatrixGate(random_unitary(size, 4), qid_shape=shape)(*qids)
    circuit = cirq.Circuit(prepared, Channel(shape, count, 2, mixed=mixed)(*qids))
    rho = cirq.DensityMatrixSimulator(dtype=np.complex128).simulate(circuit).final_density_matrix
    ours = QsimExDensityMatrixSimulator(dtype=np.complex128, device="cpu").simulate(circuit)
    assert ours.final_density_matrix == pytest.approx(rho, abs=1e-9)
    measured = circuit + cirq.measure(*qids, key="m")
    digits = QsimExSimulator(seed=1, device="cpu").run(measured, repetitions=SHOTS).measurements["m"]
    found = np.bincount([cirq.big_endian_digits_to_int(row, base=shape) for row in digits.tolist()], minlength=size)
    expected = np.diag(rho).real * SHOTS
    assert np.all(np.abs(found - expected) < 5 * np.sqrt(expected + 1))
