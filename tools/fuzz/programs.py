"""Draws programs of the engine's builder: every gate of its table, matrices, channels, and what leaves to chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from tools.fuzz import angles
from tools.fuzz.case import WIRE, Line

ONE_WIRE = (
    "bit_flip({p})", "phase_flip({p})", "depolarizing({p})", "uniform_pauli({p})", "phase_damping({p})",
    "amplitude_damping({p})", "amplitude_damping({p}, {r})", "reset_channel({s})", "reset_channel({s}, {s})",
    "thermal_relaxation(1.0, {u}, {r}, {s})", "pauli_channel(dict(X={s}, Z={s}))", "pauli_lindblad(dict(X={s}, Y={p}))",
)  # fmt: skip
TURNS = ("p", "rz", "u1", "rx")
PAIRS = ("cx", "cz", "rzz", "ryy")
PLAIN = ("z", "s", "sdg", "t", "tdg", "h", "x", "sx", *TURNS, *TURNS, *PAIRS)
"""Gates that come in bulk: those with an angle, those on two wires, and all of them."""

_LONE = (("lam",), ("theta",), ("angle",))
"""The parameters of gates with one angle, which may be huge."""

TWO_WIRES = (
    "depolarizing({p}, 2)", "uniform_pauli({p}, 2)", "pauli_channel(dict(XY={s}, ZI={s}, IZ={s}))",
    "pauli_lindblad(dict(XY={s}, ZI={p}, IX={s}))", "leakage({p}, {r})", "heralded_loss({p})",
)  # fmt: skip


BULKS = 0.07
"""How likely many gates at once stand where a line could be."""


class Draw:
    """A source of lines for a program on some wires and classical bits.

    touched: wires that some line has named; only the others may be put into a state.
    """

    def __init__(self, random: Random, wires: int, bits: int) -> None:
        from qsim_ex.circuit.gates import GATES

        self.random = random
        self.wires = wires
        self.bits = bits
        self.rows = [row for row in GATES.values() if row.qubits <= wires]
        self.touched: set[int] = set()
        self.values = 0  # how many numbers of a binding the lines name
        self.bound = False  # whether angles may be numbers of a binding

    # --- pieces of text ---------------------------------------------------------------------------------------------

    def angle(self, name: str = "") -> str:
        """An angle, or an exponent in half turns; or a number of a binding."""
        if self.bound and self.random.random() < 0.6:
            self.values += 1
            return f"v[{self.values - 1}]"
        return angles.angle(self.random, name)

    def lone_angle(self, name: str = "") -> str:
        """The angle of a gate that has no other; sums of huge ones would lose what is compared."""
        return angles.huge(self.random) if self.random.random() < 0.03 else self.angle(name)

    def seed(self) -> int:
        """The seed of a matrix."""
        return self.random.randrange(50)

    def some(self, count: int, without: Sequence[int] = ()) -> list[int]:
        """Different wires in any order."""
        return self.random.sample([wire for wire in range(self.wires) if wire not in without], count)

    def on(self, wires: Sequence[int]) -> str:
        """A list of wires; they are touched from now on."""
        self.touched.update(wires)
        return "[" + ", ".join(f"q[{wire}]" for wire in wires) + "]"

    def controls(self, wires: Sequence[int], chance: float = 0.3) -> str:
        """Further wires as controls, at most three, with values; mostly nothing."""
        free = self.wires - len(wires)
        if not free or self.random.random() > chance:
            return ""
        chosen = self.some(self.random.randint(1, min(3, free)), wires)
        values = self.random.randrange(1 << len(chosen))
        text = f", controls={self.on(chosen)}"
        return text + (f", control_values={values}" if self.random.random() < 0.6 else "")

    # --- unitary lines ----------------------------------------------------------------------------------------------

    def unitary_line(self) -> str:
        """A statement that needs no chance."""
        kinds = [self.row, self.matrix, self.diagonal, self.multiplexer, self.rotation, self.permutation, self.phase]
        return self.random.choices([*kinds, self.bond, self.turned], [12, 3, 2, 2, 2, 2, 0.5, 2, 3])[0]()

    def conditional_line(self) -> str:
        """A statement that may stand under a condition."""
        kinds = [self.row, self.matrix, self.diagonal, self.multiplexer, self.rotation]
        return self.random.choices(kinds, [8, 3, 1, 1, 1])[0]()

    def row(self) -> str:
        """A gate of the table."""
        row = self.random.choice(self.rows)
        wires = self.some(row.qubits)
        angle = self.lone_angle if row.parameters in _LONE else self.angle
        parameters = "".join(f", {angle(name)}" for name in row.parameters)
        return f"b.gate({row.name!r}, {self.on(wires)}{parameters}{self.controls(wires)})"

    def bulk(self) -> list[Line]:
        """Many gates, one after another, that are appended together: mostly phases, by names and by angles."""
        return [Line("for g in together(b):", tuple(Line(f"g.{self.plain()}") for _ in range(self.count())))]

    def count(self) -> int:
        """How many gates are many: more than are ever appended one by one, or some."""
        return self.random.choice([self.random.randint(2, 8), self.random.randint(17, 30)])

    def plain(self) -> str:
        """A call of `gate` without controls, of gates that come in bulk."""
        name = self.random.choice(PLAIN)
        count = 2 if name in PAIRS and self.wires > 1 else 1
        if name in PAIRS and count == 1:
            name = "x"
        given = f", {angles.special(self.random) if name in TURNS and self.random.random() < 0.7 else self.angle()}"
        return f"gate({name!r}, {self.on(self.some(count))}{given if name in (*TURNS, 'rzz', 'ryy') else ''})"

    def bond(self) -> str:
        """Rotations by Pauli matrices of two wires as transpilers write them: quarter turns around CX, RZ, CX."""
        if self.wires < 2:
            return self.row()
        random, pair = self.random, self.some(2)
        text = "b"
        for _ in range(random.randint(1, 3)):
            for wire in random.sample(pair, 2):
                for _ in range(random.randint(0, 2)):
                    name = random.choice(["h", "sx", "sx", "s", "rz", "x"])
                    angle = f", {angles.special(random)}" if name == "rz" else ""
                    text += f".gate({name!r}, {self.on([wire])}{angle})"
            cx = f".gate('cx', {self.on(pair)})"
            text += f"{cx}.gate('rz', {self.on(pair[1:])}, {self.angle()}){cx}"
        return text

    def turned(self) -> str:
        """An X under conditions as transpilers write it: two H or √X, and eighth turns and CX between them."""
        random = self.random
        on, *others = self.some(self.wires)
        ends = random.choices(["h", "sx", "sxdg"], k=1 + (random.random() < 0.3))
        text = f"b.gate({ends[0]!r}, {self.on([on])})"
        if len(others) > 1 and random.random() < 0.5:
            around, names = [others[0], others[1]] * 2, ["tdg", "t", "tdg", "t"]
        else:
            around = random.choices([*others, on], k=random.randint(1, 6))
            names = random.choices(["t", "tdg", "s", "z"], k=len(around))
        held = self.on([on])
        for control, name in zip(around, names, strict=True):
            cx = f".gate('cx', {self.on([control, on])})" if control != on else ""
            angle = f".gate('rz', {held}, {angles.special(random)})" if random.random() < 0.1 else ""
            text += f"{cx}.gate({name!r}, {held}){angle}{cx if random.random() < 0.3 else ''}"
        return f"{text}.gate({ends[-1]!r}, {held})"

    def matrix(self) -> str:
        """A unitary matrix with or without structure."""
        k = self.random.randint(1, min(3, self.wires))
        wires = self.some(k)
        name = self.random.choice(["haar", "haar", "monomial", "blocks", "real"])
        return f"b.unitary({name}({k}, {self.seed()}), {self.on(wires)}{self.controls(wires)})"

    def diagonal(self) -> str:
        """A diagonal matrix."""
        k = self.random.randint(1, min(4, self.wires))
        wires = self.some(k)
        return f"b.diagonal(phases({k}, {self.seed()}), {self.on(wires)}{self.controls(wires)})"

    def multiplexer(self) -> str:
        """Matrices chosen by selectors."""
        if self.wires < 2:
            return self.row()
        k = self.random.randint(1, min(2, self.wires - 1))
        s = self.random.randint(1, min(2, self.wires - k))
        wires = self.some(k + s)
        matrices = f"several({s}, {k}, {self.seed()})"
        return f"b.multiplexer({matrices}, {self.on(wires[k:])}, {self.on(wires[:k])}{self.controls(wires, 0.2)})"

    def rotation(self) -> str:
        """A Pauli rotation."""
        wires = self.some(self.random.randint(1, self.wires))
        letters = "".join(self.random.choice("IXYZ") for _ in wires)
        return f"b.pauli_rotation({self.angle()}, {letters!r}, {self.on(wires)}{self.controls(wires)})"

    def permutation(self) -> str:
        """A basis permutation."""
        k = self.random.randint(1, min(3, self.wires))
        return f"b.permutation(shuffled({k}, {self.seed()}), {self.on(self.some(k))})"

    def phase(self) -> str:
        """A global phase, or one under controls."""
        if self.random.random() < 0.5 or self.bound:
            return f"b.gate('global_phase', [], {self.angle()}{self.controls([], 0.7)})"
        return f"b.global_phase({self.angle()})"

    def preparation(self) -> str | None:
        """A state on wires that nothing has named so far; None if there are none."""
        free = [wire for wire in range(self.wires) if wire not in self.touched]
        if not free:
            return None
        k = self.random.randint(1, min(3, len(free)))
        wires = self.random.sample(free, k)
        return f"b.initialize(vector({k}, {self.seed()}), {self.on(wires)})"

    # --- chance -----------------------------------------------------------------------------------------------------

    def channel(self) -> str:
        """A channel on a wire or two."""
        wires = self.some(2 if self.wires > 1 and self.random.random() < 0.25 else 1)
        return f"b.channel({self.kraus(len(wires))}, {self.on(wires)})"

    def kraus(self, wires: int) -> str:
        """The Kraus matrices of a channel of the engine's list, or of one without structure."""
        random = self.random
        if random.random() < 0.25:
            return f"kraus({random.randint(1, 3)}, {wires}, {self.seed()})"
        numbers = {
            "p": round(random.choice([0.05, 0.3, random.random()]), 3),
            "r": round(random.uniform(0.02, 0.98), 3),
            "s": round(random.uniform(0.02, 0.33), 3),
            "u": round(random.uniform(0.1, 2.0), 3),
        }
        return "noise." + random.choice(TWO_WIRES if wires == 2 else ONE_WIRE).format(**numbers)

    def measurement(self) -> str:
        """A measurement of some wires into some bits."""
        count = self.random.randint(1, min(2, self.wires, self.bits))
        clbits = self.random.sample(range(self.bits), count)
        return f"b.measure({self.on(self.some(count))}, {self.into(clbits)})"

    def into(self, clbits: Sequence[int]) -> str:
        """A list of classical bits."""
        return "[" + ", ".join(f"c[{bit}]" for bit in clbits) + "]"

    def reset(self) -> str:
        """A reset of a wire or two."""
        return f"b.reset({self.on(self.some(self.random.randint(1, min(2, self.wires))))})"

    def conditional(self, depth: int = 0) -> Line:
        """Statements under a condition; sometimes one in another."""
        count = self.random.randint(1, min(3, self.bits))
        clbits = self.random.sample(range(self.bits), count)
        values = self.random.sample(range(1 << count), self.random.randint(1, max(1, (1 << count) - 1)))
        body = [Line(self.conditional_line()) for _ in range(self.random.randint(1, 2))]
        if depth == 0 and self.random.random() < 0.15:
            body.append(self.conditional(1))
        return Line(f"with b.condition({self.into(clbits)}, {values}):", tuple(body))


def unitary(draw: Draw, longest: int = 14, *, prepared: bool = True) -> list[Line]:
    """Lines without chance, after preparations here and there, if there may be any."""
    lines = []
    for _ in range(draw.random.randint(1, longest)):
        if draw.random.random() < BULKS:
            lines += draw.bulk()
            continue
        first = draw.preparation() if prepared and not draw.bound and draw.random.random() < 0.06 else None
        lines.append(Line(first or draw.unitary_line()))
    return lines


def chance(draw: Draw, longest: int = 12, *, noisy: bool = True) -> list[Line]:
    """Lines in which measurements, resets, conditions and channels stand among gates."""
    random, lines = draw.random, []
    weights = [6, 2, 0.8, 2, 1.5 if noisy else 0]
    for _ in range(random.randint(2, longest)):
        match random.choices(range(5), weights)[0]:
            case 0 if random.random() < BULKS:
                lines += draw.bulk()
            case 0:
                prepared = draw.preparation() if not draw.bound and random.random() < 0.08 else None
                lines.append(Line(prepared or draw.unitary_line()))
            case 1:
                lines.append(Line(draw.measurement()))
            case 2:
                lines.append(Line(draw.reset()))
            case 3:
                lines.append(draw.conditional())
            case _:
                lines.append(Line(draw.channel()))
    return lines


def in_parts(parts: Sequence[tuple[Draw, Mapping[int, int]]], pieces: int, *, noisy: bool = True) -> list[Line]:
    """A few lines of one part and then of another, each on the wires that stand for its own."""
    lines: list[Line] = []
    for _ in range(pieces):
        draw, wires = parts[0][0].random.choice(parts)
        lines += [line.renumbered(WIRE, "q", wires) for line in chance(draw, 2, noisy=noisy)]
    return lines


def measured(draw: Draw) -> Line:
    """A last measurement of as many wires as there are bits for."""
    count = min(draw.wires, draw.bits)
    count = draw.random.randint(1, count) if draw.random.random() < 0.3 else count
    clbits = draw.random.sample(range(draw.bits), count)
    return Line(f"b.measure({draw.on(draw.some(count))}, {draw.into(clbits)})")
