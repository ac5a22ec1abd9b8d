"""The kinds about loops: blocks, rounds, variables and expressions, with measurements and noise anywhere in them."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from tools.fuzz import compare, programs
from tools.fuzz.case import Case, Line
from tools.fuzz.channels import Noise
from tools.fuzz.engine import ENTRIES, FEW, pauli_sum, readout_of
from tools.fuzz.engine_runs import ran, wrong_elsewhere
from tools.fuzz.kinds import Kind
from tools.fuzz.loop_oracle import BINARY, LoopOracle, constant
from tools.fuzz.numbers import NAMES, misread
from tools.fuzz.options import devices, options, tolerance
from tools.fuzz.oracle import Oracle

MOST_ROUNDS = 4
"""The rounds of a drawn loop; a variable counts them."""

WIDTHS = (1, 2, 3, 5, 8, 16, 63, 64, 65, 90)


class _Grouped(programs.Draw):
    """Draws measurements that measure bits of one readout error together; groups: of one bit or two."""

    def __init__(self, random: Random, wires: int, bits: int) -> None:
        super().__init__(random, wires, bits)
        order = random.sample(range(bits), bits)
        self.groups: list[tuple[int, ...]] = []
        while order:
            size = 2 if wires > 1 and random.random() < 0.3 else 1
            self.groups.append(tuple(order[:size]))
            order = order[size:]

    def measurement(self, most: int = 2) -> str:
        """A measurement of all bits of a group or two."""
        clbits: list[int] = []
        for group in self.random.sample(self.groups, self.random.randint(1, min(2, len(self.groups)))):
            clbits += group if len(clbits) + len(group) <= min(self.wires, max(most, len(group))) else ()
        return f"b.measure({self.on(self.some(len(clbits)))}, {self.into(self.random.sample(clbits, len(clbits)))})"

    def readout(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """Readout errors of some of the groups, each with the seed of its matrix."""
        return tuple((group, self.random.randrange(50)) for group in self.groups if self.random.random() < 0.7)


class _Loops:
    """Draws blocks and loops; every loop has a variable of its own that counts its rounds."""

    def __init__(self, draw: _Grouped, noisy: bool) -> None:
        self.draw = draw
        self.random = draw.random
        self.noisy = noisy
        self.variables: list[tuple[str, int]] = []
        self.declared: list[Line] = []

    def variable(self, width: int) -> str:
        """The name of a new variable."""
        name = f"x{len(self.declared)}"
        self.declared.append(Line(f"{name} = b.variable({width})"))
        return name

    def lines(self, depth: int, longest: int, around: tuple[str, ...] = ()) -> list[Line]:
        """Statements at some depth; around: 'loop' or 'once' for each block that may be left."""
        random = self.random
        found: list[Line] = []
        for _ in range(random.randint(1, longest)):
            kinds = [self.plain, self.store]
            weights = [5.0, 1.2]
            if depth < 3:
                kinds += [lambda: self.branch(depth, around), lambda: self.loop(depth, around)]
                weights += [2.0, 1.2]
            found += random.choices(kinds, weights)[0]()
        if around and random.random() < 0.4:
            found += self.leave(around)
        return found

    def plain(self) -> list[Line]:
        """A statement without a block of its own, or gates under a condition."""
        draw, random = self.draw, self.random
        weights = [4, 3, 0.7, 1.2, 1.0 if self.noisy else 0.0]
        kinds = [draw.unitary_line, draw.measurement, draw.reset, draw.conditional, draw.channel]
        found = random.choices(kinds, weights)[0]()
        return [found if isinstance(found, Line) else Line(found)]

    def store(self) -> list[Line]:
        """A store into a variable or classical bits."""
        random = self.random
        if self.variables and random.random() < 0.7:
            name, width = random.choice(self.variables)
            return [Line(f"b.store({name}, {self.expression(width)})")]
        bits = self.some_bits()
        return [Line(f"b.store({bits}, {self.expression(bits.count('c['))})")]

    def overwritten(self) -> list[Line]:
        """Measurements, and stores into bits among them, with nothing else behind them but a branch now and then."""
        random, found = self.random, []
        for _ in range(random.randint(1, 4)):
            bits = self.some_bits()
            store = Line(f"b.store({bits}, {self.expression(bits.count('c['))})")
            gate = Line(self.draw.conditional_line())
            body = random.choice([store, gate, gate])
            under = Line(f"with b.branch({self.holds()}):", (body,))
            found.append(random.choices([store, Line(self.draw.measurement(4)), under], [2, 2, 1])[0])
        return found

    def some_bits(self) -> str:
        """The value of some classical bits."""
        count = self.random.randint(1, self.draw.bits)
        return f"b.bits({self.draw.into(self.random.sample(range(self.draw.bits), count))})"

    def expression(self, width: int, depth: int = 0) -> str:
        """An expression of a width."""
        random = self.random
        if depth > 2 or random.random() < 0.3:
            known = [name for name, own in self.variables if own == width]
            if known and random.random() < 0.5:
                return random.choice(known)
            if random.random() < 0.5:
                return f"{self.some_bits()}.cast({width})"
            return f"k({random.choice([0, 1, random.getrandbits(width)])}, {width})"
        if random.random() < 0.2:
            return f"{self.expression(width, depth + 1)}.unary({random.choice(['invert', 'negate'])!r})"
        if random.random() < 0.25:
            return f"{self.expression(random.choice(WIDTHS), depth + 1)}.cast({width})"
        arithmetic = ("and", "or", "xor", "shift_left", "shift_right", "add", "subtract", "multiply", "divide")
        op = random.choice(arithmetic)
        left, right = self.expression(width, depth + 1), self.expression(width, depth + 1)
        return f"{left}.binary({op!r}, {right})"

    def holds(self) -> str:
        """A condition."""
        random = self.random
        if random.random() < 0.4:
            return self.some_bits()
        width = random.choice(WIDTHS)
        compared = random.choice([op for op in BINARY if op not in ("add", "multiply", "divide")])
        text = f"{self.expression(width)}.binary({compared!r}, {self.expression(width)})"
        return text + (".unary('not', 1)" if random.random() < 0.2 else "")

    def branch(self, depth: int, around: tuple[str, ...]) -> list[Line]:
        """A block under a condition, with or without its other part."""
        body = self.lines(depth + 1, 3, around)
        if self.random.random() < 0.4:
            body += [Line("b.otherwise()"), *self.lines(depth + 1, 3, around)]
        return [Line(f"with b.branch({self.holds()}):", tuple(body))]

    def loop(self, depth: int, around: tuple[str, ...]) -> list[Line]:
        """A loop of a few rounds, or a block that is done once."""
        if self.random.random() < 0.2:
            return [Line("with b.once():", tuple(self.lines(depth + 1, 3, ("once", *around))))]
        counter, most = self.variable(4), self.random.randint(1, MOST_ROUNDS)
        body = self.lines(depth + 1, 4, ("loop", *around))
        count = Line(f"b.store({counter}, {counter}.binary('add', k(1, 4)))")
        begin, within = Line(f"b.store({counter}, k(0, 4))"), f"{counter}.binary('less', k({most}, 4))"
        if self.random.random() < 0.3:
            end = Line(f"with b.branch({counter}.binary('greater_equal', k({most}, 4))):", (Line("b.leave()"),))
            return [begin, Line("with b.loop():", (count, end, *body))]
        more = f".binary('both', {self.holds()})" if self.random.random() < 0.6 else ""
        return [begin, Line(f"with b.loop({within}{more}):", (count, *body))]

    def leave(self, around: tuple[str, ...]) -> list[Line]:
        """The end of a loop or a round, mostly under a condition."""
        text = f"b.leave({self.random.randrange(len(around))})"
        if around[0] == "loop" and self.random.random() < 0.4:
            text = "b.next_round()"
        return [Line(f"with b.branch({self.holds()}):", (Line(text),))] if self.random.random() < 0.85 else [Line(text)]


def draw_loops(random: Random) -> Case:
    """Blocks and loops among gates, measurements, resets, conditions and channels, and a measurement at the end."""
    wires = random.choice([1, 2, 2, 3, 3, 4])
    draw = _Grouped(random, wires, random.randint(1, 4))
    loops = _Loops(draw, noisy=random.random() < 0.5)
    for _ in range(random.choice([0, 1, 1, 2])):
        width = random.choice(WIDTHS)
        loops.variables.append((loops.variable(width), width))
    lines = loops.lines(0, 6) + loops.loop(0, ())
    if random.random() < 0.7:
        lines.append(Line(draw.measurement(4)))
    if random.random() < 0.5:
        lines += loops.overwritten()
    program = (*loops.declared, Line("b.measure([], [])"), *lines)
    double = random.random() < 0.7
    ask = {
        "entry": random.choice(ENTRIES),
        "seed": random.randrange(1 << 40),
        "readout": draw.readout() if random.random() < 0.5 else (),
        "elsewhere": options(random, wires, double=True) if double else None,
    }
    return Case("loops", wires, draw.bits, program, options(random, wires, double=double), ask)


def built(case: Case) -> Any:
    """The engine's circuit of a program."""
    import qsim_ex as noise
    from qsim_ex import CircuitBuilder
    from qsim_ex.circuit.classical import Expression

    builder, k = CircuitBuilder(case.wires, case.bits), Expression.constant
    case.run(NAMES | {"b": builder, "noise": noise, "q": range(case.wires), "c": range(case.bits), "k": k})
    return builder.build()


def truth(case: Case) -> Oracle:
    """The oracle at the end of a program."""
    groups = {bits: misread(len(bits), seed) for bits, seed in case.ask["readout"]}
    oracle = LoopOracle(case.wires, groups)
    case.run(NAMES | {"b": oracle, "noise": Noise, "q": range(case.wires), "c": range(case.bits), "k": constant})
    return oracle.follow()


def check_loops(case: Case) -> str | None:
    """Shots come from the oracle's distribution, and the same ones elsewhere."""
    made = built(case)
    expected = truth(case).distribution()
    wrong = compare.samples(
        f"shots of {case.ask['entry']}",
        lambda shots, own: ran(case, made, shots, own).counts(),
        compare.rounded(expected, case.options),
        case.bits,
        case.ask["seed"],
        compare.shots_of(case.options),
    )
    if wrong or case.ask["elsewhere"] is None:
        return wrong
    return wrong_elsewhere(case, made, ran(case, made, FEW, case.ask["seed"]))


# --- density matrices -------------------------------------------------------------------------------------------------


def draw_density(random: Random) -> Case:
    """The same programs with density matrices in one piece, on up to three wires."""
    case = draw_loops(random)
    while case.wires > 3:
        case = draw_loops(random)
    chosen = {"device": random.choice(devices()), "method": "density_matrix", "seed": random.randrange(1 << 30)}
    if random.random() < 0.3:
        chosen["precision"] = "single"
    observable = {"".join(random.choice("IZ") for _ in range(case.wires)): round(random.uniform(-1, 1), 2)}
    ask = {"seed": case.ask["seed"], "readout": case.ask["readout"], "observable": observable}
    return replace(case, kind="density loops", options=chosen, ask=ask)


def check_density(case: Case) -> str | None:
    """The density matrix at the end is the oracle's, for each value of the bits, and shots come from it."""
    from qsim_ex import Circuit, CircuitBuilder, Options, Simulator

    made, oracle, within = built(case), truth(case), 10 * tolerance(case.options)
    simulator = Simulator(Options(**case.options))
    ends = CircuitBuilder(case.wires, case.bits).save("end", "density_matrix", how="c_average").build().instructions
    saving = Circuit(made.num_qubits, made.num_clbits, (*made.instructions, *ends), made.operands)
    readout, observable = readout_of(case), case.ask["observable"]
    result = simulator.run_batch(saving, observables=[pauli_sum(observable)], readout=readout)
    wrong = compare.arrays("expectation value", result.values[0, 0], oracle.expectation(observable).real, within)
    found, weights = result[0].saved["end"], {}
    for bits, state in oracle.branches.items():
        weights[bits] = weight = float(np.vdot(state, state).real)
        if weight > 1e-6:
            each = _matrix(state, case.wires) / weight
            mine = found.get(bits, np.nan)
            wrong = wrong or compare.arrays(f"state where bits are {bits:b}", mine, each, within / weight)
    extra = [bits for bits in found if bits not in weights]
    if extra and case.options.get("precision") != "single":
        wrong = wrong or f"values for bits {extra}, which never occur"
    return wrong or compare.samples(
        "shots of a density matrix",
        lambda shots, own: simulator.run(made, shots=shots, seed=own, readout=readout).counts(),
        compare.rounded(oracle.distribution(), case.options),
        case.bits,
        case.ask["seed"],
        compare.shots_of(case.options),
    )


def _matrix(state: Any, wires: int) -> Any:
    """The density matrix of a state of the oracle, index bit w being wire w."""
    flat = np.asarray(state).reshape(1 << wires, -1)
    return flat @ flat.conj().T


KINDS = [Kind("loops", draw_loops, check_loops, 2), Kind("density loops", draw_density, check_density, 1.5)]
