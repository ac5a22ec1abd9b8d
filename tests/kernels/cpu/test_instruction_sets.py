"""Kernels that are compiled for several instruction sets give the same with each that this processor has."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from qsim_ex import CircuitBuilder, Simulator
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.devices.cpu import sums
from qsim_ex.kernels.cpu import trajectories
from qsim_ex.native import library

SETS = library.instruction_sets()


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch):
    """Choose the instruction set of kernels that are fetched from now on."""

    def choose(chosen: str) -> None:
        monkeypatch.setattr(library, "instruction_set", lambda: chosen)
        sums._kernel.cache_clear()
        trajectories._run.cache_clear()

    yield choose
    monkeypatch.undo()
    sums._kernel.cache_clear()
    trajectories._run.cache_clear()


def random_state(bits: int, dtype: type) -> NDArray[np.complexfloating]:
    """Random amplitudes."""
    rng = np.random.default_rng(bits)
    return (rng.normal(size=1 << bits) + 1j * rng.normal(size=1 << bits)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("threads", [1, 3])
def test_sums_are_equal_bit_by_bit(use, dtype: type, threads: int) -> None:
    """Marginals, inner products, Pauli strings and searches do not depend on the set, nor on the number of threads."""
    state, other = random_state(18, dtype), random_state(18, dtype)[::-1].copy()
    weights = np.abs(state.astype(np.complex128)) ** 2
    targets = np.sort(np.random.default_rng(1).random(64)) * weights[:1024].sum()

    def found() -> list[bytes]:
        return [
            sums.marginals(state, 18, [3, 17, 0], When(1 << 12, 1 << 12), threads).tobytes(),
            sums.marginals(state, 12, [1, 11], ALWAYS, threads).tobytes(),
            repr(sums.inner(state, other, threads)).encode(),
            sums.paulis(state, 18, [(5, [0, 3]), (1 << 17, [7])], threads).tobytes(),
            sums.search(state, range(10), np.zeros(1, int), np.array([0, 64]), targets, threads).tobytes(),
        ]

    use(SETS[0])
    wanted = found()
    for chosen in SETS[1:]:
        use(chosen)
        assert found() == wanted
    assert np.frombuffer(wanted[4], dtype=np.int64) == pytest.approx(np.searchsorted(np.cumsum(weights), targets))


@pytest.mark.parametrize("wires", [1, 3, 7, 12])
def test_trajectories_make_the_same_choices(use, wires: int) -> None:
    """Shots of noisy circuits are the same with each set; only rounding differs, and no number lies that near."""
    rng = np.random.default_rng(wires)
    builder = CircuitBuilder(wires, wires)
    for k in range(60):
        wire = int(rng.integers(wires))
        builder.gate("u", [wire], *rng.uniform(0, 6, 3)).channel(noise.amplitude_damping(0.03), [wire])
        if wires > 1:
            builder.gate(("cx", "rzz")[k % 2], [wire, (wire + 1) % wires], *([0.4] if k % 2 else []))
    circuit = builder.measure(list(range(wires)), list(range(wires))).build()
    use(SETS[0])
    simulator = Simulator(device="cpu", precision="double")
    result = simulator.run_batch(circuit, shots=200, seeds=1, trajectories=200)
    assert result.facts["way"] == "compiled trajectories"
    for chosen in SETS[1:]:
        use(chosen)
        found = simulator.run_batch(circuit, shots=200, seeds=1, trajectories=200)
        assert (found.packed == result.packed).all()
