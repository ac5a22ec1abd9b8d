"""Hypothesis strategies for circuits, layouts and shapes, and the random unitary matrices in them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.ops import ALWAYS, Entry, Op
from qsim_ex.steps import IndexMap, Layout, Shape
from qsim_ex.steps.algebra import Map

angles = st.floats(-7, 7, allow_nan=False)


def random_unitary(size: int, seed: int) -> np.ndarray:
    """A unitary matrix with no zeros: the Q of a random complex matrix."""
    rng = np.random.default_rng(seed)
    return np.linalg.qr(rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size)))[0]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Small machines of every kind: with and without edge bits, few register blocks, narrow registers, dense blocks."""
    near = draw(st.integers(1, 4))
    edge = draw(st.integers(0, 3))
    low = draw(st.integers(edge, edge + 1))
    return Shape(
        tile=low + near + draw(st.integers(0, 2)),
        registers=near,
        low=low,
        edge=edge,
        most_blocks=draw(st.sampled_from([None, 3, 4])),
        dense=draw(st.integers(1, near)),
        table=draw(st.integers(1, 5)),
        start=draw(st.sampled_from([0, 3, 14])),
        block=draw(st.sampled_from([None, 0.5, 20.0])),
    )


@st.composite
def layouts(draw: st.DrawFn, num_wires: int) -> Layout:
    """Any wire on any index bit, any of them stored inverted."""
    address = draw(st.permutations(range(num_wires)))
    return Layout(tuple(address), draw(st.integers(0, (1 << num_wires) - 1)))


@st.composite
def linear_maps(draw: st.DrawFn, num_bits: int) -> Map:
    """Any invertible map of index bits: a permutation, and then one bit added to another, some times."""
    columns = [1 << bit for bit in draw(st.permutations(range(num_bits)))]
    bit = st.integers(0, max(0, num_bits - 1))
    for control, target in draw(st.lists(st.tuples(bit, bit), max_size=3 * num_bits)):
        columns[control] ^= columns[target] if control != target else 0
    return tuple(columns)


@st.composite
def index_maps(draw: st.DrawFn, num_wires: int) -> IndexMap:
    """Any wire on any sum of index bits, any of them inverted."""
    return IndexMap(draw(linear_maps(num_wires)), draw(st.integers(0, (1 << num_wires) - 1)))


def _gate(draw: st.DrawFn, builder: CircuitBuilder, wires: list[int]) -> None:
    fitting = sorted(name for name, gate in GATES.items() if gate.qubits <= len(wires))
    gate = GATES[draw(st.sampled_from(fitting))]
    parameters = [draw(angles) for _ in gate.parameters]
    spare = wires[gate.qubits :]
    count = draw(st.integers(0, min(2, len(spare))))
    values = draw(st.integers(0, (1 << count) - 1))
    builder.gate(gate.name, wires[: gate.qubits], *parameters, controls=spare[:count], control_values=values)


def _matrix(draw: st.DrawFn, builder: CircuitBuilder, wires: list[int]) -> None:
    k = draw(st.integers(1, min(4, len(wires))))
    seed = draw(st.integers(0, 999))
    rng = np.random.default_rng(seed)
    controls = wires[k : k + draw(st.integers(0, 2))]
    match draw(st.sampled_from(["dense", "diagonal", "monomial", "multiplexer"])):
        case "dense":
            builder.unitary(random_unitary(1 << k, seed), wires[:k], controls=controls)
        case "diagonal":
            builder.diagonal(np.exp(1j * rng.normal(size=1 << k)), wires[:k], controls=controls)
        case "monomial":
            phases = np.exp(1j * rng.normal(size=1 << k))
            builder.unitary(np.diag(phases)[rng.permutation(1 << k)], wires[:k], controls=controls)
        case _:
            blocks = [random_unitary(2, seed + j) for j in range(1 << (k - 1))]
            builder.multiplexer(np.array(blocks), wires[1:k], wires[:1], controls=controls)


def _other(draw: st.DrawFn, builder: CircuitBuilder, wires: list[int]) -> None:
    k = draw(st.integers(1, min(5, len(wires))))
    if draw(st.booleans()):
        paulis = "".join(draw(st.lists(st.sampled_from("IXYZ"), min_size=k, max_size=k)))
        builder.pauli_rotation(draw(angles), paulis, wires[:k], controls=wires[k : k + 1])
    else:
        builder.permutation(draw(st.permutations(range(1 << min(k, 3)))), wires[: min(k, 3)])


@st.composite
def circuits(draw: st.DrawFn, min_qubits: int = 0, max_qubits: int = 7, max_gates: int = 24) -> Circuit:
    """Unitary circuits out of the whole gate table, matrices of every pattern, and everything in between."""
    n = draw(st.integers(min_qubits, max_qubits))
    builder = CircuitBuilder(n)
    if n and draw(st.integers(0, 4)) == 0:
        k = draw(st.integers(1, n))
        vector = random_unitary(1 << k, draw(st.integers(0, 99)))[0]
        builder.initialize(vector, draw(st.permutations(range(n)))[:k])
    for _ in range(draw(st.integers(0, max_gates))):
        wires = draw(st.permutations(range(n)))
        kind = draw(st.integers(0, 9))
        if kind < 7 or n == 0:
            _gate(draw, builder, wires)
        elif kind < 9:
            _matrix(draw, builder, wires)
        else:
            _other(draw, builder, wires)
    return builder.build()


_KRAUS = {  # what channels are made of: anything, a damping, a projection, a reset
    "anything": [Entry.COMPLEX] * 4,
    "damping": [Entry.COMPLEX, Entry.COMPLEX, Entry.ZERO, Entry.COMPLEX],
    "projection": [Entry.REAL, Entry.ZERO, Entry.ZERO, Entry.REAL],
    "reset": [Entry.REAL, Entry.REAL, Entry.ZERO, Entry.ZERO],
    "flip": [Entry.ZERO, Entry.COMPLEX, Entry.COMPLEX, Entry.ZERO],
}


@st.composite
def disturbed(draw: st.DrawFn) -> Circuit:
    """A circuit with operations in it that are not unitary, projections onto one value among them."""
    circuit = draw(circuits().filter(lambda drawn: drawn.num_qubits > 0))
    instructions, operands = list(circuit.instructions), [*circuit.operands[0]]
    first = max((k + 1 for k, i in enumerate(instructions) if type(i).__name__ == "Initialize"), default=0)
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    for _ in range(draw(st.integers(1, 6))):
        pair = circuit.num_qubits > 1 and draw(st.booleans())
        wires = tuple(draw(st.permutations(range(circuit.num_qubits)))[: 1 + pair])
        kind = [Entry.COMPLEX] * 16 if pair else _KRAUS[draw(st.sampled_from(sorted(_KRAUS)))]
        entries = rng.normal(size=len(kind)) + 1j * rng.normal(size=len(kind))
        if Entry.REAL in kind:
            entries[[entry == Entry.REAL for entry in kind]] = draw(st.permutations([0, 1.25]))
        entries[[entry == Entry.ZERO for entry in kind]] = 0
        op = Op(wires, (), ALWAYS, bytes(kind), len(operands), "kraus", unitary=False)
        operands += list(entries)
        instructions.insert(draw(st.integers(first, len(instructions))), op)
    return Circuit(circuit.num_qubits, circuit.num_clbits, tuple(instructions), np.array([operands]))
