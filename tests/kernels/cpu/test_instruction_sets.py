"""Kernels that are compiled for several instruction sets give the same with each that this processor has."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from support.noisy_circuits import random_kraus

from qsim_ex import CircuitBuilder, Simulator, reference
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.devices.cpu import sums
from qsim_ex.kernels.cpu import narrow_density
from qsim_ex.native import library
from qsim_ex.run.density_table import table_of

SETS = library.instruction_sets()


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch):
    """Choose the instruction set of kernels that are fetched from now on."""

    def choose(chosen: str) -> None:
        monkeypatch.setattr(library, "instruction_set", lambda: chosen)
        library.function.cache_clear()

    yield choose
    monkeypatch.undo()
    library.function.cache_clear()


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
    assert np.frombuffer(wanted[-1], dtype=np.int64) == pytest.approx(np.searchsorted(np.cumsum(weights), targets))


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


@pytest.mark.parametrize("chosen", SETS)
def test_narrow_density_matrices(use, chosen: str) -> None:
    """Gates and channels on one, two and three wires, low and high, have the probabilities of their definition."""
    wires, rng = 5, np.random.default_rng(1)
    builder = CircuitBuilder(wires, wires)
    for on in ((0, 1, 2), (4, 3, 2), (1, 4, 0)):
        for k in (1, 2, 3):
            builder.gate("u", on[:1], *rng.uniform(0, 6, 3)).channel(random_kraus(k, 2, rng), on[:k])
    circuit = builder.measure(list(range(wires)), list(range(wires))).build()
    table = table_of(circuit.structure)
    assert table is not None
    use(chosen)
    transfers, at = table.transfers(circuit.operands)
    sizes = len(table.wires), table.ops, table.steps, table.forms
    found = narrow_density.probabilities(*sizes, circuit.operands, transfers, at)[0]
    assert found == pytest.approx(reference.density_matrix(circuit).diagonal().real, abs=1e-13)
