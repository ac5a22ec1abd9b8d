"""Bad input and unsupported features raise errors of their own, with what was given and what to do."""

from __future__ import annotations

import itertools

import cirq
import numpy as np
import pytest
import sympy

from qsim_ex import errors
from qsim_ex_cirq import QsimExSimulator, translate

A, B, C = cirq.LineQubit.range(3)
MEASURED = cirq.Circuit(cirq.H(A), cirq.measure(A, key="m"))


class Opaque(cirq.Gate):
    """A gate with neither a matrix nor a decomposition."""

    def _num_qubits_(self):
        return 1


class Says(cirq.Gate):
    """A gate of one qubit that says it has this matrix."""

    def __init__(self, matrix):
        self.matrix = np.asarray(matrix)

    def _num_qubits_(self):
        return 1

    def _unitary_(self):
        return self.matrix


class Wide(cirq.Gate):
    """A gate of many qubits that has a unitary, and would need all of its matrix."""

    def _num_qubits_(self):
        return 12

    def _has_unitary_(self):
        return True


@pytest.mark.parametrize("repetitions", [-1, 2.5, "3", True, None])
def test_bad_repetitions(simulator, repetitions):
    """Repetitions that are no positive whole number are refused, not rounded; zero is refused too."""
    with pytest.raises(errors.ShotsError, match="whole number >= 1"):
        simulator.run(MEASURED, repetitions=repetitions)


def test_nothing_measured(simulator):
    """Samples of a circuit without measurements are an error that says what is missing."""
    with pytest.raises(errors.MeasurementError, match="no measurements to sample"):
        simulator.run(cirq.Circuit(cirq.H(A)))


def test_unbound_parameters_are_named(simulator):
    """All symbols without a value are named, before anything runs."""
    s, t, u = sympy.symbols("s t u")
    circuit = cirq.Circuit(cirq.X(A) ** (s + t), cirq.FSimGate(u, 0.1)(A, B), cirq.measure(A))
    for act in (simulator.run, simulator.simulate):
        with pytest.raises(errors.ParameterError, match="symbols were not specified: s, u"):
            act(circuit, {"t": 0.3})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("gate", [cirq.XPowGate, cirq.CZPowGate, lambda exponent: cirq.DiagonalGate([exponent, 0])])
def test_parameters_that_are_not_finite(simulator, gate, value):
    """An angle that is NaN or infinite is refused."""
    made = gate(exponent=value)
    with pytest.raises(errors.ParameterError, match="not finite"):
        simulator.simulate(cirq.Circuit(made.on(*cirq.LineQubit.range(cirq.num_qubits(made)))))


def test_complex_parameter():
    """A parameter that is no real number is refused."""
    with pytest.raises(errors.ParameterError, match="not a real number"):
        translate(cirq.Circuit(cirq.FSimGate(sympy.I, 0.1).on(A, B)))


def test_unknown_instruction_is_named_with_its_place(simulator):
    """A gate with neither a matrix nor a decomposition is named, and the moment in which it stands."""
    with pytest.raises(errors.UnknownInstruction, match="Opaque") as caught:
        simulator.simulate(cirq.Circuit(cirq.X(A), Opaque().on(A)))
    assert "moment 1" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        ([[1, 0, 0], [0, 1, 0]], "square"),
        (np.eye(3), "power of two"),
        (np.eye(4), "2 rows for 1 wires, got 4"),
        ([[1, 1], [0, 1]], "a unitary matrix"),
        ([[np.nan, 0], [0, 1]], "NaN"),
    ],
)
def test_bad_matrices(matrix, says):
    """A gate whose matrix is not square, of the wrong size, not unitary or not finite is refused."""
    with pytest.raises(errors.MatrixError, match=says):
        translate(cirq.Circuit(Says(matrix).on(A)))


def test_matrix_that_cirq_did_not_check():
    """A matrix whose check was switched off in Cirq is checked here."""
    with pytest.raises(errors.MatrixError, match="a unitary matrix"):
        translate(cirq.Circuit(cirq.MatrixGate(np.array([[1, 0], [0, 0.5]]), unitary_check=False).on(A)))
    with pytest.raises(errors.MatrixError, match="modulus 2"):
        translate(cirq.Circuit(2 * cirq.X(A) * cirq.Y(B)))


def test_wide_gate_without_decomposition():
    """A matrix that would be too large is refused by name."""
    with pytest.raises(errors.NotSupported, match="more than 10 qubits"):
        translate(cirq.Circuit(Wide().on(*cirq.LineQubit.range(12))))


@pytest.mark.parametrize(
    "state",
    [
        8,
        -1,
        np.ones(4) / 2,
        np.full(8, 0.5 + 0j),
        np.array([np.nan] + [0j] * 7),
        [0, 1],
        "000",
        cirq.KET_PLUS(A),
        np.eye(8) / 8,
    ],
    ids=str,
)
def test_bad_initial_states(simulator, state):
    """A state that is out of range, of the wrong size, not normalised or not finite is refused."""
    circuit = cirq.Circuit(cirq.H.on_each(A, B, C))
    with pytest.raises(errors.StateError):
        simulator.simulate(circuit, initial_state=state)


@pytest.mark.parametrize("act", ["run", "simulate"])
def test_sixty_qubits_are_refused_at_once(make, act):
    """More qubits than memory are refused with the sum, before anything is allocated."""
    qubits = cirq.LineQubit.range(60)
    pairs = itertools.pairwise(qubits)
    circuit = cirq.Circuit(cirq.ry(0.3).on_each(*qubits), (cirq.CNOT(*pair) for pair in pairs), cirq.measure(A))
    with pytest.raises(errors.OutOfMemory, match=r"60 wires.*8.* EiB"):
        getattr(make(), act)(circuit)


def test_memory_limit(make):
    """`max_memory` is kept."""
    with pytest.raises(errors.OutOfMemory):
        make(max_memory=1000).simulate(cirq.Circuit(cirq.H.on_each(*cirq.LineQubit.range(10))))


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"devise": "gpu"}, "Did you mean 'device'"),
        ({"precision": "double"}, "no option 'precision'"),
        ({"device": "tpu"}, "'auto', 'cpu', 'gpu'"),
        ({"threads": 0}, "threads: expected a whole number from 1 up, got 0; pass threads=1"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": "one"}, "seed='one'"),
        ({"dtype": np.float32}, "complex64 or numpy.complex128"),
        ({"dtype": "complex256"}, "complex64 or numpy.complex128"),
    ],
)
def test_bad_options(option, says):
    """An option that does not exist names the nearest one; a value that it cannot take names those it can."""
    with pytest.raises(errors.OptionError, match=says):
        QsimExSimulator(**option)


def test_device_that_is_not_there():
    """A demand for a GPU where there is none is an error; 'auto' says why it took the CPU."""
    from qsim_ex.devices.discover import gpu_missing

    if gpu_missing() is None:
        pytest.skip("a GPU is present")
    with pytest.raises((errors.DeviceError, errors.MissingPackage), match="GPU"):
        QsimExSimulator(device="gpu").run(MEASURED)
    assert "auto: no GPU" in QsimExSimulator().run(MEASURED).qsim_ex["device_reason"]


@pytest.mark.parametrize("order", [[A], [A, A, B], [A, B, B]], ids=str)
def test_bad_qubit_orders(simulator, order):
    """An order that names a qubit twice or leaves one out is refused."""
    with pytest.raises(errors.WireError, match="qubit order"):
        simulator.simulate(cirq.Circuit(cirq.CNOT(A, B)), qubit_order=order)


def test_key_on_different_numbers_of_qubits(simulator):
    """A key may be measured again, but on as many qubits."""
    circuit = cirq.Circuit(cirq.measure(A, key="k"), cirq.measure(B, C, key="k"))
    with pytest.raises(errors.MeasurementError, match="'k' is measured on one qubit and again on 2 qubits"):
        simulator.run(circuit)


@pytest.mark.parametrize("values", [[[0, 1]], 3, [4], [-1], [0.5], ["01"]], ids=str)
def test_bad_bitstrings(simulator, values):
    """Amplitudes are asked for by whole numbers in range."""
    with pytest.raises(errors.InvalidInput):
        simulator.compute_amplitudes(cirq.Circuit(cirq.CNOT(A, B)), values)


def test_observable_on_unknown_qubit(simulator):
    """An observable on a qubit that the circuit has not is refused by name."""
    with pytest.raises(errors.WireError, match=r"LineQubit\(2\)"):
        simulator.simulate_expectation_values(cirq.Circuit(cirq.X(A)), cirq.Z(C))


def test_an_operation_that_is_no_observable(simulator):
    """An operation that is no product of Pauli operators is named, with what to write instead."""
    with pytest.raises(errors.OptionError, match=r"got the operation cirq\.H.*cirq\.PauliSum"):
        simulator.simulate_expectation_values(cirq.Circuit(cirq.X(A)), cirq.H(A))


class Leaks(cirq.Gate):
    """A channel whose Kraus matrices have a trace of 2."""

    def _num_qubits_(self):
        return 1

    def _kraus_(self):
        return [np.eye(2), np.eye(2)]


@pytest.mark.parametrize(
    ("gate", "kind"), [(Opaque(), errors.UnknownInstruction), (Leaks(), errors.NoiseError)], ids=["opaque", "leaks"]
)
def test_what_is_refused_is_refused_between_moments_too(simulator, gate, kind):
    """An operation that `simulate` refuses is refused by `simulate_moment_steps` with an error of the same kind."""
    circuit = cirq.Circuit(gate(A))
    with pytest.raises(kind):
        simulator.simulate(circuit)
    with pytest.raises(kind):
        list(simulator.simulate_moment_steps(circuit))


def test_expectation_values_after_measurement(simulator):
    """Measurements that would spoil an expectation value are refused, as in Cirq."""
    with pytest.raises(errors.MeasurementError, match="permit_terminal_measurements"):
        simulator.simulate_expectation_values(MEASURED, cirq.Z(A))


def test_errors_are_value_errors_too():
    """Programs that catch the ValueError of ``cirq.Simulator`` go on working."""
    for act in (
        lambda: QsimExSimulator(dtype=np.float64),
        lambda: QsimExSimulator().run(cirq.Circuit(cirq.X(A))),
        lambda: QsimExSimulator().simulate(cirq.Circuit(cirq.X(A) ** sympy.Symbol("t"))),
        lambda: QsimExSimulator().simulate_expectation_values(MEASURED, cirq.Z(A)),
    ):
        with pytest.raises(ValueError):  # noqa: PT011  (the class is the point)
            act()


@pytest.mark.parametrize("noise", [cirq.depolarize(0.1, 2), "loud", 0.1], ids=str)
def test_what_is_no_noise(noise):
    """An object that is neither a noise model nor a one-qubit gate is refused when the simulator is made."""
    with pytest.raises(errors.OptionError, match="or a one-qubit gate, got"):
        QsimExSimulator(noise=noise)
