"""The kind about Qiskit's dynamic circuits: blocks, loops, variables and expressions, in one another and transpiled."""

from __future__ import annotations

from random import Random
from typing import Any

from qiskit import QuantumCircuit, transpile
from qiskit.circuit.classical import expr
from qiskit.transpiler.exceptions import TranspilerError

from tools.fuzz import compare
from tools.fuzz.case import Case, Line
from tools.fuzz.kinds import Kind
from tools.fuzz.options import options
from tools.fuzz.qiskit_kinds import circuit_of, counts_of
from tools.fuzz.qiskit_programs import QiskitDraw
from tools.fuzz.qiskit_ways import distribution_of

_WIDTH = 4
"""The width of the variables and of most expressions."""

_FLOW = ("if_else", "for_loop", "while_loop", "switch_case", "measure", "reset", "delay")
BASES = (
    ("rz", "sx", "x", "cz"),
    ("u", "cz"),
    ("r", "cz"),
    ("rx", "ry", "rz", "rzz"),
    ("h", "s", "sdg", "t", "tdg", "rz", "cx"),
)

_NOT_TRANSPILED = ("qc.add_var", "Var.new", "qc.store", "qc.box")
"""What Qiskit 2.6 transpiles into some bases alone: in others it ends in errors of its own."""

_NUMBERS = [name for name in ("bit_and", "bit_or", "bit_xor", "add", "sub", "mul") if hasattr(expr, name)]
_ORDERS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


class LoopsDraw(QiskitDraw):
    """A source of blocks and loops; names: how many names were given. variables: those that a store may write."""

    def __init__(self, random: Random, wires: int, bits: int) -> None:
        super().__init__(random, wires, bits)
        self.names = 0
        self.variables: list[str] = []
        self.sizes = [min(bits, 2), *([bits - 2] if bits > 2 else [])]

    def name(self, letter: str) -> str:
        """A new name."""
        self.names += 1
        return f"{letter}{self.names}"

    def variable(self) -> Line:
        """A new variable that begins with some number."""
        name = self.name("x")
        self.variables.append(name)
        return Line(f"{name} = qc.add_var({name!r}, expr.lift({self.random.randrange(16)}, types.Uint({_WIDTH})))")

    # --- expressions --------------------------------------------------------------------------------------------------

    def register(self) -> str:
        """A classical register."""
        return f"r[{self.random.randrange(len(self.sizes))}]"

    def number(self, depth: int = 0) -> str:
        """An expression that is an unsigned integer of the common width."""
        random, kind = self.random, f"types.Uint({_WIDTH})"
        leaves = [
            f"expr.lift({random.randrange(16)}, {kind})",
            f"expr.cast({self.register()}, {kind})",
            *self.variables,
        ]
        if depth > 1 or random.random() < 0.4:
            return random.choice(leaves)
        match random.randrange(5):
            case 0:
                return f"expr.bit_not({self.number(depth + 1)})"
            case 1:
                name = random.choice(["shift_left", "shift_right"])
                return f"expr.{name}({self.number(depth + 1)}, {random.randrange(5)})"
            case 2:
                return f"expr.cast({self.truth(depth + 1)}, {kind})"
            case _:
                return f"expr.{random.choice(_NUMBERS)}({self.number(depth + 1)}, {self.number(depth + 1)})"

    def truth(self, depth: int = 0) -> str:
        """An expression that holds or not; constants among them."""
        random, bit = self.random, f"c[{self.random.randrange(self.bits)}]"
        if depth > 1 or random.random() < 0.2:
            return random.choice([f"expr.lift({bit})", f"expr.lift({bit})", f"expr.lift({random.random() < 0.5})"])
        match random.randrange(5):
            case 0:
                return f"expr.{random.choice(['logic_not', 'bit_not'])}({self.truth(depth + 1)})"
            case 1:
                name = random.choice(["logic_and", "logic_or", "bit_xor", "bit_and", "equal", "not_equal"])
                return f"expr.{name}({self.truth(depth + 1)}, {self.truth(depth + 1)})"
            case 2:
                return f"expr.index({self.number(depth + 1)}, {random.randrange(_WIDTH)})"
            case _:
                return f"expr.{random.choice(_ORDERS)}({self.number(depth + 1)}, {self.number(depth + 1)})"

    def holds(self) -> str:
        """A condition: a bit, a register with its value, or an expression."""
        random = self.random
        pair = f"(c[{random.randrange(self.bits)}], {random.randrange(2)})"
        return random.choice([pair, f"({self.register()}, {random.randrange(2)})", self.truth(), self.truth()])

    # --- statements ---------------------------------------------------------------------------------------------------

    def lines(self, depth: int, longest: int, *, looped: bool = False) -> list[Line]:
        """Statements at some depth; looped: whether a loop is around them."""
        found: list[Line] = []
        weights = [5, 2.5, 0.7, 0.4, 1.2, 2.5, 1, 1.2, 0.7, 0.3] if depth < 3 else [5, 2, 0.7, 0.4, 1]
        for _ in range(self.random.randint(1, longest)):
            kind = self.random.choices(range(len(weights)), weights)[0]
            plain = (self.unitary_line, self.measurement, self.reset, self.begun, self.stored)
            if kind < len(plain):
                found.append(Line(plain[kind]()))
            else:
                found += (self.branch, self.switch, self.rounds, self.repeated, self.box)[kind - len(plain)](
                    depth, looped
                )
        if looped and self.random.random() < 0.3:
            leave = self.random.choice(["break_loop", "continue_loop"])
            found.append(Line(f"with qc.if_test({self.holds()}):", (Line(f"qc.{leave}()"),)))
        return found

    def body(self, depth: int, looped: bool) -> tuple[Line, ...]:
        """The body of a block."""
        return tuple(self.lines(depth + 1, 2, looped=looped))

    def begun(self) -> str:
        """A state on wires that may be in use."""
        k = self.random.randint(1, min(2, self.wires))
        return f"qc.initialize(vector({k}, {self.seed()}), {self.on(self.some(k))})"

    def stored(self) -> str:
        """A store into a variable, a bit, or a bit of a variable or a register."""
        random = self.random
        whole = [*self.variables, self.register()]
        texts = [f"qc.store(c[{random.randrange(self.bits)}], {self.truth()})"]
        texts += [f"qc.store({name}, {self.number()})" for name in self.variables]
        texts.append(f"qc.store(expr.index({random.choice(whole)}, 0), {self.truth()})")
        return random.choice(texts)

    def branch(self, depth: int, looped: bool) -> list[Line]:
        """An if, with an else or without."""
        if self.random.random() < 0.5:
            return [Line(f"with qc.if_test({self.holds()}):", self.body(depth, looped))]
        name = self.name("otherwise")
        first = Line(f"with qc.if_test({self.holds()}) as {name}:", self.body(depth, looped))
        return [first, Line(f"with {name}:", self.body(depth, looped))]

    def switch(self, depth: int, looped: bool) -> list[Line]:
        """A switch with a few cases, and a default here and there."""
        random, name = self.random, self.name("case")
        register = random.randrange(len(self.sizes))
        target, width = random.choice([(f"r[{register}]", self.sizes[register]), (self.number(), _WIDTH)])
        values = random.sample(range(1 << width), min(1 << width, 3))
        labels = random.choice([[values], [values[:1], values[1:]], [values[:2], ["DEFAULT"]], [["DEFAULT"]]])
        cases = []
        for some in labels:
            text = ", ".join(f"{name}.DEFAULT" if label == "DEFAULT" else str(label) for label in some)
            cases.append(Line(f"with {name}({text}):", self.body(depth, looped)))
        return [Line(f"with qc.switch({target}) as {name}:", tuple(cases))]

    def rounds(self, depth: int, looped: bool) -> list[Line]:  # noqa: ARG002
        """A loop over indices, with a parameter, a variable or neither."""
        random = self.random
        indices = random.choice([f"range({random.randint(0, 3)})", "range(3, 0, -1)", "(2, 0, 5)", "(1, 1)"])
        match random.randrange(3):
            case 0:
                name = self.name("turn")
                body = self.body(depth, True)
                if random.random() < 0.7:
                    body += (Line(f"qc.rx(0.4 * {name} + 0.1, {self.on(self.some(1))[1:-1]})"),)
                return [Line(f"{name} = Parameter({name!r})"), Line(f"with qc.for_loop({indices}, {name}):", body)]
            case 1:
                name, around, self.variables = self.name("index"), self.variables, []  # Qiskit has it name no others
                asked = Line(f"with qc.if_test(expr.less({name}, 2)):", self.body(depth + 1, False))
                body = (asked, *self.body(depth, True))
                self.variables = around
                declared = Line(f"{name} = expr.Var.new({name!r}, types.Uint(3))")
                return [declared, Line(f"with qc.for_loop({indices}, {name}):", body)]
            case _:
                return [Line(f"with qc.for_loop({indices}):", self.body(depth, True))]

    def repeated(self, depth: int, looped: bool) -> list[Line]:  # noqa: ARG002
        """A loop that a variable or a coin ends."""
        random = self.random
        if random.random() < 0.5:
            name, one = self.name("n"), f"expr.lift(1, types.Uint({_WIDTH}))"
            first = Line(f"{name} = qc.add_var({name!r}, expr.lift(0, types.Uint({_WIDTH})))")
            counted = Line(f"qc.store({name}, expr.bit_or(expr.shift_left({name}, 1), {one}))")
            most = random.choice([1, 3, 7])
            return [first, Line(f"with qc.while_loop(expr.less({name}, {most})):", (counted, *self.body(depth, True)))]
        bit, wire = f"c[{random.randrange(self.bits)}]", self.on(self.some(1))[1:-1]
        coin = (Line(f"qc.reset({wire})"), Line(f"qc.h({wire})"), Line(f"qc.measure({wire}, {bit})"))
        gate = (Line(self.conditional_line()),)
        return [Line(f"with qc.while_loop(({bit}, {random.randrange(2)})):", random.choice([gate + coin, coin + gate]))]

    def box(self, depth: int, looped: bool) -> list[Line]:  # noqa: ARG002
        """A box, out of which nothing leaves a loop."""
        return [Line("with qc.box():", self.body(depth, False))]


def draw_loops(random: Random) -> Case:
    """A circuit with blocks in blocks, all of whose bits are compared; as it is, or transpiled into a basis."""
    wires = random.choice([1, 2, 3, 3, 4])
    draw = LoopsDraw(random, wires, random.randint(1, 4))
    first = [draw.variable() for _ in range(random.choice([0, 0, 1, 2]))]
    lines = [*first, *draw.lines(0, 7)]
    lines += [Line(f"qc.measure(q[{wire}], c[{k}])") for k, wire in enumerate(draw.some(min(wires, draw.bits, 2)))]
    ask: dict[str, Any] = {"seed": random.randrange(1 << 40), "entry": random.choice(["backend", "job", "sampler"])}
    chosen = {"basis": random.choice(BASES), "level": random.randrange(4)} if random.random() < 0.4 else {}
    text = "\n".join(source for line in lines for source in line.source())
    if not any(word in text for word in _NOT_TRANSPILED):
        ask |= chosen
    return Case("qiskit-loops", wires, draw.bits, tuple(lines), options(random, wires), ask)


def check_loops(case: Case) -> str | None:
    """Counts of circuits with blocks and loops, also transpiled, come from every way through them by its definition."""
    circuit = circuit_of(case)
    expected = compare.rounded(distribution_of(circuit), case.options)
    made = _transpiled(case, circuit)
    first = compare.shots_of(case.options)
    return compare.samples(
        f"counts of the {case.ask['entry']}",
        lambda shots, seed: counts_of(case, made, None, shots, seed),
        expected,
        case.bits,
        case.ask["seed"],
        first,
    )


def _transpiled(case: Case, circuit: QuantumCircuit) -> QuantumCircuit:
    """The circuit in the basis of a case, or as it is where Qiskit has no way there."""
    if "basis" not in case.ask:
        return circuit
    names = [*case.ask["basis"], *_FLOW]
    try:
        return transpile(circuit, basis_gates=names, optimization_level=case.ask["level"], seed_transpiler=1)
    except TranspilerError:
        return circuit


KINDS = [Kind("qiskit-loops", draw_loops, check_loops, 1.5)]
