"""Draws circuits for a transpiler: gates by name, matrices that are something simpler, turns between Clifford gates.

What a transpiler writes in the gates of a machine has to have the same form, so what decides about forms is drawn
often: Clifford operators as matrices, gates whose inverse follows behind a turn, and the same few lines again.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tools.fuzz import angles
from tools.fuzz.case import Line
from tools.fuzz.qiskit_programs import QiskitDraw

BASES: dict[str, tuple[str, ...]] = {
    "cx": ("rz", "sx", "x", "cx"),
    "cz": ("rz", "sx", "x", "cz"),
    "r cz": ("r", "cz"),
    "rzz": ("rx", "ry", "rz", "rzz"),
    "u cz": ("u", "cz"),
    "t": ("h", "s", "sdg", "t", "tdg", "x", "z", "cx"),
}
"""The gates of machines; "t" for circuits alone that are exact in it."""

EXACT = {"h": 1, "s": 1, "sdg": 1, "t": 1, "tdg": 1, "x": 1, "y": 1, "z": 1, "sx": 1, "cx": 2, "cz": 2, "cy": 2,
         "swap": 2, "ccx": 3, "ccz": 3, "cswap": 3}  # fmt: skip
"""Gates that are exact in Clifford gates and T, with their number of wires."""

_MATRICES: dict[str, int] = {
    "qi.random_clifford(1, seed={n}).to_matrix()": 1,
    "qi.random_clifford(2, seed={n}).to_matrix()": 2,
    "qi.random_clifford(3, seed={n}).to_matrix()": 3,
    "np.diag(phases(1, {n}))": 1,
    "np.diag(phases(2, {n}))": 2,
    "np.diag(1j ** np.arange(8))": 3,
    "np.diag([1, 1, 1, np.exp(1j * {a})])": 2,
    "monomial(1, {n})": 1,
    "monomial(2, {n})": 2,
    "np.kron(haar(1, {n}), haar(1, {m}))": 2,
    "np.eye(4)[[2, 0, 3, 1]]": 2,
    "np.eye(8)[[0, 1, 2, 3, 4, 5, 7, 6]]": 3,
    "haar(1, {n})": 1,
    "haar(2, {n})": 2,
    "real(2, {n})": 2,
    "blocks(2, {n})": 2,
}
"""Matrices with their number of wires: Clifford operators, diagonals, permutations, products, conditions, any."""

_WITH_CONTROLS: dict[str, int] = {
    "lib.UnitaryGate(haar(1, {n})).control(1, ctrl_state={c})": 2,
    "lib.UnitaryGate(qi.random_clifford(1, seed={n}).to_matrix()).control(1, ctrl_state={c})": 2,
    "lib.UnitaryGate(np.diag([1, np.exp(1j * {a})])).control(2, ctrl_state={c})": 3,
    "lib.DiagonalGate(phases(2, {n}).tolist())": 2,
    "lib.PermutationGate([2, 0, 1])": 3,
    "lib.PauliEvolutionGate(qi.SparsePauliOp(['XYZ'], [0.7]), {a})": 3,
    "lib.PauliEvolutionGate(qi.SparsePauliOp(['ZZI', 'XXI', 'IIZ'], [1, -2, 0.3]), {a})": 3,
    "lib.RXXGate({a}).control(1)": 3,
    "lib.CCXGate(ctrl_state={d})": 3,
    "lib.CCZGate(ctrl_state={d})": 3,
    "lib.MCXGate(3, ctrl_state={d})": 4,
    "lib.MCPhaseGate({a}, 2, ctrl_state={d})": 3,
    "lib.MCPhaseGate({a}, 3, ctrl_state={d})": 4,
    "lib.QFTGate(3)": 3,
}
"""Gates of the library with their number of wires."""


class BasesDraw(QiskitDraw):
    """A source of lines for a circuit that is transpiled, on some of its wires, so that gates meet again."""

    powers = (2, 3, -1)

    def __init__(self, random: Random, wires: int) -> None:
        self.pool = random.sample(range(wires), random.choice([3, 4, wires, wires]))
        super().__init__(random, len(self.pool), 0)

    def some(self, count: int, without: Sequence[int] = ()) -> list[int]:
        """Different wires of these in any order."""
        return self.random.sample([wire for wire in self.pool if wire not in without], count)

    def lone_angle(self, name: str = "") -> str:
        """An angle that is not huge, since transpilers add angles up."""
        return self.angle(name)

    def exact(self) -> str:
        """A gate that is exact in Clifford gates and T."""
        name = self.random.choice([*EXACT])
        return f"qc.{name}({self.on(self.some(EXACT[name]))[1:-1]})"

    def clifford(self) -> str:
        """A Clifford gate by name."""
        name = self.random.choice(["h", "h", "s", "sdg", "sx", "x", "cx", "cx", "cz", "swap"])
        return f"qc.{name}({self.on(self.some(EXACT[name]))[1:-1]})"

    def turn(self) -> str:
        """A turn of a wire or of two."""
        name = self.random.choice(["rz", "rz", "rx", "ry", "p", "rzz", "rxx", "cp", "crx"])
        return f"qc.{name}({self.angle()}, {self.on(self.some(2 if len(name) == 3 or name == 'cp' else 1))[1:-1]})"

    def matrix_line(self) -> str:
        """A matrix, or a gate of the library that is one."""
        random = self.random
        of = random.choice([_MATRICES, _MATRICES, _WITH_CONTROLS])
        text, wires = random.choice([pair for pair in of.items() if pair[1] <= len(self.pool)])
        while "{a}" in text:
            text = text.replace("{a}", angles.angle(random), 1)
        numbers = {"{n}": self.seed(), "{m}": self.seed(), "{c}": random.randrange(2), "{d}": random.randrange(4)}
        for name, number in numbers.items():
            text = text.replace(name, str(number))
        gate = f"lib.UnitaryGate({text})" if of is _MATRICES else text
        return f"qc.append({gate}, {self.on(self.some(wires))})"

    def around(self) -> list[str]:
        """Clifford gates, a turn, and their inverses: a turn about a string of Pauli matrices, of few wires or many."""
        whole = self.pool
        self.pool = self.some(self.random.choice([2, 3, len(whole)]))
        gates = [self.clifford() for _ in range(self.random.randint(1, 8))]
        found = [*gates, self.turn(), *(_inverse(gate) for gate in reversed(gates))]
        self.pool = whole
        return found

    def conditions(self) -> list[str]:
        """A few phases, and X, under controls of either value, on the same wires."""
        random, few = self.random, self.some(min(len(self.pool), self.random.choice([3, 4, 5, 9])))
        found = []
        for _ in range(random.randint(1, 4)):
            wires = random.sample(few, random.randint(3, len(few)))
            angle = random.choice(["pi", angles.angle(random)])
            gate = random.choice([f"MCPhaseGate({angle}, ", f"MCPhaseGate({angle}, ", "MCXGate("])
            state = random.randrange(1 << len(wires) - 1)
            found.append(f"qc.append(lib.{gate}{len(wires) - 1}, ctrl_state={state}), {self.on(wires)})")
        return found


def _inverse(gate: str) -> str:
    """The inverse of a Clifford gate."""
    name = gate[3 : gate.index("(")]
    other = {"s": "sdg", "sdg": "s", "sx": "sxdg"}.get(name, name)
    return gate.replace(name, other, 1)


def lines(random: Random, draw: BasesDraw, *, exact: bool) -> list[Line]:
    """Gates of all kinds, or mostly of one, or the same few lines again and again."""
    count = random.choice([random.randint(1, 6), random.randint(4, 16), random.randint(10, 30)])
    texts: list[str] = [f"for w in q: qc.{random.choice(['h', 'sx'])}(w)"] if random.random() < 0.3 else []
    if exact:
        texts += [draw.exact() for _ in range(3 * count)]
    else:
        sources = [draw.standard, draw.clifford, draw.turn, draw.around, draw.conditions, draw.matrix_line]
        weights = [random.choice(some) for some in ((0, 1, 4),) * 3 + ((0, 0, 0.3, 1),) * 2 + ((0, 1, 4),)]
        weights[-1] *= not draw.bound
        for _ in range(count):
            found = random.choices(sources, weights if any(weights) else [1, 1, 1, 0, 0, 0])[0]()
            texts += [found] if isinstance(found, str) else found
    if random.random() < 0.2:
        few = texts[: random.randint(2, 8)]
        texts = few * random.randint(2, 4)
    return [Line(text) for text in texts]
