"""Channels and noise models of Cirq's: the translated circuit has the density matrix that Cirq computes itself."""

from __future__ import annotations

from typing import Any

import cirq
import numpy as np
import pytest
import sympy
from numpy.typing import NDArray
from support.strategies import random_unitary

from qsim_ex import errors, reference
from qsim_ex.circuit.ops import Channel, Measure, Op, Reset
from qsim_ex_cirq import QsimExSimulator, translate
from tools.fuzz import qudit_programs

A, B, C = cirq.LineQubit.range(3)


def random_kraus(count: int, size: int, seed: int) -> NDArray[np.complex128]:
    """Kraus matrices without zeros: the blocks of an isometry."""
    return random_unitary(count * size, seed)[:, :size].reshape(count, size, size)


def busy(*operations: Any) -> cirq.Circuit:
    """A circuit with some operations between gates that tell the qubits apart."""
    before = [cirq.ry(0.3 + k).on(q) for k, q in enumerate((A, B, C))] + [cirq.CNOT(A, B), cirq.CNOT(C, A)]
    return cirq.Circuit(before, operations, cirq.CNOT(A, C), cirq.X(B) ** 0.3)


def by_cirq(circuit: cirq.Circuit, noise: Any = None) -> NDArray[np.complex128]:
    """The density matrix that Cirq computes."""
    simulator: Any = cirq.DensityMatrixSimulator(dtype=np.complex128, noise=noise)
    return np.asarray(simulator.simulate(circuit, qubit_order=[A, B, C]).final_density_matrix)


def ours(circuit: cirq.Circuit, noise: cirq.NoiseModel = cirq.NO_NOISE) -> NDArray[np.complex128]:
    """The density matrix of the translated circuit, by definition."""
    return reference.density_matrix(translate(circuit, qubit_order=[A, B, C], noise=noise).circuit)


def channels(circuit: cirq.Circuit, **how: Any) -> list[Channel]:
    """The channels of a translated circuit."""
    return [i for i in translate(circuit, **how).circuit.instructions if isinstance(i, Channel)]


SINGLE = np.complex64
CHANNELS: dict[str, tuple[cirq.Operation, int, bool]] = {  # the operation, how many matrices, whether it is a mixture
    "bit flip": (cirq.bit_flip(0.1).on(A), 2, True),
    "phase flip": (cirq.phase_flip(0.1).on(A), 2, True),
    "depolarize": (cirq.depolarize(0.1).on(B), 4, True),
    "depolarize two": (cirq.depolarize(0.1, 2).on(C, A), 16, True),
    "asymmetric": (cirq.asymmetric_depolarize(0.1, 0.2, 0.3).on(B), 4, True),
    "asymmetric two": (cirq.asymmetric_depolarize(error_probabilities={"XZ": 0.2, "YI": 0.1}).on(A, C), 3, True),
    "amplitude damp": (cirq.amplitude_damp(0.3).on(A), 2, False),
    "generalized damp": (cirq.generalized_amplitude_damp(0.2, 0.3).on(A), 4, False),
    "phase damp": (cirq.phase_damp(0.3).on(C), 2, True),
    "Kraus": (cirq.KrausChannel([*random_kraus(3, 4, 5)]).on(C, A), 3, False),
    "many Kraus": (cirq.KrausChannel([*np.repeat(random_kraus(2, 2, 5) / 2, 4, axis=0)]).on(C), 2, False),
    "mixed unitary": (
        cirq.MixedUnitaryChannel([(0.3, random_unitary(4, 1)), (0.7, random_unitary(4, 2))]).on(B, A),
        2,
        True,
    ),
    "with probability": (cirq.CNOT(C, B).with_probability(0.3), 2, True),
    "a channel with probability": (cirq.amplitude_damp(0.3).with_probability(0.4).on(B), 3, False),
    "tagged": (cirq.bit_flip(0.1).on(A).with_tags("noise"), 2, True),
    "in a subcircuit": (cirq.CircuitOperation(cirq.FrozenCircuit(cirq.depolarize(0.2).on(B))), 4, True),
}


@pytest.mark.parametrize("name", CHANNELS)
def test_channels(name: str) -> None:
    """A channel is Cirq's, on its qubits in their order, with no more matrices than it needs."""
    op, count, mixed = CHANNELS[name]
    assert ours(busy(op)) == pytest.approx(by_cirq(busy(op)), abs=1e-10)
    (found,) = channels(busy(op))
    assert (found.count, found.mixed) == (count, mixed)


def test_one_percent_is_seen() -> None:
    """A channel whose strength is off by one part in a hundred differs visibly."""
    wrong = ours(busy(cirq.amplitude_damp(0.2 * 1.01).on(A)))
    assert np.abs(wrong - by_cirq(busy(cirq.amplitude_damp(0.2).on(A)))).max() > 1e-4


def test_single_precision() -> None:
    """A mixture whose matrices are unitary to single precision alone is accepted as a mixture."""
    rough = [(0.5, random_unitary(2, k).astype(SINGLE)) for k in range(2)]
    op = cirq.MixedUnitaryChannel(rough).on(B)
    (found,) = channels(busy(op))
    assert found.mixed
    assert ours(busy(op)) == pytest.approx(by_cirq(busy(op)), abs=1e-6)
    kraus = cirq.KrausChannel([*random_kraus(3, 2, 1).astype(SINGLE)]).on(B)
    assert ours(busy(kraus)) == pytest.approx(by_cirq(busy(kraus)), abs=1e-6)


def test_resets() -> None:
    """A reset in the middle is a reset of its qubit."""
    assert ours(busy(cirq.reset(A))) == pytest.approx(by_cirq(busy(cirq.reset(A))), abs=1e-12)
    assert [i for i in translate(busy(cirq.reset(A))).circuit.instructions if isinstance(i, Reset)] == [Reset((2,))]


def test_certain_channels_are_gates() -> None:
    """A channel that leaves nothing to chance becomes a gate."""
    circuit = cirq.Circuit(cirq.bit_flip(1.0).on(A), cirq.X(A).with_probability(1))
    assert all(isinstance(i, Op) for i in translate(circuit).circuit.instructions)


def test_a_sweep_of_strengths_has_symbols() -> None:
    """A symbol in a probability is replaced, and one without a value is named."""
    circuit = busy(cirq.X(B).with_probability(sympy.Symbol("p")))
    found = translate(circuit, {"p": 0.3}, [A, B, C])
    wanted = by_cirq(busy(cirq.X(B).with_probability(0.3)))
    assert reference.density_matrix(found.circuit) == pytest.approx(wanted, abs=1e-10)
    with pytest.raises(errors.ParameterError, match="p"):
        translate(circuit)


# --- noise models -------------------------------------------------------------------------------------------------


class AfterTwo(cirq.NoiseModel):
    """Noise after gates of two qubits."""

    def noisy_operation(self, operation: cirq.Operation) -> Any:
        """Two channels on the gate's qubits in the other order."""
        if len(operation.qubits) != 2:
            return operation
        return [operation, cirq.depolarize(0.1, 2).on(*operation.qubits[::-1]), cirq.X(operation.qubits[0]) ** 0.1]


MODELS: dict[str, Any] = {
    "a channel": cirq.amplitude_damp(0.1),
    "a gate": cirq.X**0.1,
    "constant": cirq.ConstantQubitNoiseModel(cirq.depolarize(0.1)),
    "before": cirq.ConstantQubitNoiseModel(cirq.bit_flip(0.1), prepend=True),
    "after two": AfterTwo(),
    "substitution": cirq.devices.noise_model.GateSubstitutionNoiseModel(lambda op: op.with_probability(0.9)),
    "thermal": cirq.devices.ThermalNoiseModel(
        {A, B, C}, {cirq.YPowGate: 25.0}, 1e-3, None, 1e-3, require_physical_tag=False
    ),
    "no noise": None,
}


@pytest.mark.parametrize("name", MODELS)
def test_noise_models(name: str) -> None:
    """A simulator's noise model adds the noise that Cirq's simulators add."""
    model = QsimExSimulator(noise=MODELS[name]).noise
    assert ours(busy(), model) == pytest.approx(by_cirq(busy(), model), abs=1e-10)
    if MODELS[name] is not None:
        assert np.abs(by_cirq(busy(), model) - by_cirq(busy())).max() > 1e-3  # or the test would see nothing


def test_symbols_under_noise_keep_their_rows() -> None:
    """With noise, points of a sweep share one structure, also where a symbol has a special value."""
    circuit = cirq.Circuit(cirq.X(A) ** sympy.Symbol("t"), cirq.X(B), cirq.Z(B) ** sympy.Symbol("t"))
    found = [translate(circuit, {"t": t}, noise=QsimExSimulator(noise=AfterTwo()).noise).circuit for t in (1, 0.3)]
    assert found[0].structure is found[1].structure


MEASURED = cirq.Circuit(
    [cirq.H(A), cirq.CNOT(B, C)], cirq.Moment(cirq.measure(A, key="a"), cirq.X(B)), cirq.measure(B, C, key="bc")
)


def test_noise_after_a_measurement_is_left_out_of_samples() -> None:
    """Noise on measured qubits is left out of samples, and all other noise is there."""
    noise = cirq.ConstantQubitNoiseModel(cirq.depolarize(0.1))
    after = [cirq.Circuit(MEASURED), MEASURED.with_noise(noise)]
    for circuit, model in zip(after, (noise, cirq.NO_NOISE), strict=True):
        found = translate(circuit, noise=model, sampled=True).circuit
        assert [i.wires for i in found.instructions if isinstance(i, Channel)] == [(2,), (1,), (0,), (1,), (0,)]
        assert [type(i) for i in found.instructions].count(Measure) == 1
        assert isinstance(found.instructions[-1], Measure)
        whole = translate(circuit, noise=model).circuit  # the state is asked for too
        assert sum(isinstance(i, Channel) for i in whole.instructions) == 9


@pytest.mark.parametrize("name", ["a channel", "constant", "after two"])
def test_samples_are_those_of_the_density_matrix(name: str) -> None:
    """A noisy run draws from the diagonal of Cirq's density matrix."""
    shots = 20_000
    simulator = QsimExSimulator(noise=MODELS[name], seed=5, device="cpu")
    bits = simulator.run(busy() + cirq.measure(A, B, C, key="m"), repetitions=shots).measurements["m"]
    found = np.bincount(bits @ [4, 2, 1], minlength=8) / shots
    wanted = by_cirq(busy(), simulator.noise).diagonal().real
    assert (np.abs(found - wanted) <= 5 * np.sqrt(wanted * (1 - wanted) / shots)).all()
    assert np.abs(wanted - by_cirq(busy()).diagonal().real).max() > 0.01  # or the test would see nothing


def test_what_was_written_is_never_left_out() -> None:
    """A gate of the caller's on a measured qubit stays."""
    circuit = cirq.Circuit(cirq.measure(A), cirq.H(A))
    found = translate(circuit, noise=QsimExSimulator(noise=cirq.bit_flip(0.1)).noise, sampled=True).circuit
    assert [type(i) for i in found.instructions] == [Measure, Op]


# --- what is refused ----------------------------------------------------------------------------------------------


class Elsewhere(cirq.NoiseModel):
    """Noise on a qubit that no circuit has."""

    def noisy_operation(self, operation: cirq.Operation) -> Any:
        """Another qubit is flipped."""
        return [operation, cirq.bit_flip(0.1).on(cirq.NamedQubit("other"))]


@pytest.mark.parametrize(
    ("operation", "error", "message"),
    [
        (
            qudit_programs.Channel((2,) * 5, 33, 1).on(*cirq.LineQubit.range(5)),
            errors.NoiseError,
            "32 matrices on 5 qubits, got 33",
        ),
        (cirq.X(A).with_probability(0.5).controlled_by(B), errors.NotSupported, "under controls"),
    ],
    ids=["wide", "controlled"],
)
def test_channels_that_are_refused(operation: Any, error: type[Exception], message: str) -> None:
    """A channel that is not supported is refused, and the error says where it is."""
    with pytest.raises(error, match=message) as caught:
        translate(cirq.Circuit(operation))
    assert "in moment 0" in caught.value.__notes__[0]


def test_noise_elsewhere() -> None:
    """Noise on a qubit that the circuit lacks raises a WireError."""
    with pytest.raises(errors.WireError, match=r"adds cirq.NamedQubit\('other'\)"):
        translate(busy(), noise=Elsewhere())
