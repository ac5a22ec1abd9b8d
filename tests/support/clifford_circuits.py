"""Drawn circuits of Clifford gates, however written, Pauli noise, measurements, resets, conditions and blocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qsim_ex import Circuit, CircuitBuilder, reference
from qsim_ex.circuit.noise import channels as noise

ONE = ("x", "y", "z", "h", "s", "sdg", "sx", "sxdg")
TWO = ("cx", "cy", "cz", "swap", "iswap", "ecr", "dcx")
QUARTERS = ("rx", "ry", "rz", "p")
PAULIS = ("x", "y", "z")

CHANNELS: tuple[tuple[int, Callable[[np.random.Generator], np.ndarray]], ...] = (
    (1, lambda rng: noise.depolarizing(rng.uniform(0, 1))),
    (1, lambda rng: noise.pauli_channel(dict(zip("XYZ", rng.dirichlet([1, 1, 1, 1])[:3].tolist(), strict=True)))),
    (1, lambda rng: noise.phase_damping(rng.uniform(0, 1))),
    (2, lambda rng: noise.depolarizing(rng.uniform(0, 1), 2)),
    (2, lambda rng: noise.pauli_channel({"XY": rng.uniform(0, 0.5), "ZZ": rng.uniform(0, 0.5)})),
)


def clifford_matrix(wires: int, rng: np.random.Generator) -> np.ndarray:
    """Return a Clifford matrix with a phase, as a product of matrices on all wires."""
    builder = CircuitBuilder(wires)
    for _ in range(3 * wires):
        gate(builder, rng, plain=True)
    made = builder.build()
    columns = [reference.simulate(made, column) for column in np.eye(1 << wires, dtype=np.complex128)]
    return np.array(columns).T * np.exp(1j * rng.uniform(0, 6))


def gate(builder: CircuitBuilder, rng: np.random.Generator, *, plain: bool = False) -> None:
    """Append a Clifford gate; plain: by its name."""
    wires = rng.permutation(builder.num_qubits).tolist()
    turn = float(rng.integers(-4, 5)) * np.pi / 2
    kind = int(rng.integers(2 if plain else 7))
    if kind == 1 and len(wires) > 1:
        builder.gate(str(rng.choice(TWO)), wires[:2])
    elif kind == 2:
        builder.gate(str(rng.choice(QUARTERS)), wires[:1], turn)
    elif kind == 3 and len(wires) > 1:
        builder.gate("rzz", wires[:2], turn)
    elif kind == 4:
        letters = "".join(rng.choice(list("IXYZ"), len(wires)))
        builder.pauli_rotation(turn, letters, wires)
    elif kind == 5 and len(wires) > 1:
        builder.unitary(clifford_matrix(2, rng), wires[:2])
    elif kind == 6 and len(wires) > 1:
        builder.permutation(([0, 2, 3, 1], [0, 1, 3, 2], [3, 2, 1, 0])[int(rng.integers(3))], wires[:2])
    else:
        builder.gate(str(rng.choice(ONE)), wires[:1])


def clifford_circuit(wires: int, length: int, seed: int, *, noisy: bool = True, midway: bool = True) -> Circuit:
    """Return a drawn circuit, with classical bits for its wires and two more, at whose end all wires are measured.

    noisy: with channels. midway: with measurements, resets, conditions, stores and blocks on the way.
    """
    rng = np.random.default_rng(seed)
    builder = CircuitBuilder(wires, wires + 2)
    for _ in range(length):
        kind = int(rng.integers(12))
        if kind == 0 and noisy:
            count, make = CHANNELS[int(rng.integers(len(CHANNELS)))]
            if count <= wires:
                builder.channel(make(rng), rng.permutation(wires)[:count].tolist())
        elif kind < 5 and kind and midway:
            _midway(builder, rng, kind, noisy=noisy)
        else:
            gate(builder, rng)
    builder.gate("h", [int(rng.integers(wires))])
    return builder.measure(range(wires), range(wires)).build()


def _midway(builder: CircuitBuilder, rng: np.random.Generator, kind: int, *, noisy: bool) -> None:
    wires, bits = rng.permutation(builder.num_qubits).tolist(), rng.permutation(builder.num_clbits).tolist()
    if kind == 1:
        builder.measure(wires[:2], bits[: len(wires[:2])])
    elif kind == 2:
        builder.reset(wires[:1])
    elif kind == 3:
        count = int(rng.integers(1, 3))
        values = rng.permutation(1 << count)[: int(rng.integers(1, 1 << count))].tolist()
        with builder.condition(bits[:count], values):
            builder.gate(str(rng.choice(PAULIS)), wires[:1])
    else:
        _block(builder, rng, wires, bits, noisy=noisy)


def _block(
    builder: CircuitBuilder, rng: np.random.Generator, wires: list[int], bits: list[int], *, noisy: bool
) -> None:
    """A store of a parity, or a block with Pauli gates and noise under conditions, and one inside of it."""
    one, other = builder.bits(bits[:1]), builder.bits(bits[1:2])
    if rng.integers(2):
        builder.store(builder.bits(bits[2:3]), one.binary("xor", other))
        return
    with builder.branch(one.binary(str(rng.choice(["xor", "and", "equal", "or"])), other)):
        builder.gate(str(rng.choice(PAULIS)), wires[:1])
        if noisy:
            builder.channel(noise.depolarizing(0.4), wires[:1])
        with builder.condition(bits[2:3], [int(rng.integers(2))]):
            builder.gate(str(rng.choice(PAULIS)), wires[-1:])
        builder.otherwise()
        builder.gate(str(rng.choice(PAULIS)), wires[-1:])
