"""How programs become circuits of the engine, and what the oracle makes of them; shared by the engine's kinds."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tools.fuzz.angles import bindings
from tools.fuzz.case import BIT, WIRE, Case, Line
from tools.fuzz.channels import Noise
from tools.fuzz.numbers import NAMES, misread
from tools.fuzz.oracle import Oracle

ENTRIES = ("run", "run", "run_batch")

FEW = 60
"""Shots that are compared one by one."""


def circuit_of(case: Case, lines: tuple[Line, ...] | None = None, values: Any = ()) -> Any:
    """The engine's circuit of a program."""
    from qsim_ex import CircuitBuilder

    return filled(CircuitBuilder(case.wires, case.bits), case, lines, values).build()


def filled(builder: Any, case: Case, lines: tuple[Line, ...] | None = None, values: Any = ()) -> Any:
    """A builder of the engine, or one of its kind, after all lines of a program."""
    import qsim_ex as noise

    some = case if lines is None else Case(case.kind, case.wires, case.bits, lines)
    some.run(NAMES | {"b": builder, "noise": noise, "q": range(case.wires), "c": range(case.bits), "v": values})
    return builder


def truth_of(case: Case, values: Any = (), lines: tuple[Line, ...] | None = None, oracle: Any = None) -> Any:
    """The oracle after all lines of a program."""
    oracle = Oracle(case.wires) if oracle is None else oracle
    some = case if lines is None else Case(case.kind, case.wires, case.bits, lines)
    some.run(NAMES | {"b": oracle, "noise": Noise, "q": range(case.wires), "c": range(case.bits), "v": values})
    return oracle


def terms(random: Random, wires: int, letters: str = "IXYZ") -> dict[str, float]:
    """A Pauli sum with real coefficients; letter j of a string acts on wire j."""
    count = random.randint(1, 3)
    return {"".join(random.choice(letters) for _ in range(wires)): random.uniform(-2, 2) for _ in range(count)}


def pauli_sum(found: dict[str, float]) -> Any:
    """The engine's observable."""
    from qsim_ex import PauliString, PauliSum

    return PauliSum(tuple(PauliString.parse(text, range(len(text)), number) for text, number in found.items()))


def values_of(case: Case) -> Any:
    """The numbers of all bindings, [rows, values]."""
    ask = case.ask
    return bindings(ask["seed"], ask["rows"], ask["values"], is_special=ask.get("sweep", False))


def one_number(case: Case) -> bool:
    """Whether one random number chooses all wires, so that shots do not depend on how a placement parts a circuit."""
    from qsim_ex import thresholds

    return case.wires <= min(int(thresholds.now.chosen_wires), int(thresholds.now.wires_for_a_number))


# --- readout errors ---------------------------------------------------------------------------------------------------


def measurements(lines: tuple[Line, ...]) -> Iterator[tuple[list[int], list[int]]]:
    """The wires and classical bits of every measurement of a program."""
    for line in lines:
        if line.text.startswith("b.measure"):
            yield [int(k) for k in WIRE.findall(line.text)], [int(k) for k in BIT.findall(line.text)]
        yield from measurements(line.body)


def has_conditions(lines: tuple[Line, ...]) -> bool:
    """Whether a program asks classical bits."""
    return any(line.text.startswith("with") for line in lines)


def draw_readout(random: Random, lines: tuple[Line, ...]) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Groups of measured bits that are misread together, each with the seed of its matrix."""
    written = sorted({bit for _, bits in measurements(lines) for bit in bits})
    random.shuffle(written)
    groups = []
    while written and random.random() < 0.8:
        size = 1 if has_conditions(lines) else random.choice([1, 1, 2])
        groups.append((tuple(written[:size]), random.randrange(50)))
        written = written[size:]
    return tuple(groups)


def readout_of(case: Case) -> Any:
    """The engine's readout errors, those of bits among them that nothing measures."""
    from qsim_ex.circuit.noise.readout import ReadoutError

    written = {bit for _, bits in measurements(case.program) for bit in bits}
    groups = [one for one in case.ask.get("readout", ()) if written.isdisjoint(one[0]) or written.issuperset(one[0])]
    return tuple(ReadoutError(tuple(bits), misread(len(bits), seed)) for bits, seed in groups)


def misread_groups(case: Case) -> list[tuple[tuple[int, ...], int]]:
    """The groups of misread bits that are measured, which a smaller program may no longer do."""
    written = {bit for _, bits in measurements(case.program) for bit in bits}
    return [(bits, seed) for bits, seed in case.ask.get("readout", ()) if written.issuperset(bits)]


def distribution_of(case: Case, values: Any = ()) -> tuple[Oracle, dict[int, float]]:
    """The oracle at the end of a program, and the probability of every value of the classical bits."""
    groups = [(bits, misread(len(bits), seed)) for bits, seed in misread_groups(case)]
    early = has_conditions(case.program)  # a measurement writes the misread bit, and conditions see that one
    oracle = Oracle(case.wires, {bits[0]: matrix for bits, matrix in groups} if early else {})
    truth_of(case, values, oracle=oracle)
    return oracle, oracle.distribution(() if early else groups)
