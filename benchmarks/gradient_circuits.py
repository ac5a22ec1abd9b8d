"""Circuits whose gradients are measured, as neutral gates and as sweeps of the engine; equal angles are one parameter.

*ising*, *qaoa* and *su2* have ten layers. *ucc* and *uccsd* have 200 Pauli rotations of single and double excitations
of a half-filled register in the Jordan–Wigner order, drawn once, and written with ladders of CX as chemistry packages
do. In *ucc* each rotation has an angle of its own, in *uccsd* those of an excitation share one but for its sign, which
makes it two parameters here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.cx_rich import pauli_rotation
from benchmarks.gates import Gate
from qsim_ex import ParameterSweepBuilder, PauliString, PauliSum
from qsim_ex.circuit.parameters.sweep import ParameterSweep

LAYERS = 10

SINGLES, DOUBLES = 20, 20
"""The excitations of *ucc*, of 2 and of 8 strings."""

_PLUS, _MINUS = ("XXXY", "XXYX", "YXYY", "XYYY"), ("XYXX", "YXXX", "YYYX", "YYXY")
"""The strings of a double excitation, by their signs."""

String = list[tuple[int, str]]
Family = Callable[[int, np.random.Generator], list[Gate]]


def ising(n: int, rng: np.random.Generator) -> list[Gate]:
    """Return layers of RZZ and RX, each with an angle of its own."""
    gates = _plus(n)
    for _ in range(LAYERS):
        gates += [Gate("rzz", (wire, wire + 1), (rng.normal(),)) for wire in range(n - 1)]
        gates += [Gate("rx", (wire,), (rng.normal(),)) for wire in range(n)]
    return gates


def qaoa(n: int, rng: np.random.Generator) -> list[Gate]:
    """Return layers of RZZ and RX with two angles for each layer."""
    gates = _plus(n)
    for _ in range(LAYERS):
        gamma, beta = rng.normal(size=2).tolist()
        gates += [Gate("rzz", (wire, wire + 1), (gamma,)) for wire in range(n - 1)]
        gates += [Gate("rx", (wire,), (beta,)) for wire in range(n)]
    return gates


def su2(n: int, rng: np.random.Generator) -> list[Gate]:
    """Return layers of RY, RZ and a chain of CX."""
    gates: list[Gate] = []
    for _ in range(LAYERS):
        gates += [Gate(name, (wire,), (rng.normal(),)) for name in ("ry", "rz") for wire in range(n)]
        gates += [Gate("cx", (wire, wire + 1)) for wire in range(n - 1)]
    return gates


def ucc(n: int, rng: np.random.Generator) -> list[Gate]:
    """Return Pauli rotations behind a half-filled register, each by an angle of its own."""
    return _rotations(n, [[(string, rng.normal()) for string, _ in strings] for strings in _excitations(n)])


def uccsd(n: int, rng: np.random.Generator) -> list[Gate]:
    """Return the same rotations with an angle for each excitation."""
    found = []
    for strings in _excitations(n):
        angle = rng.normal()
        found.append([(string, sign * angle) for string, sign in strings])
    return _rotations(n, found)


def _rotations(n: int, excitations: Sequence[Sequence[tuple[String, float]]]) -> list[Gate]:
    """Return a half-filled register and rotations by angles."""
    gates = [Gate("x", (wire,)) for wire in range(n // 2)]
    for strings in excitations:
        for string, angle in strings:
            gates += [Gate(name, wires, (angle,) if params else ()) for name, wires, params in pauli_rotation(string)]
    return gates


def _excitations(n: int) -> Iterator[list[tuple[String, int]]]:
    """Yield drawn excitations, each as its strings with signs."""
    drawn, half = np.random.default_rng(2), n // 2

    def between(first: int, last: int) -> String:
        return [(wire, "Z") for wire in range(first + 1, last)]

    for _ in range(SINGLES):
        p, q = int(drawn.integers(half)), half + int(drawn.integers(n - half))
        yield [([(p, a), *between(p, q), (q, b)], sign) for (a, b), sign in (("XY", 1), ("YX", -1))]
    for _ in range(DOUBLES):
        p, q = sorted(drawn.choice(half, 2, replace=False).tolist())
        r, s = sorted((half + drawn.choice(n - half, 2, replace=False)).tolist())
        signed = [(letters, 1) for letters in _PLUS] + [(letters, -1) for letters in _MINUS]
        yield [
            ([(p, a), *between(p, q), (q, b), (r, c), *between(r, s), (s, d)], sign) for (a, b, c, d), sign in signed
        ]


def _plus(n: int) -> list[Gate]:
    """Return a circuit that begins in |+…+⟩."""
    return [Gate("h", (wire,)) for wire in range(n)]


def sweep_of(gates: Sequence[Gate], n: int) -> ParameterSweep:
    """Return gates as a sweep with one binding."""
    builder, columns = ParameterSweepBuilder(n, 0), dict[float, np.ndarray]()
    for gate in gates:
        angles = [columns.setdefault(angle, np.array([angle])) for angle in gate.params]
        builder.gate(gate.name, gate.wires, *angles)  # type: ignore[arg-type]
    return builder.sweep(1)


def energy(n: int) -> PauliSum:
    """Return an Ising chain in a transverse field."""
    zz = [PauliString(0, 3 << wire, 1.0) for wire in range(n - 1)]
    return PauliSum((*zz, *(PauliString(1 << wire, 0, 0.7) for wire in range(n))))


def _sweep(family: Family, n: int, rng: np.random.Generator) -> ParameterSweep:
    return sweep_of(family(n, rng), n)


FAMILIES: dict[str, Family] = {"ising": ising, "qaoa": qaoa, "su2": su2, "ucc": ucc, "uccsd": uccsd}

CIRCUITS: dict[str, Callable[[int, np.random.Generator], ParameterSweep]] = {
    name: partial(_sweep, family) for name, family in FAMILIES.items()
}
