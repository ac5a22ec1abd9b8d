"""Circuits are the same on both sides of every threshold, and nothing is kept from one side for the other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from support.paths import ROOT
from support.phases import alike

from qsim_ex import CircuitBuilder, Options, Simulator, reference, thresholds
from qsim_ex.circuit.circuit import Circuit, Remembered
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.ops import Op
from qsim_ex.native.thresholds import Native
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Shape
from qsim_ex.thresholds import Thresholds
from tools.fuzz.thresholds import DRAWN, drawn

WIRES = 6


def circuit(seed: int) -> Circuit:
    """Return a circuit of gates of the table, of which every other angle is a multiple of π/4, CX, H and T."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(WIRES)
    rows = [row for row in GATES.values() if row.qubits <= 4]
    names = [
        rng.choice(["h", "t", "cx", "cz", "rz"]) if rng.random() < 0.6 else rng.choice(rows).name for _ in range(40)
    ]
    wires = [tuple(rng.permutation(WIRES)[: GATES[name].qubits].tolist()) for name in names]
    angles = [
        np.where(
            rng.random(k := len(GATES[name].parameters)) < 0.5, rng.integers(-9, 9, k) * np.pi / 4, rng.normal(size=k)
        )
        for name in names
    ]
    return builder.gates(names, wires, [one.tolist() for one in angles]).build()


def test_the_fuzzer_draws_all_of_them() -> None:
    """Numbers other than its own are drawn for every row, the least first."""
    given = Thresholds().numbers()
    assert set(DRAWN) == set(given)
    for name, numbers in DRAWN.items():
        assert given[name] not in numbers
        assert len(set(numbers)) == len(numbers) > 0
        assert numbers[0] == min(numbers)


@pytest.mark.parametrize(("name", "number"), [(name, number) for name in DRAWN for number in DRAWN[name]])
def test_a_state_is_the_same_on_both_sides(name: str, number: int) -> None:
    """Whatever one of the numbers is, a circuit has the amplitudes of the reference."""
    simulator = Simulator(Options(device="cpu", precision="double"))
    expected = reference.simulate(circuit(1))
    with thresholds.instead(**{name: number}), simulator.state(circuit(1)) as state:
        assert np.abs(state.to_numpy() - expected).max() < 1e-12


@pytest.mark.parametrize("seed", range(40))
def test_states_are_the_same_with_drawn_numbers(seed: int) -> None:
    """Whatever all of the numbers are, plans for small machines and large ones have the reference's amplitudes."""
    simulator = Simulator(Options(device="cpu", precision="double"))
    with thresholds.instead(**drawn(Random(seed))):
        made = circuit(seed)
        with simulator.state(made) as state:
            assert np.abs(state.to_numpy() - reference.simulate(made)).max() < 1e-12


def test_native_code_is_told() -> None:
    """A plan has other steps where rewriting looks at nothing, and its own again afterwards; nothing stale is used."""
    made = CircuitBuilder(3).gate("cx", [0, 1]).gate("rz", [1], 0.3).gate("cx", [0, 1]).gate("h", [2]).build()
    shape = Shape(tile=6, registers=4, low=2, edge=0, most_blocks=None, dense=2)

    def items() -> int:
        plan = make_plan(made.instructions, 3, Layout.identity(3), shape)
        return sum(len(block.items) for stage in plan.stages for step in stage.steps for block in step.register_blocks)

    few = items()
    with thresholds.instead(looked_at=0):
        assert items() > few
    assert items() == few


def test_what_is_kept_is_forgotten() -> None:
    """Registered caches are empty after a change, and are left alone where nothing changes."""
    known: Remembered = Remembered()
    key = circuit(2)
    known.put(key, "how", 1, "made", 1)
    with thresholds.instead():
        assert known.get(key, "how", 1) == "made"
    with thresholds.instead(gates_at_once=3):
        assert known.get(key, "how", 1) is None
        known.put(key, "how", 1, "other", 1)
    assert known.get(key, "how", 1) is None


@pytest.mark.parametrize("wires", [7, 8])
@pytest.mark.parametrize("count", [4, 5])
def test_circuits_change_where_the_table_says(wires: int, count: int) -> None:
    """Turns are structure from so many wires on, whether their gates are appended one by one or together."""
    given = ["z", "p", "rz", "s", "p"][:count], [(0,)] * count, [[], [np.pi], [np.pi / 2], [], [0.3]][:count]
    with thresholds.instead(quarter_wires=8, gates_at_once=5):
        together, alone = CircuitBuilder(wires).gates(*given).build(), CircuitBuilder(wires)
        for name, on, angles in zip(*given, strict=True):
            alone.gate(name, on, *angles)
        assert alike(together, alone.build())
    names = [op.name for op in together.instructions if isinstance(op, Op)]
    assert names[1] == ("z" if wires == 8 else "p")


def test_native_code_has_the_rows_in_this_order() -> None:
    """The library reads as many numbers as Python passes, each for the row of its name."""
    header = (ROOT / "core" / "native" / "thresholds" / "table.hpp").read_text(encoding="utf-8")
    listed = header[header.index("#define QX_THRESHOLDS") : header.index("struct Thresholds")]
    assert re.findall(r"row\((\w+)\)", listed) == list(Native.names())


def asked_once(node: ast.AST) -> Iterator[ast.Attribute]:
    """Yield where `thresholds.now` stands outside of the bodies of functions, which run each time they are called."""
    if isinstance(node, ast.Attribute) and node.attr == "now" and getattr(node.value, "id", "") == "thresholds":
        yield node
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, ast.AST):
                yield from asked_once(inner)


def test_no_number_is_kept_from_before() -> None:
    """Neither a module, nor a class, nor a default argument has a number that a threshold was when it was loaded."""
    assert len(list(asked_once(ast.parse("def f(a=thresholds.now.x):\n    return thresholds.now.x")))) == 1
    folders = ("core/qsim_ex", "qsim_ex_provider", "qsim_ex_cirq", "qsim_ex_pennylane")
    sources = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    kept = [file.name for file in sources for _ in asked_once(ast.parse(file.read_text(encoding="utf-8")))]
    assert len(sources) > 200
    assert kept == []
