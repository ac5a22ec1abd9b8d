"""The kind about Cirq's dynamic circuits: subcircuits in one another that repeat, also until a key says so.

The records of all keys are compared, whose oracle follows every way through the circuit: a store of classical data with
the mixed state that belongs to it, in which conditions and mapped subcircuits are Cirq's own.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import cirq
import numpy as np
import sympy

from qsim_ex.errors import NotSupported
from tools.fuzz import compare
from tools.fuzz.case import Case, Line
from tools.fuzz.cirq_kinds import simulator_of
from tools.fuzz.cirq_programs import CirqDraw
from tools.fuzz.kinds import Kind
from tools.fuzz.numbers import NAMES
from tools.fuzz.options import options
from tools.fuzz.oracle import Oracle

MOST_WAYS = 600
"""Circuits with more ways are not followed."""

_LEFT = 1e-3
"""A loop is left where less of a circuit is still in it."""

Records = tuple[tuple[str, tuple[tuple[int, ...], ...]], ...]
"""Key -> the bits of each of its instances; instances of zeros at the end, which pad shorter records, are left out."""


def part(
    around: cirq.Circuit, qubits: Sequence[cirq.Qid], until: tuple[str, int] | None = None, **how: Any
) -> Iterator[cirq.Circuit]:
    """Yield a circuit to append to, and then append it as a subcircuit; until: a coin's key, and what ends the loop."""
    inner = cirq.Circuit()
    yield inner
    if until is not None:
        key, end = until
        inner.append([cirq.reset(qubits[0]), cirq.H(qubits[0]), cirq.measure(qubits[0], key=key)])
        how |= {"repeat_until": cirq.SympyCondition(sympy.Eq(sympy.Symbol(key), end)), "use_repetition_ids": False}
    around.append(cirq.CircuitOperation(inner.freeze(), **how))


class DynamicDraw(CirqDraw):
    """A source of subcircuits; scope: the keys that a condition may ask, with the bits of each."""

    def __init__(self, random: Random, wires: int) -> None:
        super().__init__(random, wires, 0)
        self.scope: dict[str, int] = {}
        self.own: list[str] = []  # those of the present subcircuit
        self.names = self.measured = 0

    def new(self, size: int) -> str:
        """A key that is new in its subcircuit, or measured again."""
        again = [key for key in self.own if self.scope.get(key) == size and ":" not in key]
        if again and self.random.random() < 0.3:
            return self.random.choice(again)
        self.names += 1
        self.own.append(f"k{self.names}")
        self.scope[self.own[-1]] = size
        return self.own[-1]

    def measurement(self) -> str:
        """A measurement, inverted here and there, or one of a Pauli product."""
        random = self.random
        if self.measured >= 5:
            return self.unitary_line()
        self.measured += 1
        wires = self.some(random.randint(1, min(2, self.wires)))
        if random.random() < 0.2:
            letters = ", ".join(random.choice(["cirq.X", "cirq.Y", "cirq.Z"]) for _ in wires)
            return f"qc.append(cirq.PauliMeasurementGate([{letters}], key={self.new(1)!r})({self.star(wires)}))"
        inverted = f", invert_mask={tuple(random.random() < 0.5 for _ in wires)}" if random.random() < 0.3 else ""
        return f"qc.append(cirq.measure({self.star(wires)}, key={self.new(len(wires))!r}{inverted}))"

    def condition(self) -> str:
        """A condition on a key, or on two."""
        random = self.random
        name = random.choice([*self.scope])
        if ":" in name or random.random() < 0.3:
            return repr(name)
        some, other = (f"sympy.Symbol({one!r})" for one in (name, random.choice([*self.scope])))
        value = random.randrange(1 << self.scope[name])
        mask = f"bitmask={random.randint(1, 3)}, target_value={value}, equal_target={random.random() < 0.5}"
        found = [f"cirq.BitMaskKeyCondition({name!r}, {mask})", f"sympy.Eq({some}, {value})", f"{some} > {value}"]
        found.append(f"cirq.KeyCondition(cirq.MeasurementKey({name!r}), index=-1)")
        if ":" not in other:
            found += [f"sympy.Ne({some}, {other})", f"{some} + {other} > 1", f"sympy.Xor({some} > 0, {other} > 0)"]
        return random.choice(found)

    def conditional_line(self) -> str:
        """An operation under one condition or two."""
        if not self.scope:
            return self.unitary_line()
        conditions = ", ".join(self.condition() for _ in range(self.random.choice([1, 1, 2])))
        return f"qc.append(({self.operation()}).with_classical_controls({conditions}))"

    def lines(self, depth: int, longest: int) -> list[Line]:
        """Operations and subcircuits at some depth."""
        found: list[Line] = []
        kinds = [self.unitary_line, self.measurement, self.conditional_line, self.reset]
        for _ in range(self.random.randint(1, longest)):
            if depth < 2 and self.random.random() < 0.25:
                found.append(self.subcircuit(depth))
            else:
                found.append(Line(self.random.choices(kinds, [4, 3, 3, 0.5])[0]()))
        return [_at(one, depth) for one in found]

    def subcircuit(self, depth: int) -> Line:
        """A subcircuit that repeats, with names for its rounds or without, on other qubits here and there."""
        random, own, before = self.random, self.own, dict(self.scope)
        self.own = []
        body = tuple(self.lines(depth + 1, 3))
        how, prefix = random.choice(
            [("", ""), ("repetitions=2", "1:"), ("repetitions=2, use_repetition_ids=False", "")]
        )
        if random.random() < 0.35:
            self.own.append(f"u{self.names}_{depth}")
            self.scope[self.own[-1]] = 1
            how, prefix = f"until=({self.own[-1]!r}, {random.randrange(2)})", ""
        if random.random() < 0.3:
            to = random.sample(range(self.wires), self.wires)
            how += ", " * bool(how) + "qubit_map={" + ", ".join(f"q[{k}]: q[{w}]" for k, w in enumerate(to)) + "}"
        inner = {prefix + key: self.scope[key] for key in self.own}
        self.scope, self.own = before | inner, [*own, *inner]
        return Line(f"for qc{depth + 1} in part(qc, q{', ' * bool(how)}{how}):", body)


def _at(line: Line, depth: int) -> Line:
    """A line that appends to the circuit at its depth; its body is at its own already."""
    return Line(line.text.replace("qc.append", f"qc{depth}.append").replace("part(qc,", f"part(qc{depth},"), line.body)


def draw_dynamic(random: Random) -> Case:
    """A circuit with subcircuits in subcircuits, all of whose keys are compared."""
    wires = random.choice([1, 2, 3, 3])
    draw = DynamicDraw(random, wires)
    lines = [*draw.lines(0, 7), Line("qc0.append(cirq.measure(q[0], key='end'))")]
    ask = {"seed": random.randrange(1 << 30), "method": random.choice(["", "", "density_matrix"])}
    return Case("cirq-loops", wires, 0, tuple(lines), options(random, wires), ask)


@dataclass(slots=True)
class Way:
    """A way through a circuit: the records so far, and the mixed state, whose trace is how likely they are."""

    store: cirq.ClassicalDataDictionaryStore
    oracle: Oracle

    @property
    def weight(self) -> float:
        """How likely the way is."""
        return sum(float(np.vdot(state, state).real) for state in self.oracle.branches.values())

    def measured(self, operation: cirq.Operation, on: Sequence[int]) -> list[Way]:
        """The ways that a measurement leads to."""
        gate = operation.gate
        assert isinstance(gate, cirq.MeasurementGate)
        self.oracle.measure(on, range(len(on)))
        found = []
        for value, state in self.oracle.branches.items():
            way = Way(copy.deepcopy(self.store), Oracle(self.oracle.wires))
            way.oracle.branches = {0: state}
            bits = [value >> k & 1 ^ inverted for k, inverted in enumerate(gate.full_invert_mask())]
            way.store.record_measurement(cirq.measurement_key_obj(operation), bits, operation.qubits)
            found.append(way)
        return found


def ways_through(circuit: cirq.AbstractCircuit, qubits: Sequence[cirq.Qid]) -> list[Way]:
    """All ways through a circuit but the rounds of loops that are too improbable; raises `NotSupported` for many."""
    first = Way(cirq.ClassicalDataDictionaryStore(), Oracle(len(qubits)))
    return _walk(circuit.all_operations(), [first], {qubit: k for k, qubit in enumerate(qubits)})


def _walk(operations: Iterable[cirq.Operation], ways: list[Way], wire_of: Mapping[cirq.Qid, int]) -> list[Way]:
    for operation in operations:
        ways = _step(operation.untagged, ways, wire_of)
        if len(ways) > MOST_WAYS:
            raise NotSupported(f"expected at most {MOST_WAYS} ways through a circuit, got more")
    return ways


def _step(operation: cirq.Operation, ways: list[Way], wire_of: Mapping[cirq.Qid, int]) -> list[Way]:
    """Follow all ways through an operation."""
    if not ways:
        return []
    if isinstance(operation, cirq.ClassicallyControlledOperation):
        holds = [all(one.resolve(way.store) for one in operation.classical_controls) for way in ways]
        inner = operation.without_classical_controls()
        asked = [way for way, held in zip(ways, holds, strict=True) if held]
        return _step(inner, asked, wire_of) + [way for way, held in zip(ways, holds, strict=True) if not held]
    if isinstance(operation, cirq.CircuitOperation):
        until = operation._mapped_repeat_until
        if until is None:
            return _walk(operation.mapped_circuit().all_operations(), ways, wire_of)
        left: list[Way] = []
        body = list(operation._mapped_single_loop().all_operations())
        while sum(way.weight for way in ways) > _LEFT:
            ways = _walk(body, ways, wire_of)
            left += [way for way in ways if until.resolve(way.store)]
            ways = [way for way in ways if not until.resolve(way.store)]
        return left
    on = [wire_of[qubit] for qubit in operation.qubits]
    if isinstance(operation.gate, cirq.MeasurementGate):
        return [found for way in ways for found in way.measured(operation, on)]
    if isinstance(operation.gate, cirq.PauliMeasurementGate):
        return _walk(cirq.decompose_once(operation), ways, wire_of)
    if cirq.has_unitary(operation):
        for way in ways:
            way.oracle.unitary(cirq.unitary(operation), on[::-1])
    else:
        for way in ways:
            way.oracle.channel(np.array(cirq.kraus(operation)), on[::-1])
    return ways


def _records(instances: Mapping[str, Sequence[Sequence[int]]]) -> Records:
    found = []
    for key, bits in sorted(instances.items()):
        rows = [tuple(map(int, row)) for row in bits]
        while rows and not any(rows[-1]):
            rows.pop()
        if rows:
            found.append((key, tuple(rows)))
    return tuple(found)


def check_dynamic(case: Case) -> str | None:
    """Records of all keys come from the distribution over every way through a circuit."""
    qubits: list[cirq.Qid] = list(cirq.LineQubit.range(case.wires))
    circuit = cirq.Circuit(cirq.I.on_each(*qubits))
    case.run(NAMES | {"cirq": cirq, "sympy": sympy, "qc0": circuit, "q": qubits, "part": part})
    try:
        ways = ways_through(circuit, qubits)
    except ValueError as error:  # of a case that was made smaller, or asks a key under another subcircuit's name
        raise NotSupported(f"expected conditions on keys in scope, got {error}") from error
    numbers: dict[Records, int] = {}
    expected: dict[int, float] = {}
    for way in ways:
        record = _records({str(key): bits for key, bits in way.store.records.items()})
        value = numbers.setdefault(record, len(numbers))
        expected[value] = expected.get(value, 0.0) + way.weight
    expected[len(numbers)] = max(1 - sum(expected.values()), 1e-9)  # what is left in loops
    more = {"method": case.ask["method"]} if case.ask["method"] else {}

    def draw(shots: int, seed: int) -> dict[int, int]:
        records = simulator_of(case, seed=seed, **more).run(circuit, repetitions=shots).records
        found: dict[int, int] = {}
        for shot in range(shots):
            value = numbers.get(_records({key: bits[shot] for key, bits in records.items()}), len(numbers))
            found[value] = found.get(value, 0) + 1
        return found

    distribution, bits = compare.rounded(expected, case.options), len(numbers).bit_length()
    return compare.samples("records", draw, distribution, bits, case.ask["seed"], compare.shots_of(case.options))


KINDS = [Kind("cirq-loops", draw_dynamic, check_dynamic, 1)]
