"""Draws programs of 16 to 20 wires: gates by name, special angles, matrices, hundreds of gates, transpiled circuits.

At these sizes quarter turns become structure and gates are read in bulk, so what decides there is drawn often: phases,
angles at, near and far beyond multiples of π/4, and numbers of gates around and above the bound of reading in bulk.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tools.fuzz import angles
from tools.fuzz.case import Line
from tools.fuzz.cirq_programs import CirqDraw
from tools.fuzz.programs import Draw
from tools.fuzz.qiskit_programs import QiskitDraw

SIZES = (*(16,) * 28, *(17,) * 8, 18, 18, 19, 20)
"""Wires of a circuit; most have few, since each more doubles the time."""

_COUNTS = {(1, 16): 3, (17, 30): 7, (17, 50): 4, (50, 100): 2, (100, 400): 1}
"""Ranges from which the number of lines is drawn, with weights; those with parameters, slow in Qiskit, are short."""

_MOST_BOUND = 100

_VALUES = 6
"""The most numbers of a binding that a program names."""

_MATRICES = {
    "lib.DiagonalGate([1, np.exp(1j * {a})])": 1,
    "lib.DiagonalGate([np.exp(1j * {a}), 1, 1, np.exp(1j * {a})])": 2,
    "lib.UnitaryGate(np.diag([1, np.exp(1j * {a})]))": 1,
    "lib.UnitaryGate(monomial(1, {n}))": 1,
    "lib.UnitaryGate(blocks(2, {n}))": 2,
    "lib.UnitaryGate(real(2, {n}))": 2,
    "lib.UnitaryGate(haar(1, {n})).control(2, ctrl_state=1)": 3,
    "lib.UnitaryGate(np.diag([1, np.exp(1j * {a})])).control(1)": 2,
    "lib.DiagonalGate(phases(3, {n}).tolist()).control(1)": 4,
    "lib.PermutationGate([1, 0])": 2,
    "lib.PermutationGate([4, 2, 0, 3, 1])": 5,
}
"""Matrices besides those of the library, with their number of wires; {n} is the seed of a matrix, {a} an angle."""

_BASES = (["rz", "sx", "x", "cx"], ["rz", "sx", "x", "cz"], ["u", "cz"], ["u", "cx"])


class Pool(Draw):
    """A source of lines on some of the wires of a circuit.

    pool: these wires; `wires` is how many they are. huge: whether angles may be huge.
    """

    def __init__(self, random: Random, pool: Sequence[int], *, huge: bool) -> None:
        super().__init__(random, len(pool), 0)
        self.pool, self.huge = list(pool), huge

    def some(self, count: int, without: Sequence[int] = ()) -> list[int]:
        """Different wires of the pool in any order."""
        return self.random.sample([wire for wire in self.pool if wire not in without], count)

    def angle(self, name: str = "") -> str:
        """An angle or an exponent, or a number of a binding unless that may be huge."""
        return self._value() if self.bound and not self.huge and self.random.random() < 0.6 else self.number(name)

    def lone_angle(self, name: str = "") -> str:
        """The angle of a gate that has no other; Qiskit and Aer round the sums of two."""
        if self.bound and self.random.random() < 0.8:
            return self._value()
        return self.large() if self.huge and self.random.random() < 0.3 else self.number(name)

    def number(self, name: str = "") -> str:
        """An angle or an exponent: mostly a multiple of an eighth turn, or near one."""
        random = self.random
        if random.random() < 0.2:
            return angles.angle(random, name)
        if name not in angles.HALF_TURNS:
            return angles.special(random)
        text = f"{random.randint(-angles.MOST_TURNS, angles.MOST_TURNS)}/4"
        return f"({text} + {random.choice(angles.NEARLY)})" if random.random() < 0.2 else text

    def large(self) -> str:
        """A huge angle, some of them multiples of an eighth turn as far as doubles are."""
        text = angles.huge(self.random)
        return f"{int(float(text))}*pi/4" if self.random.random() < 0.4 else text

    def _value(self) -> str:
        at = self.random.randrange(min(self.values + 1, _VALUES))
        self.values = max(self.values, at + 1)
        return f"v[{at}]"


class SizedQiskit(Pool, QiskitDraw):
    """A source of lines for a `QuantumCircuit`; no roots, of which Qiskit's matrices have half the digits near 2π."""

    powers = (2, 3, -1)

    def phase_line(self) -> str:
        """A phase by its name or by its angle, or a gate between which phases show."""
        random, wire = self.random, self.on(self.some(1))[1:-1]
        name = random.choice(["z", "s", "sdg", "t", "tdg", "h", "h", "sx", "p", "rz", "u1"])
        match name:
            case "p" | "rz":
                return f"qc.{name}({self.lone_angle()}, {wire})"
            case "u1":
                return f"qc.append(lib.U1Gate({self.lone_angle()}), [{wire}])"
            case _:
                return f"qc.{name}({wire})"

    def matrix_line(self) -> str:
        """A matrix, diagonal or not, a permutation, or one of these with controls."""
        text, qubits = self.random.choice([pair for pair in _MATRICES.items() if pair[1] <= self.wires])
        while "{a}" in text:
            text = text.replace("{a}", self.number(), 1)
        return f"qc.append({text.replace('{n}', str(self.seed()))}, {self.on(self.some(qubits))})"


class SizedCirq(Pool, CirqDraw):
    """A source of lines for a circuit of Cirq."""


def begun(random: Random, sizes: Sequence[int] = SIZES) -> tuple[int, list[int], Line]:
    """The size of a circuit, the wires that its lines act on, and a line that brings all wires or these into motion."""
    size = random.choice(sizes)
    pool = random.sample(range(size), random.choice([3, 5, 5, 8, size]))
    on = "q" if random.random() < 0.4 else "[" + ", ".join(f"q[{wire}]" for wire in pool) + "]"
    return size, pool, Line(f"for w in {on}:")


def lines(random: Random, draw: SizedQiskit) -> list[Line]:
    """Gates of all kinds, or mostly of one, or a few lines again and again."""
    sources = [draw.phase_line, draw.standard] + ([] if draw.bound else [draw.matrix_line, draw.library])
    weights = [random.choice(some) for some in ((0, 1, 4), (0, 1, 4), (0, 1, 4), (0, 0, 0.3))][: len(sources)]
    ranges = {some: weight for some, weight in _COUNTS.items() if not draw.bound or some[1] <= _MOST_BOUND}
    count = random.randint(*random.choices([*ranges], [*ranges.values()])[0])
    found = [random.choices(sources, weights if any(weights) else None)[0]() for _ in range(count)]
    if random.random() < 0.2:
        few = found[: random.randint(2, 8)]
        found = [random.choice(few) for _ in range(count)]
    return [Line(text) for text in found]


def transpiled(random: Random, highest: int = 3) -> Line:
    """The circuit so far in the gates of some machine. highest: the level of optimisation at most."""
    level = min(random.choices([0, 1, 2, 3], [3, 3, 2, 1])[0], highest)
    return Line(f"qc = transpile(qc, basis_gates={random.choice(_BASES)}, optimization_level={level})")
