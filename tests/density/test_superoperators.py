"""A channel as one matrix on row and column wires is Σ conj(K) ⊗ K, and its pattern has the zeros of the usual ones."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from support.noisy_circuits import KINDS

from qsim_ex import Simulator, reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.ops import Entry, letters
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.density.superoperators import patterns_of, places_of, superoperators


@pytest.mark.parametrize("kind", KINDS)
def test_the_matrix_does_what_the_kraus_matrices_do(kind: str) -> None:
    """On any matrix, read as a vector whose row index is the low half, it is Σ K ρ K†."""
    wires, make = KINDS[kind]
    rng = np.random.default_rng(5)
    kraus = np.asarray(make(rng))
    circuit = CircuitBuilder(wires).channel(kraus, range(wires)).build()
    (place,) = places_of(circuit.structure)
    matrix = superoperators(circuit.operands, place).reshape(16**wires >> 2 * wires, -1)
    rho = rng.normal(size=(1 << wires, 1 << wires)) + 1j * rng.normal(size=(1 << wires, 1 << wires))
    expected = sum(k @ rho @ k.conj().T for k in kraus)
    found = (matrix @ rho.T.reshape(-1)).reshape(rho.shape).T
    assert np.abs(found - expected).max() < 1e-14


def test_depolarizing_mixes_populations_alone() -> None:
    """On one wire six of sixteen entries are not zero: four between the populations, and one for each coherence."""
    circuit = CircuitBuilder(1).channel(noise.depolarizing(0.3), [0]).build()
    (pattern,) = patterns_of(places_of(circuit.structure), Bindings.of(circuit.operands))
    assert letters(pattern) == "r00r" + "0r00" + "00r0" + "r00r"


@pytest.mark.parametrize(
    "kraus",
    [noise.amplitude_damping(1.0), noise.phase_damping(1.0), noise.reset_channel(1.0), noise.depolarizing(1.0)],
    ids=["damping", "dephasing", "reset", "depolarizing"],
)
def test_a_channel_of_full_strength_is_no_permutation(kraus: np.ndarray) -> None:
    """Zeros and ones alone are the pattern of a permutation, so their ones are numbers; the run shows that they act."""
    builder = CircuitBuilder(1).gate("ry", [0], 1.0).channel(kraus, [0])
    circuit = builder.save("end", "density_matrix").build()
    (pattern,) = patterns_of(places_of(circuit.structure), Bindings.of(circuit.operands))
    assert Entry.REAL in pattern
    found = Simulator(device="cpu", method="density_matrix").run(circuit).saved["end"]
    assert np.abs(found - reference.density_matrix(builder.build())).max() < 1e-15


def test_a_pattern_holds_for_all_bindings() -> None:
    """An entry that is zero in one binding and not in another is no zero of the pattern."""
    strong, weak = (
        CircuitBuilder(1).channel(noise.pauli_channel({"X": p, "Z": q}), [0]).build()
        for p, q in ((0.5, 0.25), (0.1, 0.3))
    )
    assert strong.structure is weak.structure
    places = places_of(strong.structure)
    alone, both = (
        np.frombuffer(patterns_of(places, Bindings.of(np.concatenate(of)))[0], dtype=np.uint8)
        for of in ([strong.operands], [strong.operands, weak.operands])
    )
    zero = np.array([np.abs(superoperators(one.operands, places[0])[0]) == 0 for one in (strong, weak)])
    assert ((both == Entry.ZERO) == zero.all(axis=0)).all()
    assert ((alone == Entry.ZERO) == zero[0]).all()


def test_equal_channels_have_one_place() -> None:
    """A channel that noise adds many times has one superoperator."""
    builder = CircuitBuilder(3)
    for wire in range(3):
        builder.channel(noise.bit_flip(0.1), [wire])
    assert len(places_of(builder.build().structure)) == 1


def test_numpy_calls_no_python_that_drops_ctrl_c() -> None:
    """While patterns are found, NumPy calls nothing of `enum`, in which it would drop `KeyboardInterrupt`."""
    circuit = CircuitBuilder(1).channel(noise.depolarizing(0.3), [0]).build()
    places, bound, called = places_of(circuit.structure), Bindings.of(circuit.operands), set[str]()
    sys.setprofile(lambda frame, _event, _argument: called.add(frame.f_code.co_filename))
    try:
        patterns_of(places, bound)
    finally:
        sys.setprofile(None)
    assert [name for name in called if name.endswith("enum.py")] == []
