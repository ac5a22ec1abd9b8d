"""Draws programs for Qiskit's `QuantumCircuit`: standard gates, the circuit library, control flow, channels."""

from __future__ import annotations

from functools import lru_cache
from random import Random

from qiskit.circuit.library import get_standard_gate_name_mapping

from tools.fuzz.angles import special
from tools.fuzz.case import Line
from tools.fuzz.programs import Draw

_OWN = ("measure", "reset", "delay")

_NAMED = ("XGate", "HGate", "SXGate", "RZGate", "RYGate", "UGate", "CXGate", "CZGate", "ECRGate", "SwapGate", "RZZGate",
          "SGate", "TGate", "CCXGate", "PhaseGate", "RXGate")  # fmt: skip
"""Gates for noisy machines: none of them is ever replaced by its definition, in which others would have noise."""

_TURNS = ("PhaseGate", "RZGate", "U1Gate", "RXGate")
_PAIRS = ("CXGate", "CZGate", "RZZGate", "RYYGate")
_BULK = ("ZGate", "SGate", "SdgGate", "TGate", "TdgGate", "HGate", "XGate", "SXGate", *_TURNS, *_TURNS, *_PAIRS)
"""Gates that come in bulk: those with an angle, those on two wires, and all of them."""

LIBRARY: dict[str, int] = {
    "lib.UnitaryGate(haar(1, {n}))": 1,
    "lib.UnitaryGate(haar(2, {n}))": 2,
    "lib.UnitaryGate(monomial(2, {n}))": 2,
    "lib.UnitaryGate(haar(3, {n}))": 3,
    "lib.DiagonalGate(phases(2, {n}).tolist())": 2,
    "lib.DiagonalGate(phases(3, {n}).tolist())": 3,
    "lib.PermutationGate([2, 0, 1])": 3,
    "lib.PermutationGate([2, 0, 3, 1])": 4,
    "lib.UCGate(list(several(1, 1, {n})))": 2,
    "lib.UCGate(list(several(2, 1, {n})))": 3,
    "lib.UCRXGate([{a}, {a}])": 2,
    "lib.UCRYGate([{a}, {a}, {a}, {a}])": 3,
    "lib.UCRZGate([{a}, {a}, {a}, {a}])": 3,
    "lib.MCXGate(3)": 4,
    "lib.MCXGate(4, ctrl_state=6)": 5,
    "lib.MCPhaseGate({a}, 2)": 3,
    "lib.MCPhaseGate({a}, 3, ctrl_state=2)": 4,
    "lib.MCMTGate(lib.RYGate({a}), 2, 2)": 4,
    "lib.MSGate(3, {a})": 3,
    "lib.RVGate({a}, {a}, {a})": 1,
    "lib.QFTGate(3)": 3,
    "lib.PauliGate('XZ')": 2,
    "lib.PauliGate('YIX')": 3,
    "lib.PauliGate('ZXY')": 3,
    "lib.GraphStateGate([[0, 1, 1], [1, 0, 0], [1, 0, 0]])": 3,
    "lib.Isometry(haar(2, {n}), 0, 0)": 2,
    "lib.HamiltonianGate(np.array([[1, 2], [2, -1]]), {a})": 1,
    "lib.HalfAdderGate(1)": 3,
    "lib.LinearFunction([[1, 1], [0, 1]])": 2,
    "lib.BitwiseXorGate(3, 5)": 3,
    "lib.InnerProductGate(2)": 4,
    "lib.AndGate(3, [1, 0, -1])": 4,
    "lib.LinearPauliRotationsGate(2, {a}, {a})": 3,
    "lib.IntegerComparatorGate(2, 2)": 3,
    "lib.StatePreparation(vector(2, {n}))": 2,
    "lib.StatePreparation(vector(2, {n})).inverse()": 2,
    "lib.StatePreparation('+1')": 2,
    "lib.StatePreparation(2, 2)": 2,
    "lib.UniformSuperpositionGate(3, 2)": 2,
    "lib.PauliEvolutionGate(qi.SparsePauliOp(['XYZ'], [0.7]), {a})": 3,
    "lib.PauliEvolutionGate(qi.SparsePauliOp(['II'], [0.7]), {a})": 2,
    "lib.PauliEvolutionGate(qi.SparsePauliOp(['ZZI', 'IZZ', 'III'], [1, -2, 0.3]), {a})": 3,
    "lib.PauliEvolutionGate(qi.SparseObservable('0X1'), {a})": 3,
    "lib.PauliEvolutionGate(qi.SparsePauliOp(['XYI', 'ZZY'], [0.5, 1]), {a})": 3,
    "inverse_of(lib.PauliEvolutionGate(qi.SparsePauliOp(['XYI', 'ZZY'], [0.5, 1]), {a}))": 3,
    "lib.PauliProductRotationGate(qi.Pauli('-XYZ'), {a})": 3,
    "qi.random_clifford(2, seed={n})": 2,
    "qi.random_clifford(3, seed={n}).to_instruction()": 3,
}
"""Gates of the library with their number of qubits; {n} is the seed of a matrix, {a} an angle."""

CHANNELS = (
    "qi.Kraus(list(kraus(2, 1, {n}))).to_instruction()",
    "aer.depolarizing_error({p}, 1).to_instruction()",
    "aer.amplitude_damping_error({p}, 0.2).to_instruction()",
)

ERRORS = (
    "aer.depolarizing_error({p}, 1)",
    "aer.pauli_error([('X', {p}), ('Y', 0.05), ('I', 1 - {p} - 0.05)])",
    "aer.amplitude_damping_error({p}, 0.1)",
    "aer.phase_damping_error({p})",
    "aer.thermal_relaxation_error(50, 30, 100 * {p}, 0.1)",
    "aer.reset_error({p}, 0.1)",
    "aer.kraus_error(list(kraus(2, 1, {n})))",
)
TWO_QUBIT_ERRORS = (
    "aer.depolarizing_error({p}, 2)",
    "aer.pauli_error([('XI', {p}), ('ZY', 0.05), ('II', 1 - {p} - 0.05)])",
    "aer.kraus_error(list(kraus(2, 2, {n})))",
)


@lru_cache(maxsize=1)
def standard() -> list[tuple[str, int, int, int]]:
    """Qiskit's standard gates: class name, qubits, parameters, and how many of the qubits are controls."""
    mapping = get_standard_gate_name_mapping()
    return [
        (type(gate).__name__ if gate.base_class is type(gate) else gate.base_class.__name__, gate.num_qubits,
         len(gate.params), getattr(gate, "num_ctrl_qubits", 0))
        for name, gate in sorted(mapping.items()) if name not in _OWN
    ]  # fmt: skip


class QiskitDraw(Draw):
    """A source of lines for a `QuantumCircuit`; noisy: only gates that a noise model can name."""

    powers: tuple[float, ...] = (2, 3, -1, 0.5)

    def __init__(self, random: Random, wires: int, bits: int, *, noisy: bool = False) -> None:
        super().__init__(random, wires, bits)
        self.noisy = noisy

    def unitary_line(self) -> str:
        """A gate of some kind."""
        if self.noisy or self.bound or self.random.random() < 0.55:
            return self.standard()
        return self.library()

    def conditional_line(self) -> str:
        """A gate that may stand under a condition."""
        return self.standard()

    def standard(self) -> str:
        """A standard gate, with open controls, more controls, inverted, or to a power here and there."""
        random = self.random
        name, qubits, parameters, controls = random.choice(
            [row for row in standard() if row[1] <= self.wires and (not self.noisy or row[0] in _NAMED)]
        )
        lone = parameters == 1 and not self.noisy and random.random() < 0.5
        angles = [self.lone_angle() if lone else self.angle() for _ in range(parameters)]
        bound = any(angle.startswith("v[") for angle in angles)
        if controls and not self.noisy and not bound and random.random() < 0.2:
            angles.append(f"ctrl_state={random.randrange(1 << controls)}")
        gate = f"lib.{name}({', '.join(angles)})"
        if not self.noisy and not bound and not lone and random.random() < 0.3:
            gate, more = self.modified(gate, qubits)
            qubits += more
        return f"qc.append({gate}, {self.on(self.some(qubits))})"

    def bulk(self) -> list[Line]:
        """Many standard gates, one after another."""
        return [Line(f"qc.append(lib.{self.plain()}") for _ in range(self.count())]

    def plain(self) -> str:
        """A gate that comes in bulk, without `lib.`, and its wires."""
        random = self.random
        name = random.choice([name for name in _BULK if self.wires > 1 or name not in _PAIRS])
        angle = special(random) if name in _TURNS and random.random() < 0.7 else self.angle()
        given = angle if name in (*_TURNS, "RZZGate", "RYYGate") else ""
        return f"{name}({given}), {self.on(self.some(2 if name in _PAIRS else 1))})"

    def modified(self, gate: str, qubits: int) -> tuple[str, int]:
        """A gate with controls, inverted, or to a power; and how many controls were added."""
        random = self.random
        match random.randrange(4):
            case 0:
                return f"{gate}.inverse()", 0
            case 1 if qubits:
                return f"{gate}.power({random.choice(self.powers)}, annotated=True)", 0
            case 2 | 3 if qubits and qubits < self.wires:
                more = random.randint(1, min(2, self.wires - qubits))
                annotated = random.choice([True, False])
                return f"{gate}.control({more}, ctrl_state={random.randrange(1 << more)}, annotated={annotated})", more
            case _:
                return gate, 0

    def library(self) -> str:
        """A gate of the library."""
        text, qubits = self.random.choice([pair for pair in LIBRARY.items() if pair[1] <= self.wires])
        while "{a}" in text:
            text = text.replace("{a}", str(round(self.random.uniform(-4, 4), 3)), 1)
        text = text.replace("{n}", str(self.seed()))
        return f"qc.append({text}, {self.on(self.some(qubits))})"

    def preparation(self) -> str | None:
        """`initialize` on any wires, which resets those that are in use."""
        k = self.random.randint(1, min(2, self.wires))
        free = [wire for wire in range(self.wires) if wire not in self.touched]
        wires = self.random.sample(free, k) if len(free) >= k else None
        return None if wires is None else f"qc.initialize(vector({k}, {self.seed()}), {self.on(wires)})"

    def channel(self) -> str:
        """A channel that stands in the circuit."""
        text = self.random.choice(CHANNELS).format(n=self.seed(), p=round(self.random.uniform(0.05, 0.5), 3))
        return f"qc.append({text}, {self.on(self.some(1))})"

    def measurement(self) -> str:
        """A measurement."""
        return super().measurement().replace("b.measure", "qc.measure")

    def reset(self) -> str:
        """A reset."""
        return super().reset().replace("b.reset", "qc.reset")

    def conditional(self, depth: int = 0) -> Line:
        """An if with a tuple or an expression, a switch, or a loop."""
        random = self.random
        body = tuple(Line(self.conditional_line()) for _ in range(random.randint(1, 2)))
        bit = random.randrange(self.bits)
        match random.randrange(6 if depth == 0 else 3):
            case 0:
                return Line(f"with qc.if_test((c[{bit}], {random.randrange(2)})):", body)
            case 1:
                return Line(f"with qc.if_test((r[0], {random.randrange(1 << min(self.bits, 2))})):", body)
            case 2:
                return Line(f"with qc.if_test({self.expression()}):", body)
            case 3:
                values = random.sample(range(1 << min(self.bits, 2)), 2)
                first = Line(f"with case({values[0]}):", body)
                other = random.choice([f"with case({values[1]}):", "with case(case.DEFAULT):"])
                return Line("with qc.switch(r[0]) as case:", (first, Line(other, (Line(self.conditional_line()),))))
            case 4:
                inner = Line(f"qc.rx(0.4 * turn + 0.1, {self.on(self.some(1))[1:-1]})")
                return Line(f"with qc.for_loop(range({random.randint(1, 3)}), v_loop()) as turn:", (inner, *body))
            case _:
                kept = (*body, Line(self.measurement()) if random.random() < 0.5 else self.conditional(1))
                return Line(f"with qc.for_loop(range({random.randint(1, 3)})):", kept)

    def store(self) -> Line:
        """A store into a bit or a register, by itself, at the end of a block, or in a loop."""
        random, bit = self.random, self.random.randrange(self.bits)
        width = min(self.bits, 2)
        into_register = f"qc.store(r[0], expr.lift({random.randrange(1 << width)}, types.Uint({width})))"
        values = [f"expr.lift({random.random() < 0.5})", f"c[{random.randrange(self.bits)}]", self.expression()]
        text = random.choice([into_register, *(f"qc.store(c[{bit}], {value})" for value in values)])
        gate = Line(self.conditional_line())
        match random.randrange(5):
            case 0:
                return Line(f"with qc.if_test({self.expression()}):", (gate, Line(text)))
            case 1:
                body = (Line(self.measurement()), Line(text)) if random.random() < 0.5 else (gate, Line(text))
                return Line(f"with qc.for_loop(range({random.randint(1, 2)})):", body)
            case _:
                return Line(text)

    def expression(self) -> str:
        """A condition as a classical expression."""
        random = self.random
        a, b = (f"c[{random.randrange(self.bits)}]" for _ in range(2))
        return random.choice(
            [
                f"expr.bit_xor({a}, {b})",
                f"expr.logic_and({a}, expr.logic_not({b}))",
                f"expr.logic_or({a}, {b})",
                f"expr.less(r[0], {random.randint(1, 1 << min(self.bits, 2)) - 1})",
                "expr.not_equal(r[0], 0)",
            ]
        )
