"""Plans of drawn circuits, which tests and campaigns check: `case` draws a circuit and a machine from a number alone.

A circuit has all kinds of gates, matrices, conditions, permutations, initial states and operations that are not
unitary; beside it are drawn the shape of a machine (or a real one of either precision), a layout to begin with, and
fresh index bits. Each 25th circuit is long and begins in |0…0⟩. Each fourth one is full of CX, and begins there or in a
state that is there, in turns; of these two in three have a plan in a CNOT frame wherever there is one (`plan_of`). Each
case is planned for a state on several levels, too, of which one in three takes every plan with far parities
(`staged_plan_of`).
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache
from typing import Any
from unittest.mock import patch

import numpy as np

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.ops import ALWAYS, Entry, Initialize, Op
from qsim_ex.errors import NotSupported
from qsim_ex.options.network import Layer
from qsim_ex.planning import rules
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Levels, Plan, Shape

REAL_SHAPES = (
    Shape(tile=12, registers=12, low=5, edge=0, most_blocks=3, dense=5, thin=7, item_work=2.0),
    Shape(tile=11, registers=11, low=4, edge=0, most_blocks=3, dense=5, thin=7, item_work=2.0),
    Shape(tile=12, registers=4, low=4, edge=4, most_blocks=None, dense=4, start=20),
    Shape(tile=12, registers=4, low=4, edge=4, most_blocks=None, dense=4, start=20, block=25.6, block_made=20),
    Shape(tile=11, registers=4, low=3, edge=3, most_blocks=None, dense=4, start=19, thin=7, balance=30.0),
)
"""The CPU and GPUs in single and double precision, written out: planning needs no device."""

LINEAR = 4
"""Each so many cases one is about plans in a CNOT frame."""

_LEAST_WIRES, _BITS_WITH_RANKS = 4, 2
"""The fewest wires of a state that is divided, and the fewest bits above its devices of which one may divide ranks."""

MOST_STAGES = 12
"""The most stages of a plan with far parities that is taken wherever there is one."""

_KRAUS = ("cccc", "cc0c", "r00r", "rr00", "0cc0")
_LETTERS = "01-ric"


def case(number: int) -> tuple[Circuit, dict[str, Any]]:
    """Return a circuit, and the arguments of `make_plan` beside its instructions."""
    circuit, given = _drawn(number)
    return circuit, {**given}


@lru_cache(maxsize=64)  # a case is asked for again by its plans, with and without each rule
def _drawn(number: int) -> tuple[Circuit, dict[str, Any]]:
    rng = np.random.default_rng(number)
    long = number % 25 == 24
    wide = long or rng.random() < 0.2
    n = int(rng.integers(14, 29)) if wide else int(rng.integers(1, 11))
    shape = REAL_SHAPES[rng.integers(len(REAL_SHAPES))] if wide or rng.random() < 0.3 else _shape(rng)
    shape = replace(shape, floats=number % 2 == 1, relabels=number % 5 != 4)
    if number % 3:  # several plans are made, and compared
        shape = replace(shape, counted=1.2 * shape.balance, exchanged=float(number % 4), start=min(shape.start, 15))
        shape = replace(shape, fewer=max(0, shape.low - number % 4), scattered=1.0 + 0.05 * (number % 5))
    linear = number % LINEAR == 1
    if linear:  # a tile of a small machine has room for the lowest bits of two sweeps, and is smaller than the state
        low = min(shape.low, shape.tile // 2)
        fewer = shape.fewer if shape.fewer < low else 0
        shape = replace(shape, linear=True, low=low, edge=min(shape.edge, low), fewer=fewer, elsewhere=number % 5 / 10)
        n = max(n, shape.tile + int(rng.integers(1, 6)))
    every = (1 << n) - 1
    fresh = [0, every, every, int(rng.integers(every + 1))][rng.integers(4)]
    start = Layout.identity(n)
    if rng.random() < 0.4:
        start = Layout(tuple(rng.permutation(n).tolist()), int(rng.integers(every + 1)) & ~fresh)
    gates = int(rng.integers(1, 400 if rng.random() < 0.1 else 60))
    if long:  # long enough that orders of the wires are tried, and that low bits float
        gates, fresh, start = int(rng.integers(300, 900)), every, Layout.identity(n)
    if linear:
        fresh = 0 if number % (2 * LINEAR) > LINEAR else every
        start = Layout(start.address, start.flip & ~fresh)
    made = _full_of_cx(rng, n, gates) if linear else _circuit(rng, n, gates)
    return made, {
        "num_wires": n,
        "start": start,
        "shape": shape,
        "fresh": fresh,
        "place": long or bool(rng.random() < 0.6),
    }


def staged_case(number: int) -> tuple[Circuit, dict[str, Any]] | None:
    """Return a case for a state on several levels, whose arguments `levels` are among; None for too few wires."""
    circuit, given = case(number)
    if given["num_wires"] < _LEAST_WIRES:
        return None
    given["levels"] = _levels(np.random.default_rng([number]), given["num_wires"])
    if number % 2:  # parities are far in states that are not small
        given["shape"] = replace(given["shape"], start=min(given["shape"].start, 3))
    return circuit, given


def as_drawn(number: int) -> AbstractContextManager[object]:
    """Return a context in which the planner takes the plans in a CNOT frame that a case wants."""
    return patch.object(rules, "PROMISE", rules.ANY_PROMISE) if number % 3 else nullcontext()


def staged_as_drawn(number: int) -> AbstractContextManager[object]:
    """Return a context in which the planner takes the plans with far parities that a case on several levels wants."""
    return nullcontext() if number % 3 else patch.object(rules, "PARITIES", MOST_STAGES)


def plan_of(number: int, left_out: tuple[str, ...] = ()) -> Plan:
    """Return the plan of a case on one device. left_out: rules of planning that it is made without."""
    circuit, given = case(number)
    with as_drawn(number):
        return _made(circuit, given, left_out)


def staged_plan_of(number: int, left_out: tuple[str, ...] = ()) -> Plan | None:
    """Return the plan of a case on several levels; None for too few wires, or too wide an operation."""
    drawn = staged_case(number)
    if drawn is None:
        return None
    with staged_as_drawn(number):
        try:
            return _made(*drawn, left_out)
        except NotSupported:  # an operation mixes more bits than are local
            return None


def _made(circuit: Circuit, given: dict[str, Any], left_out: tuple[str, ...]) -> Plan:
    """Return a plan that nothing keeps: how a case is planned is no argument of `make_plan`."""
    given = {**given, "shape": replace(given["shape"], left_out=left_out)}
    plan: Plan = make_plan(circuit.instructions, **given)
    return plan


def _levels(rng: np.random.Generator, wires: int) -> Levels:
    """Devices, near and far ones, host memory, ranks, or some of these."""
    local = int(rng.integers(wires // 2, wires))
    peers = int(rng.integers(0, min(wires - local, 3) + 1))
    ranks = int(wires - local - peers >= _BITS_WITH_RANKS and rng.random() < 0.3)
    piece = int(rng.integers(local))
    if peers > 1 and rng.random() < 0.4:
        layers = (Layer(1, "near", 4e11), Layer(peers - 1, "far", 5e10))
        return Levels(local, peers, piece, layers=layers, ranks=ranks)
    return Levels(local, peers, piece, "mesh" if rng.random() < 0.4 else "switch", ranks=ranks)


def _shape(rng: np.random.Generator) -> Shape:
    """A small machine: with and without edge bits, few register blocks, narrow registers, dense blocks."""
    near, edge = int(rng.integers(1, 5)), int(rng.integers(0, 4))
    low = edge + int(rng.integers(0, 2))
    return Shape(
        tile=low + near + int(rng.integers(0, 3)),
        registers=near,
        low=low,
        edge=edge,
        most_blocks=[None, 3, 4][rng.integers(3)],
        dense=int(rng.integers(1, near + 1)),
        table=int(rng.integers(1, 6)),
        thin=int(rng.integers(0, 4)),
        item_work=[0.0, 0.5, 2.0][rng.integers(3)],
        start=[0, 3, 14][rng.integers(3)],
        balance=[60.0, 7.3][rng.integers(2)],
        block=[None, 0.5, 20.0][rng.integers(3)],
        block_made=[0, 5][rng.integers(2)],
    )


def _circuit(rng: np.random.Generator, n: int, gates: int) -> Circuit:
    builder = CircuitBuilder(n)
    if rng.random() < 0.1:
        k = int(rng.integers(1, min(n, 8) + 1))
        builder.initialize(_unitary(rng, 1 << k)[0], rng.permutation(n)[:k].tolist())
    kinds = _KINDS if rng.random() < 0.7 else [_KINDS[rng.integers(len(_KINDS))], _gate]
    for _ in range(gates):
        kinds[rng.integers(len(kinds))](rng, builder, rng.permutation(n).tolist())
    made = builder.build()
    return _disturbed(rng, made) if rng.random() < 0.3 else made


def _full_of_cx(rng: np.random.Generator, n: int, gates: int) -> Circuit:
    """A circuit of CX, with some other gates between them."""
    builder = CircuitBuilder(n)
    others = [_KINDS[rng.integers(len(_KINDS))], _plain] if rng.random() < 0.5 else [_plain]
    share = rng.choice([0.05, 0.2, 0.4])
    for _ in range(gates):
        wires = rng.permutation(n).tolist()
        if n > 1 and rng.random() > share:
            builder.gate("cx", wires[:2])
        else:
            others[rng.integers(len(others))](rng, builder, wires)
    made = builder.build()
    return _disturbed(rng, made) if rng.random() < 0.1 else made


def _gate(rng: np.random.Generator, builder: CircuitBuilder, wires: list[int]) -> None:
    fitting = [name for name, gate in sorted(GATES.items()) if gate.qubits <= len(wires)]
    gate = GATES[fitting[rng.integers(len(fitting))]]
    spare = wires[gate.qubits :]
    count = int(rng.integers(0, 1 + min(2, len(spare)))) if rng.random() < 0.3 else 0
    values = int(rng.integers(1 << count))
    angles = rng.uniform(-7, 7, len(gate.parameters)).tolist()
    builder.gate(gate.name, wires[: gate.qubits], *angles, controls=spare[:count], control_values=values)


def _plain(rng: np.random.Generator, builder: CircuitBuilder, wires: list[int]) -> None:
    """A gate of a transpiled circuit, on neighbours."""
    name = ("rz", "sx", "cx", "x", "h", "swap", "cz", "rzz")[rng.integers(8)]
    gate = GATES[name]
    first = int(rng.integers(max(1, len(wires) - 1)))
    if gate.qubits <= len(wires):
        builder.gate(name, [first, first + 1][: gate.qubits], *rng.uniform(-3, 3, len(gate.parameters)).tolist())


def _matrix(rng: np.random.Generator, builder: CircuitBuilder, wires: list[int]) -> None:
    k = int(rng.integers(1, min(4, len(wires)) + 1))
    controls = wires[k : k + int(rng.integers(0, 3))]
    match rng.integers(4):
        case 0:
            builder.unitary(_unitary(rng, 1 << k), wires[:k], controls=controls)
        case 1:
            builder.diagonal(np.exp(1j * rng.normal(size=1 << k)), wires[:k], controls=controls)
        case 2:
            phases = np.exp(1j * rng.normal(size=1 << k))
            builder.unitary(np.diag(phases)[rng.permutation(1 << k)], wires[:k], controls=controls)
        case _:
            blocks = np.array([_unitary(rng, 2) for _ in range(1 << (k - 1))])
            builder.multiplexer(blocks, wires[1:k], wires[:1], controls=controls)


def _other(rng: np.random.Generator, builder: CircuitBuilder, wires: list[int]) -> None:
    k = int(rng.integers(1, min(5, len(wires)) + 1))
    if rng.random() < 0.5:
        paulis = "".join("IXYZ"[p] for p in rng.integers(0, 4, k))
        builder.pauli_rotation(float(rng.normal()), paulis, wires[:k], controls=wires[k : k + 1])
    else:
        builder.permutation(rng.permutation(1 << k).tolist(), wires[:k])


def ladder(rng: np.random.Generator, builder: CircuitBuilder, wires: list[int]) -> None:
    """CX around phases, most of them in pairs, with other gates between."""
    pairs = [(wires[k], wires[k + 1]) for k in range(min(len(wires) - 1, int(rng.integers(1, 5))))]
    ladder = [pair[::-1] if rng.random() < 0.2 else pair for pair in pairs]
    for pair in ladder:
        builder.gate("cx", list(pair))
    for _ in range(int(rng.integers(1, 5))):
        name = ("rz", "t", "cz", "cp", "rzz", "ccz", "x", "cx", "h")[rng.choice(9, p=[0.3, *[0.1] * 6, 0.06, 0.04])]
        if GATES[name].qubits <= len(wires):
            on = rng.permutation(wires)[: GATES[name].qubits].tolist()
            builder.gate(name, on, *rng.uniform(-3, 3, len(GATES[name].parameters)).tolist())
    for pair in reversed(ladder) if rng.random() < 0.8 else ladder:
        builder.gate("cx", list(pair))


def _bond(rng: np.random.Generator, builder: CircuitBuilder, wires: list[int]) -> None:
    """Rotations by Pauli matrices of two wires as transpilers write them: quarter turns around CX, RZ, CX."""
    pair = wires[:2]
    if len(pair) < 2:
        return
    for turn, back in (("h", "h"), ("sx", "sxdg"), ("rz", "rz")) if rng.random() < 0.3 else ():
        for name, on in ((turn, pair), ("cx", pair), ("rz", pair[1:]), ("cx", pair), (back, pair)):
            for wires in [on] if name == "cx" else [[wire] for wire in on]:
                builder.gate(name, wires, *([float(rng.normal())] if name == "rz" else []))
    for _ in range(int(rng.integers(0, 4))):
        for wire in pair:
            for _ in range(int(rng.integers(0, 3))):
                builder.gate(("h", "sx", "root_xdg", "s", "sdg", "x")[rng.integers(6)], [wire])
        builder.gate("cx", pair).gate("rz", pair[1:], float(rng.normal())).gate("cx", pair)


def turned(rng: np.random.Generator, builder: CircuitBuilder, wires: list[int]) -> None:
    """Two H on a wire, or √X, and between them phases by eighth turns and CX, as transpilers write Toffolis."""
    on, *others = wires
    ends = [("h", "h", "sx", "sxdg")[rng.integers(4)] for _ in range(2)]
    builder.gate(ends[0], [on])
    for _ in range(int(rng.integers(1, 9))):
        name = ("t", "tdg", "s", "sdg", "z", "cz", "ccz", "h")[rng.choice(8, p=[0.25, 0.25, *[0.1] * 4, 0.07, 0.03])]
        if GATES[name].qubits > len(wires):
            continue
        if name == "h":  # on another wire
            builder.gate(name, others[:1] or [on])
        elif GATES[name].qubits > 1:
            builder.gate(name, [on, *rng.permutation(others)[: GATES[name].qubits - 1].tolist()])
        else:
            around = [int(rng.choice(others)), on] if others and rng.random() < 0.7 else []
            twice = rng.random() < 0.8
            for kind, wanted in (("cx", bool(around)), (name, True), ("cx", bool(around) and twice)):
                if wanted:
                    builder.gate(kind, around if kind == "cx" else [on])
    builder.gate(ends[1], [on])


_KINDS = [_bond, turned, turned, _gate, _gate, _plain, _plain, _matrix, _other, ladder]


def _disturbed(rng: np.random.Generator, circuit: Circuit) -> Circuit:
    """The circuit with operations in it that are not unitary, as channels and measurements leave them in a segment."""
    instructions, operands = list(circuit.instructions), [*circuit.operands[0]]
    first = max((k + 1 for k, i in enumerate(instructions) if isinstance(i, Initialize)), default=0)
    for _ in range(int(rng.integers(1, 6))):
        pair = circuit.num_qubits > 1 and rng.random() < 0.3
        wires = tuple(rng.permutation(circuit.num_qubits)[: 1 + pair].tolist())
        kind = "c" * 16 if pair else _KRAUS[rng.integers(len(_KRAUS))]
        pattern = bytes(Entry(_LETTERS.index(letter)) for letter in kind)
        op = Op(wires, (), ALWAYS, pattern, len(operands), "kraus", unitary=False)
        operands += [_number(letter, len(operands) + k) for k, letter in enumerate(kind)]
        instructions.insert(int(rng.integers(first, len(instructions) + 1)), op)
    return Circuit(circuit.num_qubits, circuit.num_clbits, tuple(instructions), np.array([operands]))


def _number(letter: str, place: int) -> complex:
    """A number of a class that follows from its place, so that what is drawn stays the same."""
    return {"0": 0.0, "r": np.cos(place), "c": np.exp(1j * place)}[letter]


def _unitary(rng: np.random.Generator, size: int) -> Any:
    return np.linalg.qr(rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size)))[0]
