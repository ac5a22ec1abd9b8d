"""States of more than 2^31 amplitudes, where 32-bit indices end, are right; they are known in closed form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from qsim_ex import PauliString, PauliSum, Simulator
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.discover import gpu, gpu_missing

WIRES = 32
TOLERANCE = 1e-5  # of an amplitude, relative: some 500 gates in single precision

pytestmark = [pytest.mark.gpu, pytest.mark.slow]


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    """A simulator on a GPU that holds 2^32 amplitudes in single precision."""
    if missing := gpu_missing():
        pytest.skip(str(missing))
    free, _ = gpu().memory()
    if free < 1.1 * (8 << WIRES):
        pytest.skip(f"2^{WIRES} amplitudes need {8 << WIRES - 30} GiB, the GPU has {free >> 30} GiB free")
    return Simulator(device="gpu", precision="single")


def qft(builder: CircuitBuilder, n: int) -> CircuitBuilder:
    """Append the quantum Fourier transform on all wires, with its SWAPs."""
    for j in reversed(range(n)):
        builder.gate("h", [j])
        for k in reversed(range(j)):
            builder.gate("cp", [k, j], np.pi / 2 ** (j - k))
    for k in range(n // 2):
        builder.gate("swap", [k, n - 1 - k])
    return builder


def inverse(name: str, angles: Sequence[float]) -> list[float]:
    """The angles of the inverse: u(θ, φ, λ)† = u(−θ, −λ, −φ), and a rotation by the negative angle."""
    if name == "u":
        theta, phi, lam = angles
        return [-theta, -lam, -phi]
    return [-angle for angle in angles]


def mirror(n: int, layers: int) -> Circuit:
    """Random gates on all wires, and then their inverses in reverse: the identity."""
    rng = np.random.default_rng(4)
    gates: list[tuple[str, list[int], list[float]]] = []
    for _ in range(layers):
        wires = [int(w) for w in rng.permutation(n)]
        gates += [("u", [w], list(rng.uniform(0, 6, 3))) for w in wires]
        gates += [("cx", [a, b], []) for a, b in zip(wires[::2], wires[1::2], strict=True)]
        gates += [("rzz", [a, b], [float(rng.uniform(0, 6))]) for a, b in zip(wires[1::2], wires[2::2], strict=False)]
    builder = CircuitBuilder(n)
    for name, on, angles in gates:
        builder.gate(name, on, *angles)
    for name, on, angles in reversed(gates):
        builder.gate(name, on, *inverse(name, angles))
    return builder.build()


def test_ghz(simulator: Simulator) -> None:
    """(|0…0> + |1…1>)/√2 has its two amplitudes at the ends, samples nothing else, and Z on two wires agrees."""
    builder = CircuitBuilder(WIRES).gate("h", [0])
    for wire in range(WIRES - 1):
        builder.gate("cx", [wire, wire + 1])
    last = (1 << WIRES) - 1
    with simulator.state(builder.build()) as state:
        assert state.amplitudes([0, last]) == pytest.approx([0.5**0.5] * 2, rel=TOLERANCE)
        assert not state.amplitudes([1, 1 << 31, last - 1, 1 << 16]).any()
        drawn = state.draw(2000, seed=1)
        assert set(drawn.tolist()) == {0, last}
        assert abs(int((drawn == 0).sum()) - 1000) < 150
        pair = PauliSum((PauliString.parse("ZZ", [0, WIRES - 1]),))
        assert state.expectation(pair) == pytest.approx(1, abs=1e-6)


def test_qft_of_a_basis_state(simulator: Simulator) -> None:
    """QFT |x> has amplitude e^(2πi·xy/2^n)/√2^n at y, also where y or xy passes 2^31; the relative 2-norm is small."""
    x = 0xDEADBEEF
    builder = CircuitBuilder(WIRES)
    for wire in range(WIRES):
        if x >> wire & 1:
            builder.gate("x", [wire])
    circuit = qft(builder, WIRES).build()
    rng = np.random.default_rng(2)
    values = [0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, *(int(v) for v in rng.integers(0, 1 << WIRES, 20_000))]
    turns = np.array([x * y % (1 << WIRES) / (1 << WIRES) for y in values])
    with simulator.state(circuit) as state:
        found = state.amplitudes(values).astype(np.complex128) * 2 ** (WIRES / 2)
        assert np.linalg.norm(found - np.exp(2j * np.pi * turns)) / len(values) ** 0.5 <= 1e-6 + 3e-8 * len(
            circuit.instructions
        )
        assert state.norm() == pytest.approx(1, abs=TOLERANCE)
        assert state.draw(1000, seed=3).max() > 1 << 31


def test_mirror(simulator: Simulator) -> None:
    """A deep circuit followed by its inverse ends where it began, which no wrong index survives."""
    with simulator.state(mirror(WIRES, 3)) as state:
        assert abs(complex(state.amplitudes([0])[0])) == pytest.approx(1, abs=1e-4)
        assert state.norm() == pytest.approx(1, abs=1e-4)


def test_interpreted_sweeps_agree(simulator: Simulator) -> None:
    """The kernel that interprets sweeps reaches the same places as the generated ones."""
    interpreted = Simulator(simulator.options, compile="never")
    with interpreted.state(mirror(WIRES, 1)) as state:
        assert abs(complex(state.amplitudes([0])[0])) == pytest.approx(1, abs=1e-4)
