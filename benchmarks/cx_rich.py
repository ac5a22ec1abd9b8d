"""Circuits that are full of CX, or deep: what the seven families of `families.py` do not show.

A circuit is a list of gates of the engine's table: name, wires, angles. Each family is a function of the number of
wires; what is drawn has a fixed seed, since only structure counts here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import pi

import numpy as np

Named = tuple[str, tuple[int, ...], tuple[float, ...]]

_ANGLE = 0.3
_TURNED = {"X": ("h", "h"), "Y": ("sxdg", "sx"), "Z": ()}
"""The gates before and after the CX ladder of a Pauli rotation, for each letter: they take it to Z and back."""


def pauli_rotation(paulis: Sequence[tuple[int, str]]) -> list[Named]:
    """Write exp(−iθ/2 P) as chemistry packages do: turn each letter to Z, a ladder of CX, one RZ, and all back."""
    wires = [wire for wire, _ in paulis]
    before: list[Named] = [(_TURNED[p][0], (w,), ()) for w, p in paulis if _TURNED[p]]
    after: list[Named] = [(_TURNED[p][1], (w,), ()) for w, p in paulis if _TURNED[p]]
    ladder: list[Named] = [("cx", pair, ()) for pair in pairwise(wires)]
    return [*before, *ladder, ("rz", (wires[-1],), (_ANGLE,)), *reversed(ladder), *after]


def _chain(first: int, last: int) -> list[tuple[int, str]]:
    return [(wire, "Z") for wire in range(first + 1, last)]


def ucc(n: int) -> list[Named]:
    """60 Pauli rotations X Z…Z Y and Y Z…Z X between random pairs of wires."""
    rng = np.random.default_rng(1)
    gates: list[Named] = []
    for k in range(60):
        p, q = sorted(rng.choice(n, 2, replace=False).tolist())
        gates += pauli_rotation([(p, "XY"[k % 2]), *_chain(p, q), (q, "YX"[k % 2])])
    return gates


def uccsd(n: int) -> list[Named]:
    """Single and double excitations of a half-filled register in the Jordan–Wigner order: 12 and 24, drawn."""
    rng = np.random.default_rng(2)
    half = n // 2
    gates: list[Named] = [("x", (wire,), ()) for wire in range(half)]
    for _ in range(12):
        p, q = int(rng.integers(half)), half + int(rng.integers(n - half))
        for a, b in ("XY", "YX"):
            gates += pauli_rotation([(p, a), *_chain(p, q), (q, b)])
    for _ in range(24):
        p, q = sorted(rng.choice(half, 2, replace=False).tolist())
        r, s = sorted((half + rng.choice(n - half, 2, replace=False)).tolist())
        for letters in ("XXXY", "XXYX", "XYXX", "YXXX", "YYYX", "YYXY", "YXYY", "XYYY"):
            a, b, c, d = letters
            gates += pauli_rotation([(p, a), *_chain(p, q), (q, b), (r, c), *_chain(r, s), (s, d)])
    return gates


def clifford_t(n: int) -> list[Named]:
    """600 gates of H, S, T and CX on random wires."""
    rng = np.random.default_rng(3)
    gates: list[Named] = []
    for _ in range(600):
        name = ("h", "s", "t", "cx")[rng.integers(4)]
        gates.append((name, tuple(rng.choice(n, 2 if name == "cx" else 1, replace=False).tolist()), ()))
    return gates


def heisenberg(n: int) -> list[Named]:
    """10 Trotter steps of a Heisenberg chain in a field, after a layer of RY."""
    gates: list[Named] = [("ry", (w,), (_ANGLE,)) for w in range(n)]
    for _ in range(10):
        for first in (0, 1):
            for w in range(first, n - 1, 2):
                gates += [(name, (w, w + 1), (_ANGLE,)) for name in ("rxx", "ryy", "rzz")]
        gates += [("rz", (w,), (_ANGLE,)) for w in range(n)]
    return gates


def su2(n: int) -> list[Named]:
    """The ansatz of RY and RZ with 8 linear chains of CX."""
    turns: list[Named] = [(name, (w,), (_ANGLE,)) for name in ("ry", "rz") for w in range(n)]
    gates = list(turns)
    for _ in range(8):
        gates += [("cx", (w, w + 1), ()) for w in range(n - 1)] + turns
    return gates


def quantum_volume(n: int) -> list[Named]:
    """10 layers of dense two-qubit gates on random pairs, each written with three CX."""
    rng = np.random.default_rng(4)
    gates: list[Named] = []
    for _ in range(10):
        order = rng.permutation(n).tolist()
        for a, b in zip(order[::2], order[1::2], strict=False):
            gates += [("u", (w,), (0.3, 0.4, 0.5)) for w in (a, b)]
            for turned in (a, b, a):
                gates += [("cx", (a, b), ()), ("u", (turned,), (0.3, 0.4, 0.5)), ("rz", (a + b - turned,), (_ANGLE,))]
    return gates


def qft(n: int) -> list[Named]:
    """The quantum Fourier transform after a layer of RY, swaps included."""
    gates: list[Named] = [("ry", (w,), (_ANGLE,)) for w in range(n)]
    for target in reversed(range(n)):
        gates.append(("h", (target,), ()))
        gates += [("cp", (c, target), (pi / 2 ** (target - c),)) for c in reversed(range(target))]
    return [*gates, *(("swap", (w, n - 1 - w), ()) for w in range(n // 2))]


def qaoa(n: int) -> list[Named]:
    """Three layers of QAOA on a random graph with 3 edges for every 2 wires."""
    rng = np.random.default_rng(5)
    edges = [tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(3 * n // 2)]
    gates: list[Named] = [("h", (w,), ()) for w in range(n)]
    for _ in range(3):
        gates += [("rzz", edge, (_ANGLE,)) for edge in edges] + [("rx", (w,), (_ANGLE,)) for w in range(n)]
    return gates


def surface_code(n: int) -> list[Named]:
    """4 rounds of parity checks with CX, data on even wires and checks on odd ones, and RX on the data as errors."""
    gates: list[Named] = []
    for _ in range(4):
        gates += [("rx", (w,), (_ANGLE,)) for w in range(0, n, 2)]
        for check in range(1, n, 2):
            around = [w % (n - n % 2) for w in (check - 1, check + 1, check + 5, check + 9)]
            if check % 4 == 1:
                gates += [("cx", (w, check), ()) for w in around]
            else:
                gates += [("h", (check,), ()), *(("cx", (check, w), ()) for w in around), ("h", (check,), ())]
    return gates


def cx_only(n: int) -> list[Named]:
    """10 CX a wire on random pairs, after a layer of H."""
    rng = np.random.default_rng(6)
    gates: list[Named] = [("h", (w,), ()) for w in range(n)]
    return gates + [("cx", tuple(rng.choice(n, 2, replace=False).tolist()), ()) for _ in range(10 * n)]


FAMILIES: dict[str, Callable[[int], list[Named]]] = {
    "ucc": ucc,
    "uccsd": uccsd,
    "clifford_t": clifford_t,
    "heisenberg": heisenberg,
    "su2_8": su2,
    "qv_cx": quantum_volume,
    "qft": qft,
    "qaoa": qaoa,
    "surface_code": surface_code,
    "cx_only": cx_only,
}
"""Families whose counts `benchmarks.counts` writes."""
