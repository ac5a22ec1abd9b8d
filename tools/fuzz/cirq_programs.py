"""Draws programs for Cirq: gates with shifts and symbols, controls, measurements with keys, conditions, channels."""

from __future__ import annotations

from random import Random

from tools.fuzz.angles import EXPONENTS, special
from tools.fuzz.case import Line
from tools.fuzz.programs import Draw

GATES: dict[str, int] = {
    "cirq.X": 1, "cirq.Y": 1, "cirq.Z": 1, "cirq.H": 1, "cirq.S": 1, "cirq.T": 1, "cirq.I": 1,
    "cirq.S**-1": 1, "cirq.T**-1": 1,
    "cirq.rx({a})": 1, "cirq.ry({a})": 1, "cirq.rz({a})": 1,
    "cirq.XPowGate(exponent={t}, global_shift={s})": 1,
    "cirq.YPowGate(exponent={t}, global_shift={s})": 1,
    "cirq.ZPowGate(exponent={t}, global_shift={s})": 1,
    "cirq.HPowGate(exponent={t}, global_shift={s})": 1,
    "cirq.PhasedXPowGate(phase_exponent={t}, exponent={t}, global_shift={s})": 1,
    "cirq.PhasedXZGate(x_exponent={t}, z_exponent={t}, axis_phase_exponent={t})": 1,
    "cirq.CNOT": 2, "cirq.CZ": 2, "cirq.SWAP": 2, "cirq.ISWAP": 2, "cirq.ISWAP**-1": 2,
    "cirq.CXPowGate(exponent={t}, global_shift={s})": 2,
    "cirq.CZPowGate(exponent={t}, global_shift={s})": 2,
    "cirq.XXPowGate(exponent={t}, global_shift={s})": 2,
    "cirq.YYPowGate(exponent={t}, global_shift={s})": 2,
    "cirq.ZZPowGate(exponent={t}, global_shift={s})": 2,
    "cirq.SwapPowGate(exponent={t}, global_shift={s})": 2,
    "cirq.ISwapPowGate(exponent={t}, global_shift={s})": 2,
    "cirq.ms({a})": 2,
    "cirq.FSimGate({a}, {a})": 2,
    "cirq.PhasedFSimGate({a}, {a}, {a}, {a}, {a})": 2,
    "cirq.PhasedISwapPowGate(phase_exponent={t}, exponent={t})": 2,
    "cirq.givens({a})": 2,
    "cirq.cphase({a})": 2,
    "cirq.CCX": 3, "cirq.CCZ": 3, "cirq.CSWAP": 3,
    "cirq.CCXPowGate(exponent={t}, global_shift={s})": 3,
    "cirq.CCZPowGate(exponent={t}, global_shift={s})": 3,
}  # fmt: skip
"""Gates with their number of qubits; {a} is an angle, {t} an exponent, {s} a shift, which alone is never a symbol."""

LITERAL: dict[str, int] = {
    "cirq.MatrixGate(haar(1, {n}))": 1,
    "cirq.MatrixGate(haar(2, {n}))": 2,
    "cirq.MatrixGate(monomial(2, {n}))": 2,
    "cirq.MatrixGate(haar(3, {n}))": 3,
    "cirq.DiagonalGate([{a}, {a}])": 1,
    "cirq.TwoQubitDiagonalGate([{a}, {a}, {a}, {a}])": 2,
    "cirq.ThreeQubitDiagonalGate([{a}, {a}, {a}, {a}, {a}, {a}, {a}, {a}])": 3,
    "cirq.DensePauliString('XZ', coefficient=1j)": 2,
    "cirq.DensePauliString('YIX')": 3,
    "cirq.PauliStringPhasorGate(cirq.DensePauliString('XY'), exponent_neg={a}, exponent_pos=0.2)": 2,
    "cirq.QuantumFourierTransformGate(3)": 3,
    "cirq.PhaseGradientGate(num_qubits=2, exponent={a})": 2,
    "cirq.QubitPermutationGate([2, 0, 1])": 3,
    "cirq.BooleanHamiltonianGate(['a', 'b'], ['a ^ b'], {a})": 2,
    "cirq.UniformSuperpositionGate(3, 2)": 2,
    "cirq.ParallelGate(cirq.Y**0.3, 2)": 2,
}
"""Gates that take no symbols; {n} is the seed of a matrix."""

CHANNELS: dict[str, int] = {
    "cirq.depolarize({p})": 1,
    "cirq.asymmetric_depolarize(0.1, {h}, 0.05)": 1,
    "cirq.amplitude_damp({p})": 1,
    "cirq.generalized_amplitude_damp(0.3, {p})": 1,
    "cirq.phase_damp({p})": 1,
    "cirq.bit_flip({p})": 1,
    "cirq.phase_flip({p})": 1,
    "cirq.ResetChannel()": 1,
    "cirq.depolarize({p}, 2)": 2,
    "cirq.KrausChannel(list(kraus(2, 1, {n})))": 1,
    "cirq.MixedUnitaryChannel([({p}, haar(1, {n})), (1 - {p}, haar(1, 7))])": 1,
    "cirq.X.with_probability({p})": 1,
    "cirq.CNOT.with_probability({p})": 2,
}


_BULK: dict[str, int] = {
    "cirq.Z": 1, "cirq.S": 1, "cirq.T": 1, "cirq.S**-1": 1, "cirq.T**-1": 1, "cirq.H": 1, "cirq.X": 1, "cirq.X**0.5": 1,
    "cirq.Z**{t}": 1, "cirq.ZPowGate(exponent={t})": 1, "cirq.rz({a})": 1, "cirq.Z**({t} + 2)": 1,
    "cirq.CNOT": 2, "cirq.CZ": 2, "cirq.CZ**{t}": 2, "cirq.ZZ**0.3": 2,
}  # fmt: skip
"""Gates that come in bulk, with their number of qubits."""


class CirqDraw(Draw):
    """A source of lines that append to the circuit `qc`; keys: how many bits each key holds that was measured."""

    def __init__(self, random: Random, wires: int, bits: int) -> None:
        super().__init__(random, wires, bits)
        self.keys: dict[str, int] = {}

    def filled(self, text: str) -> str:
        """A gate with its numbers."""
        random = self.random
        while "{" in text:
            name = text[text.index("{") + 1]
            match name:
                case "a":
                    value = self.angle()
                case "t":
                    value = self.angle("exponent")
                case "s":
                    value = random.choice(["0", "0", "-0.5", "0.25", "1.0"])
                case "p":
                    value = str(round(random.uniform(0.05, 0.6), 3))
                case "h":
                    value = str(round(random.uniform(0.05, 0.4), 3))
                case _:
                    value = str(self.seed())
            text = text.replace("{" + name + "}", value, 1 if name in "at" else -1)  # probabilities add up to 1
        return text

    def star(self, wires: list[int]) -> str:
        """Qubits as arguments."""
        return self.on(wires)[1:-1]

    def operation(self) -> str:
        """A unitary operation."""
        random = self.random
        table = GATES if self.bound or random.random() < 0.75 else LITERAL
        text, qubits = random.choice([pair for pair in table.items() if pair[1] <= self.wires])
        wires = self.some(qubits)
        made = f"({self.filled(text)})({self.star(wires)})"
        free = self.wires - qubits
        if free and not self.bound and random.random() < 0.25:
            held = self.some(random.randint(1, min(2, free)), wires)
            values = [random.choice([0, 1, 1, (0, 1)]) for _ in held]
            made += f".controlled_by({self.star(held)}, control_values={values})"
        return made

    def unitary_line(self) -> str:
        """An operation, or a global phase."""
        if self.random.random() < 0.04 and not self.bound:
            return f"qc.append(cirq.global_phase_operation(np.exp({self.angle()} * 1j)))"
        if self.random.random() < 0.05 and not self.bound:
            inner = ", ".join(self.operation() for _ in range(2))
            return f"qc.append(cirq.CircuitOperation(cirq.FrozenCircuit({inner}), repetitions=2))"
        return f"qc.append({self.operation()})"

    def lone_angle(self, name: str = "") -> str:
        """Cirq keeps rotations as exponents, whose rounding a huge angle would show."""
        return self.angle(name)

    def bulk(self) -> list[Line]:
        """Many gates, one after another: those with names of their own, and powers of Z."""
        random, lines = self.random, []
        for _ in range(self.count()):
            text, qubits = random.choice([pair for pair in _BULK.items() if pair[1] <= self.wires])
            exponent = random.choice([*EXPONENTS, *EXPONENTS, str(random.randint(-40, 40) / 4)])
            text = text.replace("{t}", exponent).replace("{a}", special(random))
            lines.append(Line(f"qc.append(({text})({self.star(self.some(qubits))}))"))
        return lines

    def preparation(self) -> str | None:
        """A state on any qubits, which resets them first."""
        k = self.random.randint(1, min(2, self.wires))
        state = f"cirq.StatePreparationChannel(vector({k}, {self.seed()}))"
        return f"qc.append({state}({self.star(self.some(k))}))"

    def channel(self) -> str:
        """A channel."""
        text, qubits = self.random.choice([pair for pair in CHANNELS.items() if pair[1] <= self.wires])
        return f"qc.append(({self.filled(text)})({self.star(self.some(qubits))}))"

    def reset(self) -> str:
        """A reset."""
        return f"qc.append(cirq.reset({self.star(self.some(1))}))"

    def measurement(self) -> str:
        """A measurement under a key, inverted or confused here and there; or one of a Pauli product."""
        random = self.random
        if sum(self.keys.values()) >= 5:
            return self.unitary_line()
        count = random.randint(1, min(2, self.wires))
        wires = self.some(count)
        if random.random() < 0.15:
            letters = ", ".join(random.choice(["cirq.X", "cirq.Y", "cirq.Z"]) for _ in wires)
            key = self.key(1)
            return f"qc.append(cirq.PauliMeasurementGate([{letters}], key={key!r})({self.star(wires)}))"
        more = ""
        if random.random() < 0.3:
            more += f", invert_mask={tuple(random.random() < 0.5 for _ in wires)}"
        if random.random() < 0.15:
            more += f", confusion_map={{(0,): misread(1, {self.seed()})}}"
        key = self.key(count, confused="confusion" in more)
        return f"qc.append(cirq.measure({self.star(wires)}, key={key!r}{more}))"

    def key(self, size: int, *, confused: bool = False) -> str:
        """A key that is new; those of confused bits are asked by no condition."""
        name = f"{'n' if confused else 'k'}{len(self.keys)}"
        self.keys[name] = size
        return name

    def conditional(self, depth: int = 0) -> Line:  # noqa: ARG002  (the base's)
        """An operation under conditions on keys."""
        plain = [name for name in self.keys if name.startswith("k")]
        if not plain:
            return Line(self.unitary_line())
        random = self.random
        name = random.choice(plain)
        condition = random.choice(
            [
                repr(name),
                f"sympy.Eq(sympy.Symbol({name!r}), {random.randrange(1 << self.keys[name])})",
                f"cirq.BitMaskKeyCondition({name!r}, bitmask=1, target_value={random.randrange(2)}, equal_target=True)",
            ]
        )
        return Line(f"qc.append(({self.operation()}).with_classical_controls({condition}))")
