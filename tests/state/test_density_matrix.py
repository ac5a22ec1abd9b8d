"""`DensityMatrix`: circuits are applied, questions are traces, and measurements project."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from support.deployments import ON_CPU
from support.noisy_circuits import KINDS, random_noisy

from qsim_ex import CircuitBuilder, DensityMatrix, PauliSum, reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.errors import CircuitError, NotSupported, OutOfMemory, StateError, StateVectorClosed

ALL = (*KINDS, "reset", "measure")


def mixed(wires: int, seed: int = 1) -> np.ndarray:
    """A density matrix of full rank."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(1 << wires,) * 2) + 1j * rng.normal(size=(1 << wires,) * 2)
    rho = half @ half.conj().T
    return rho / np.trace(rho)


@pytest.mark.parametrize("deployment", [name for name, row in ON_CPU.items() if row.options.get("device_wires", 4) > 3])
def test_circuits_one_after_another(deployment: str) -> None:
    """Two circuits on a given matrix are the definition's, also where the second one has fewer wires."""
    first, second = random_noisy(4, 15, 3, ALL), random_noisy(3, 10, 4, ALL)
    start = mixed(4)
    wider = Circuit(4, 4, second.instructions, second.operands)
    expected = reference.density_matrix(wider, reference.density_matrix(first, start))
    with DensityMatrix(4, device="cpu", initial=start, **ON_CPU[deployment].options) as state:
        found = state.apply(first).apply(second).to_numpy()
        assert np.abs(found - expected).max() < 1e-12
        assert state.trace == pytest.approx(1, abs=1e-12)
        assert state.purity == pytest.approx(np.trace(expected @ expected).real, abs=1e-12)


def test_initial_states() -> None:
    """A basis value, amplitudes and a matrix; what is none of them is refused."""
    psi = np.array([0.6, 0, 0, 0.8j])
    for initial, expected in ((2, np.diag([0, 0, 1, 0])), (psi, np.outer(psi, psi.conj())), (mixed(2), mixed(2))):
        with DensityMatrix(2, device="cpu", initial=initial) as state:
            assert np.abs(state.to_numpy() - expected).max() < 1e-15
    for bad in (np.eye(4), np.ones((2, 2)), np.array([1, 1, 0, 0]), mixed(2) * 1j):
        with pytest.raises(StateError):
            DensityMatrix(2, device="cpu", initial=bad)


def test_questions_are_traces() -> None:
    """Probabilities, reduced matrices and expectation values of some wires in any order."""
    rho = mixed(3)
    tensor = rho.reshape((2,) * 6)  # axes: wires 2, 1, 0 of rows, then of columns
    reduced = np.einsum("abcaec->be", tensor)
    with DensityMatrix(3, device="cpu", initial=rho) as state:
        assert np.abs(state.matrix([1]) - reduced).max() < 1e-15
        assert np.abs(state.probabilities([1]) - reduced.diagonal().real).max() < 1e-15
        swapped = np.einsum("abcdbf->cafd", tensor).reshape(4, 4)  # wire 0 high, wire 2 low
        assert np.abs(state.matrix([2, 0]) - swapped).max() < 1e-15
        values = state.expectation([PauliSum.from_labels({"IZI": 1.0}), PauliSum.from_labels({"IYI": 2.0, "III": 1.0})])
        assert values[0] == pytest.approx((reduced[0, 0] - reduced[1, 1]).real, abs=1e-15)
        assert values[1] == pytest.approx(1 + 2 * (1j * (reduced[0, 1] - reduced[1, 0])).real, abs=1e-15)
        assert isinstance(state.expectation(PauliSum.from_labels({"IIZ": 1.0})), float)


def test_a_measurement_projects() -> None:
    """Both sides are projected on the value that was found, and the trace is 1 again."""
    rho = mixed(2)
    with DensityMatrix(2, device="cpu", initial=rho) as state:
        value = state.measure([1], seed=4)
        kept = np.array([k >> 1 == value for k in range(4)])
        expected = rho * np.outer(kept, kept)
        assert np.abs(state.to_numpy() - expected / np.trace(expected)).max() < 1e-15
        assert state.collapse([1], value) == pytest.approx(1)
        with pytest.raises(StateError, match="never found"):
            state.collapse([1], 1 - value)


def test_measured_values_have_their_probabilities() -> None:
    """A number in [0, 1) falls on the running sum of the probabilities."""
    with DensityMatrix(1, device="cpu", initial=np.diag([0.25, 0.75])) as state:
        assert [state.clone().measure([0], random=number) for number in (0.2, 0.3, 0.99)] == [0, 1, 1]
        drawn = state.sample(4000, seed=1)
        assert drawn.shape == (4000, 1)
        assert abs(drawn.mean() - 0.75) < 0.035


def test_an_unread_measurement_ends_coherence() -> None:
    """A measurement whose outcome nobody reads keeps populations alone."""
    with DensityMatrix(1, device="cpu") as state:
        state.apply(CircuitBuilder(1, 1).gate("h", [0]).measure([0], [0]).build())
        assert np.abs(state.to_numpy() - np.eye(2) / 2).max() < 1e-15


def test_clones_are_apart() -> None:
    """What is applied to a clone leaves the first one as it was."""
    with DensityMatrix(2, device="cpu", initial=mixed(2)) as state, state.clone() as other:
        other.apply(CircuitBuilder(2).gate("x", [0]).channel(noise.bit_flip(0.5), [1]).build())
        assert np.abs(state.to_numpy() - mixed(2)).max() < 1e-15
        other.set(0)
        assert other.to_numpy()[0, 0] == 1


def test_what_is_refused() -> None:
    """Conditions on outcomes, too many wires, pickles, and a use after the end."""
    state = DensityMatrix(2, device="cpu")
    builder = CircuitBuilder(2, 1).gate("h", [0]).measure([0], [0]).gate("h", [0])
    with builder.condition([0], [1]):
        builder.gate("x", [1])
    with pytest.raises(NotSupported, match="without classical conditions"):
        state.apply(builder.build())
    with pytest.raises(CircuitError):
        state.apply(CircuitBuilder(3).gate("h", [2]).build())
    with pytest.raises(TypeError, match="to_numpy"):
        pickle.dumps(state)
    state.close()
    with pytest.raises(StateVectorClosed):
        state.to_numpy()
    with pytest.raises(OutOfMemory, match="density matrix of 30 wires"):
        DensityMatrix(30, device="cpu")


def test_it_fits_into_the_memory_that_it_needs() -> None:
    """14 qubits in single precision need 2 GiB, and less is refused."""
    with pytest.raises(OutOfMemory, match=r"2 GiB"):
        DensityMatrix(14, device="cpu", precision="single", max_memory=(2 << 30) - 1)
