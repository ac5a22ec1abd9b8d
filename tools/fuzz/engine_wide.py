"""The kind about wide circuits of the engine: idle wires, and parts that are simulated one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np

from tools.fuzz import compare
from tools.fuzz.case import Case, Line
from tools.fuzz.channels import Noise
from tools.fuzz.engine import (
    FEW,
    has_conditions,
    measurements,
    misread_groups,
    one_number,
    pauli_sum,
    readout_of,
    values_of,
)
from tools.fuzz.kinds import Kind
from tools.fuzz.numbers import NAMES, misread
from tools.fuzz.options import NARROW, options, tolerance
from tools.fuzz.product_oracle import Letters, ProductOracle, times
from tools.fuzz.wide_programs import WideDraw

TOGETHER = 9
"""Wires that lines mix, where something is saved: they are simulated together then."""

WIDEST = 16
"""The most wires of a part that is run."""

OUTCOMES = 64
"""Factors are compared together while they have so few outcomes."""


def draw_wide(random: Random) -> Case:
    """A wide program with readout errors, saves, observables and bindings, and tables of few wires now and then."""
    chance, observed = random.random() < 0.7, random.random() < 0.4
    draw = WideDraw(random, bound=random.random() < 0.25)
    measured = not observed or random.random() < 0.3
    lines = draw.lines(noisy=chance and random.random() < 0.5, chance=chance, measured=measured)
    few = draw.wires - len(draw.idle) <= TOGETHER
    for number in range(random.choice([0, 0, 0, 1, 2]) if few else 0):
        lines.insert(random.randrange(len(lines) + 1), Line(_save(random, draw.wires, f"s{number}")))
    double, program = random.random() < 0.7, tuple(lines)
    ask = {
        "seed": random.randrange(1 << 30),
        "rows": random.randint(1, 3) if draw.values else 1,
        "values": draw.values,
        "readout": _readout(random, program) if random.random() < 0.25 else (),
        "observables": tuple(_terms(random, draw, program) for _ in range(random.randint(1, 2))) if observed else (),
        "tables": (random.randint(0, 3), 1 << random.randint(4, 12)) if random.random() < 0.4 else None,
        "thresholds": {"narrow": random.randint(0, 5), "gain": 1} if random.random() < 0.7 else {},
    }
    return Case("wide", draw.wires, draw.bits, program, options(random, draw.wires, double=double), ask)


def _save(random: Random, wires: int, label: str) -> str:
    """A save of what a wire or two say."""
    on = random.sample(range(wires), random.randint(1, 2))
    text = "[" + ", ".join(f"q[{wire}]" for wire in on) + "]"
    if random.random() < 0.5:
        return f"b.save({label!r}, 'probabilities', wires={text})"
    letters = "".join(random.choice("XYZ") for _ in on)
    return f"b.save({label!r}, 'expectation_value', wires={text}, observable=paulis({letters}=0.7))"


def _readout(random: Random, lines: tuple[Line, ...]) -> tuple[tuple[tuple[int, ...], int], ...]:
    """A few groups of misread bits, at most one of them of two bits, each with the seed of its matrix."""
    written = sorted({bit for _, bits in measurements(lines) for bit in bits})
    random.shuffle(written)
    sizes = [1 if has_conditions(lines) else random.choice([1, 2]), 1, 1][: random.randint(1, 3)]
    found = [tuple(written.pop() for _ in range(min(size, len(written)))) for size in sizes]
    return tuple((group, random.randrange(50)) for group in found if group)


def _terms(random: Random, draw: WideDraw, lines: tuple[Line, ...]) -> tuple[tuple[float, str], ...]:
    """A Pauli sum on some wires of some parts and on idle ones, as coefficients and texts such as "X3 Z70".

    Measurements at the end are not made before values are taken, so measured wires have no other letter than Z.
    """
    fixed = {wire for on, _ in measurements(lines) for wire in on}
    terms = []
    for _ in range(random.randint(1, 3)):
        live = draw.live()
        on = random.sample(live, random.randint(0, min(len(live), 4)))
        on += random.sample(draw.idle, random.choice([0, 0, 1]))
        letters = (
            "Z" if wire in fixed or (wire in draw.idle and random.random() < 0.8) else random.choice("XYZ")
            for wire in on
        )
        terms.append(
            (round(random.uniform(-2, 2), 3), " ".join(f"{a}{wire}" for a, wire in zip(letters, on, strict=True)))
        )
    return tuple(terms)


# --- what is compared -------------------------------------------------------------------------------------------------


def check_wide(case: Case) -> str | None:
    """Bits, values and saves of wide circuits are those of a product of oracles; bits also with `separate=False`."""
    with _tables(case.ask["tables"]):
        runs = _Runs(case)
        _check_size(case, runs.circuits[0].structure)
        return runs.wrong()


def _check_size(case: Case, structure: Any) -> None:
    """Refuse a case whose parts are joined where the oracle sees a wire that is |0⟩ and will be mixed later."""
    from qsim_ex.errors import NotSupported
    from qsim_ex.program.divide import groups_of
    from qsim_ex.program.separate import separation_of

    found = separation_of(structure, bool(case.ask["observables"]), groups_of(structure, readout_of(case)))
    widest = structure.num_qubits if found is None else max(len(part.wires) for part in found.parts)
    if widest > WIDEST:
        raise NotSupported(f"a part has {widest} wires")


@contextmanager
def _tables(sizes: tuple[int, int] | None) -> Iterator[None]:
    """Keep tables of so many wires and so many probabilities at most meanwhile."""
    if sizes is None:
        yield
        return
    from qsim_ex import thresholds

    with thresholds.instead(table_wires=sizes[0], table_size=sizes[1]):
        yield


class _Runs:
    """The circuits of a case, one for each binding, and what comes out for one of them.

    k: the binding that is compared with the oracle.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        numbers = values_of(case)
        self.circuits = [_circuit(case, values) for values in numbers]
        self.k = case.ask["seed"] % len(numbers)
        misreadings = [(bits, misread(len(bits), seed)) for bits, seed in misread_groups(case)]
        early = has_conditions(case.program)  # a measurement writes the misread bit, and conditions see that one
        self.oracle = ProductOracle({bits[0]: matrix for bits, matrix in misreadings} if early else {})
        _read(case, numbers[self.k], self.oracle, Noise, dict)
        self.late = () if early else misreadings
        self.sums = [[(number, _letters(text)) for number, text in terms] for terms in case.ask["observables"]]
        self.measures = any(measurements(case.program))
        self.run = lru_cache(maxsize=8)(self._run)

    def wrong(self) -> str | None:
        """Say what differs, or None."""
        return self._bits_of_others() or self._distributions() or self._values() or self._saves()

    def _run(self, count: int, seed: int, separate: bool = True, tables: bool = True) -> Any:
        """Return the result of all bindings with so many shots, or trajectories if nothing is measured."""
        from qsim_ex import Options, Simulator

        case, operands = self.case, np.concatenate([circuit.operands for circuit in self.circuits])
        asked: dict[str, Any] = (
            {"shots": count, "readout": readout_of(case)} if self.measures else {"trajectories": count}
        )
        simulator = Simulator(Options(**case.options, separate=separate))
        with _tables(case.ask["tables"] if tables else None):
            return simulator.run_batch(
                self.circuits[0],
                operands,
                seeds=range(seed, seed + len(operands)),
                observables=[_pauli_sum(terms) for terms in self.sums],
                **asked,
            )

    def _bits_of_others(self) -> str | None:
        """Compare bits with those of all wires together, of other tables, and of a run of one binding alone."""
        from qsim_ex import Options, Simulator

        case, seed = self.case, self.case.ask["seed"]
        if not self.measures:
            return None
        found = self.run(FEW, seed)[self.k].packed
        alone = Simulator(Options(**case.options)).run(
            self.circuits[self.k], shots=FEW, seed=seed + self.k, readout=readout_of(case)
        )
        double = case.options.get("precision", "double") == "double"
        # One number chooses up to 40 wires, so another rounding of single precision shows, as in what is written anew.
        written = {"written_microseconds", "gate_nanoseconds"} & set(case.ask.get("thresholds", {}))
        same = not self.sums and (double or not written)
        if same and (wrong := compare.equal("bits of a binding alone", alone.packed, found)):
            return wrong
        if not double:
            return None
        if case.wires <= NARROW:
            if not one_number(case):
                return None
            whole = self.run(FEW, seed, separate=False)[self.k].packed
            return compare.equal("bits with separate=False", found, whole)
        return compare.equal("bits with other tables", found, self.run(FEW, seed, tables=False)[self.k].packed)

    def _distributions(self) -> str | None:
        """Compare the bits with their distributions; independent ones together while they have few values."""
        if not self.measures:
            return None
        found = self.oracle.distributions(self.late)
        every = {bit for bits, _ in found for bit in bits}
        found.append((tuple(bit for bit in range(self.case.bits) if bit not in every), {0: 1.0}))  # never written
        Random(self.case.ask["seed"]).shuffle(found)
        bits, expected = (), {0: 1.0}
        together = []
        for own, distribution in found:
            if len(expected) * len(distribution) > OUTCOMES:
                together.append((bits, expected))
                bits, expected = (), {0: 1.0}
            bits, expected = (*bits, *own), times(expected, distribution)
        for some, distribution in (*together, (bits, expected)):
            numbered = {_taken(value, some): p for value, p in distribution.items()}
            wrong = compare.samples(
                f"classical bits {list(some)}",
                lambda shots, seed, some=some: self._counts(shots, seed, some),
                compare.rounded(numbered, self.case.options),
                len(some),
                self.case.ask["seed"],
                compare.shots_of(self.case.options),
            )
            if wrong:
                return wrong
        return None

    def _counts(self, shots: int, seed: int, bits: Sequence[int]) -> dict[int, int]:
        found: dict[int, int] = {}
        for value, count in self.run(shots, seed)[self.k].counts().items():
            found[_taken(value, bits)] = found.get(_taken(value, bits), 0) + count
        return found

    def _values(self) -> str | None:
        for number, terms in enumerate(self.sums):
            wrong = self._mean(
                f"value {number}",
                lambda result, number=number: result.values[self.k, number],
                self.oracle.mean(terms),
                sum(abs(coefficient) for coefficient, _ in terms),
            )
            if wrong:
                return wrong
        return None

    def _saves(self) -> str | None:
        for label, expected in self.oracle.values.items():
            for at in np.ndindex(expected.shape):
                wrong = self._mean(
                    f"saved {label!r}{list(at)}",
                    lambda result, label=label, at=at: result[self.k].saved[label][at],
                    float(expected[at]),
                    1.0,
                )
                if wrong:
                    return wrong
        return None

    def _mean(self, name: str, taken: Callable[[Any], Any], expected: float, largest: float) -> str | None:
        """Compare a number of the result, exactly where nothing is left to chance."""
        seed, within = self.case.ask["seed"], 10 * tolerance(self.case.options)
        first = self.run(FEW, seed)
        if first.trajectories is None:
            return compare.arrays(name, np.real(taken(first)), expected, within)
        return compare.means(
            name, lambda count, own: float(np.real(taken(self.run(count, own)))), expected, largest, seed, within
        )


def _circuit(case: Case, values: Any) -> Any:
    import qsim_ex as noise
    from qsim_ex import CircuitBuilder

    return _read(case, values, CircuitBuilder(case.wires, case.bits), noise, _paulis).build()


def _read(case: Case, values: Any, builder: Any, noise: Any, paulis: Any) -> Any:
    """A builder or an oracle after all lines of a program."""
    names = {"b": builder, "noise": noise, "paulis": paulis, "v": values}
    case.run(NAMES | names | {"q": range(case.wires), "c": range(case.bits)})
    return builder


def _paulis(**terms: float) -> Any:
    """The engine's observable of a save, whose letter k acts on its wire k."""
    return pauli_sum(terms)


def _pauli_sum(terms: Sequence[tuple[float, Letters]]) -> Any:
    from qsim_ex import PauliString, PauliSum

    return PauliSum(tuple(PauliString.parse("".join(on.values()), list(on), number) for number, on in terms))


def _letters(text: str) -> Letters:
    """The letters of a text such as "X3 Z70", by wire."""
    return {int(one[1:]): one[0] for one in text.split()}


def _taken(value: int, bits: Sequence[int]) -> int:
    """The value of some bits of a value."""
    return sum((value >> bit & 1) << k for k, bit in enumerate(bits))


KINDS = [Kind("wide", draw_wide, check_wide, 2)]
