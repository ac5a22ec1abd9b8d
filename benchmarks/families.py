"""The circuits: seven families of common kinds, for any number of qubits.

Each family is a function ``(n, seed) -> list[Gate]``. The seed draws numbers only (angles,
matrices); graphs, permutations and wires depend on n alone. So a fresh seed is the same structure
with other numbers, as in a variational loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, isqrt, pi

import numpy as np

from benchmarks.gates import Gate, Matrix, haar, random_u

# Structure must not change with the seed of the numbers, so it has a seed of its own.
_STRUCTURE_SEED = 20240229


def ghz(n: int, seed: int) -> list[Gate]:
    """Make (|0...0> + |1...1>)/sqrt(2) by a chain of CX; it has no numbers, so no use for a seed."""
    del seed
    return [Gate("h", (0,)), *(Gate("cx", (i, i + 1)) for i in range(n - 1))]


def qft(n: int, seed: int) -> list[Gate]:
    """Fourier-transform a random product state, swaps included.

    The layer of RY in front makes the input generic: the transform of |0...0> itself is a product
    state, and an engine could shine on it for a reason that real inputs do not share.
    """
    rng = np.random.default_rng(seed)
    gates = [Gate("ry", (i,), (float(rng.uniform(0, pi)),)) for i in range(n)]
    for target in reversed(range(n)):
        gates.append(Gate("h", (target,)))
        gates += [Gate("cp", (c, target), (pi / 2 ** (target - c),)) for c in reversed(range(target))]
    gates += [Gate("swap", (i, n - 1 - i)) for i in range(n // 2)]
    return gates


def qaoa(n: int, seed: int) -> list[Gate]:
    """Run three layers of QAOA for MaxCut on a random 3-regular graph."""
    rng = np.random.default_rng(seed)
    edges = cubic_graph(n)
    gates = [Gate("h", (i,)) for i in range(n)]
    for _ in range(3):
        gamma, beta = (float(a) for a in rng.uniform(-pi, pi, 2))
        gates += [Gate("rzz", edge, (gamma,)) for edge in edges]
        gates += [Gate("rx", (i,), (beta,)) for i in range(n)]
    return gates


def su2(n: int, seed: int) -> list[Gate]:
    """Apply the hardware-efficient ansatz: RY, RZ on all wires, three linear chains of CX between."""
    rng = np.random.default_rng(seed)

    def rotations() -> list[Gate]:
        return [Gate(name, (i,), (float(rng.uniform(-pi, pi)),)) for name in ("ry", "rz") for i in range(n)]

    gates = rotations()
    for _ in range(3):
        gates += [Gate("cx", (i, i + 1)) for i in range(n - 1)]
        gates += rotations()
    return gates


def grid(n: int, seed: int) -> list[Gate]:
    """Run 20 cycles of a random circuit on a grid: a square root per qubit, then a pattern of CZ.

    The eight patterns cover every edge of the grid once in eight cycles, as in Boixo et al.,
    Nature Physics 14, 595 (2018); the roots of X, Y and W, never twice the same in a row, are those
    of Arute et al., Nature 574, 505 (2019).
    """
    rng = np.random.default_rng(seed)
    roots = square_roots()
    patterns = grid_patterns(n)
    gates = [Gate("h", (i,)) for i in range(n)]
    last = [-1] * n
    for cycle in range(20):
        for wire in range(n):
            choices = [k for k in range(3) if k != last[wire]]
            last[wire] = choices[int(rng.integers(len(choices)))]
            gates.append(Gate("unitary", (wire,), matrix=roots[last[wire]]))
        gates += [Gate("cz", pair) for pair in patterns[cycle % 8]]
    return gates


def brick(n: int, seed: int) -> list[Gate]:
    """Lay 14 layers of bricks: a random 1-qubit gate on each wire, dense gates on neighbours."""
    rng = np.random.default_rng(seed)
    gates: list[Gate] = []
    for layer in range(14):
        gates += [random_u(rng, wire) for wire in range(n)]
        gates += [Gate("unitary", (i, i + 1), matrix=haar(rng, 2)) for i in range(layer % 2, n - 1, 2)]
    return gates


def quantum_volume(n: int, seed: int) -> list[Gate]:
    """Apply ten layers of Haar-random 2-qubit gates, each on a random pairing of the wires."""
    rng, structure = np.random.default_rng(seed), _structure(n)
    gates: list[Gate] = []
    for _ in range(10):
        order = [int(w) for w in structure.permutation(n)]
        gates += [Gate("unitary", (order[2 * i], order[2 * i + 1]), matrix=haar(rng, 2)) for i in range(n // 2)]
    return gates


def six_gates(n: int, seed: int) -> list[Gate]:
    """Apply six 1-qubit gates on bits 0, 2, 4, 8, 9 and 10: the smallest case for fusing passes."""
    rng = np.random.default_rng(seed)
    return [random_u(rng, wire) for wire in (0, 2, 4, 8, 9, 10) if wire < n]


@dataclass(frozen=True)
class Family:
    """A named family of circuits and the smallest number of qubits it makes sense for."""

    name: str
    title: str
    build: Callable[[int, int], list[Gate]]
    smallest: int = 2


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("ghz", "GHZ", ghz),
        Family("qft", "QFT with swaps", qft),
        Family("qaoa", "QAOA p=3, 3-regular", qaoa, smallest=4),
        Family("su2", "efficient SU2, 3 reps, linear", su2),
        Family("grid", "random grid, CZ, depth 20", grid, smallest=4),
        Family("brick", "dense 2-qubit + 1-qubit brick, depth 14", brick),
        Family("qv", "quantum volume, 10 layers", quantum_volume),
    )
}
"""The seven families that every table shows, in its order."""

EXTRA: dict[str, Family] = {"six": Family("six", "six 1-qubit gates", six_gates, smallest=11)}
"""Measured when asked for by name; not part of the geometric mean of the seven."""


def by_name(name: str) -> Family:
    """Find a family; raise ValueError that lists the known ones."""
    known = FAMILIES | EXTRA
    if name not in known:
        raise ValueError(f"unknown family {name!r}; known: {', '.join(known)}")
    return known[name]


def structure_of(gates: Sequence[Gate]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return what must not change with the seed: names and wires, in order."""
    return tuple((gate.name, gate.wires) for gate in gates)


def _structure(n: int) -> np.random.Generator:
    return np.random.default_rng((_STRUCTURE_SEED, n))


def cubic_graph(n: int) -> list[tuple[int, int]]:
    """Draw a random 3-regular graph by pairing half-edges until no loop or double edge is left.

    A 3-regular graph needs an even number of nodes; for odd n one node has two edges.
    """
    rng = _structure(n)
    half_edges = np.repeat(np.arange(n), 3)[: 3 * n // 2 * 2]
    while True:
        pairs = rng.permutation(half_edges).reshape(-1, 2)
        edges = {(min(a, b), max(a, b)) for a, b in pairs.tolist()}
        if len(edges) == len(pairs) and all(a != b for a, b in edges):
            return sorted(edges)


def _grid_shape(n: int) -> tuple[int, int]:
    """Return rows and columns: a full rectangle if one is at most twice as wide as high.

    Otherwise (22, 23, 26, ...) the nearest square with an incomplete last row.
    """
    rows = next(r for r in range(isqrt(n), 0, -1) if n % r == 0)
    if n // rows > 2 * rows:
        rows = isqrt(n)
    return rows, ceil(n / rows)


def grid_patterns(n: int) -> list[list[tuple[int, int]]]:
    """Split the edges of the grid into eight patterns, vertical and horizontal in turn.

    No two edges of one pattern touch: vertical edges of a pattern agree in the parity of their row,
    horizontal ones in the parity of their column.
    """
    _, columns = _grid_shape(n)
    vertical: dict[tuple[int, int], list[tuple[int, int]]] = {}
    horizontal: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for wire in range(n):
        row, column = divmod(wire, columns)
        if wire + columns < n:
            vertical.setdefault((column % 2, row % 2), []).append((wire, wire + columns))
        if column + 1 < columns and wire + 1 < n:
            horizontal.setdefault((column % 2, row % 2), []).append((wire, wire + 1))
    order = [(1, 0), (1, 1), (0, 0), (0, 1)]
    return [edges.get(key, []) for key in order for edges in (vertical, horizontal)]


def square_roots() -> tuple[Matrix, Matrix, Matrix]:
    """Return the square roots of X, Y and W = (X + Y)/sqrt(2)."""
    x = np.array([[0, 1], [1, 0]], dtype=np.complex128)
    y = np.array([[0, -1j], [1j, 0]], dtype=np.complex128)
    one = np.eye(2, dtype=np.complex128)

    def root(v: Matrix) -> Matrix:
        # V^2 = 1, so V is +1 and -1 on the projectors (1 + V)/2 and (1 - V)/2; take 1 and i there.
        return ((1 + 1j) * one + (1 - 1j) * v) / 2

    return root(x), root(y), root((x + y) / np.sqrt(2))
