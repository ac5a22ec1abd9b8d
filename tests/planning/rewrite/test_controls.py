"""Two H with known phases between them are an X under conditions, and nothing else becomes one."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain_device import PlainDevice

from qsim_ex import reference
from qsim_ex.circuit import thresholds
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import When, letters
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.planner import bind, make_plan, python_plan
from qsim_ex.planning.rewrite.absorb import absorb
from qsim_ex.planning.rewrite.cancel import cancel
from qsim_ex.planning.rewrite.controls import controls
from qsim_ex.planning.work import Work
from qsim_ex.steps import Layout, Levels, Plan, Shape
from tools.same_plans import _turned

WIDE = Shape(tile=6, near=4, low=2, edge=2, phases=None, dense=4)

Gates = list[tuple[str, list[int]]]

TOFFOLI: Gates = [
    ("h", [2]), ("cx", [1, 2]), ("tdg", [2]), ("cx", [0, 2]), ("t", [2]), ("cx", [1, 2]), ("tdg", [2]), ("cx", [0, 2]),
    ("t", [1]), ("t", [2]), ("cx", [0, 1]), ("h", [2]), ("t", [0]), ("tdg", [1]), ("cx", [0, 1]),
]  # fmt: skip
"""CCX of wires 0 and 1 on wire 2, as textbooks write it (Nielsen and Chuang, figure 4.9)."""


def circuit_of(gates: Gates, wires: int = 4) -> Circuit:
    """Return a circuit of gates without angles."""
    builder = CircuitBuilder(wires)
    for name, on in gates:
        builder.gate(name, on)
    return builder.build()


def left(gates: Gates, wires: int = 4) -> list[Work]:
    """Return the work that is left of some gates, without global phases."""
    work, _ = absorb(circuit_of(gates, wires).instructions, Layout.identity(wires), WIDE)
    work, _ = cancel(work, wires)
    return [piece for piece in controls(work, NumberProgram(100)) if piece.touch]


def executed(plan: Plan, circuit: Circuit, start: Layout) -> np.ndarray:
    """Return the state, in wire order, after a plan from |0…0⟩."""
    n = circuit.num_qubits
    buffer = np.zeros(1 << n, dtype=np.complex128)
    buffer[start.index(0)] = 1
    for step, numbers in zip(plan.steps, bind(plan, circuit.operands), strict=True):
        PlainDevice(WIDE).run(buffer, n, step, numbers)
    return buffer[[plan.end.index(value) for value in range(1 << n)]]


def drawn(seed: int) -> tuple[Circuit, Layout]:
    """Return a circuit full of H with eighth turns between, and a layout to begin with."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    builder = CircuitBuilder(n)
    for wire in range(n):
        builder.gate("ry", [wire], float(rng.normal()))
    for _ in range(int(rng.integers(1, 8))):
        _turned(rng, builder, rng.permutation(n).tolist())
    return builder.build(), Layout(tuple(rng.permutation(n).tolist()), int(rng.integers(1 << n)))


@pytest.mark.parametrize("seed", range(80))
def test_circuits_keep_their_meaning(seed: int) -> None:
    """H with eighth turns, CZ and CX between them, from any layout, give the state of the definitions."""
    circuit, start = drawn(seed)
    n = circuit.num_qubits
    plan = make_plan(circuit.instructions, n, start, WIDE)
    assert np.linalg.norm(executed(plan, circuit, start) - reference.simulate(circuit)) <= 1e-12


@pytest.mark.parametrize("seed", range(40))
def test_a_short_window_changes_no_meaning(seed: int) -> None:
    """Where pieces leave soon, fewer H find each other, and the state is the same."""
    circuit, start = drawn(1000 + seed)
    n = circuit.num_qubits
    with thresholds.instead(window=1 + seed % 7, looked_at=3 + seed % 5):
        plans = [make_plan(circuit.instructions, n, start, WIDE)]
        plans.append(python_plan(circuit.instructions, n, start, WIDE, 0, Levels(n), place=False))
    assert plans[0].stages == plans[1].stages
    for plan in plans:
        assert np.linalg.norm(executed(plan, circuit, start) - reference.simulate(circuit)) <= 1e-12


@pytest.mark.parametrize("ends", ["h", "sx", "sxdg"])
def test_a_toffoli_is_one_x_under_two_conditions(ends: str) -> None:
    """Of fifteen gates one is left, which mixes nothing but by renaming; √X between quarter turns is an H."""
    around = {"h": [], "sx": [("s", [2])], "sxdg": [("sdg", [2])]}[ends]
    gates: Gates = []
    for name, on in TOFFOLI:
        gates += [*around, (ends, on), *around] if name == "h" else [(name, on)]
    (piece,) = left(gates)
    assert (piece.kind, piece.bits, piece.to, piece.when) == ("rename", (2,), (1, 0), When(0b11, 0b11))


def test_conditions_may_be_zeros_and_parities() -> None:
    """An X on the controls turns a condition; two CX make one a parity, and then a matrix for each value says it."""
    (piece,) = left([("x", [0]), *TOFFOLI, ("x", [0])])
    assert piece.when == When(0b11, 0b10)
    (piece,) = left([("h", [3]), ("cz", [0, 3]), ("cz", [1, 3]), ("h", [3])])
    assert (piece.kind, piece.reads, letters(piece.pattern)) == ("mix", (0b11,), "10010110")


def test_what_is_between_may_be_one_x() -> None:
    """CZ between two H is a CX, CCZ a CCX, Z an X, and H twice is nothing."""
    assert left([("h", [1]), ("h", [1])]) == []
    for name, mask in (("z", 0), ("cz", 0b1), ("ccz", 0b101)):
        others = [bit for bit in range(4) if mask >> bit & 1]
        (piece,) = left([("h", [1]), (name, [*others, 1]), ("h", [1])])
        assert (piece.kind, piece.when) == ("rename", When(mask, mask))


def test_a_cx_between_is_a_cz_behind() -> None:
    """CX between two H is a CZ; a Toffoli up to phases is an X under two conditions, and phases."""
    (piece,) = left([("h", [1]), ("cx", [0, 1]), ("h", [1])])
    assert (piece.kind, piece.when, letters(piece.pattern)) == ("diagonal", When(0b11, 0b11), "-")
    margolus: Gates = [
        ("h", [2]), ("t", [2]), ("cx", [1, 2]), ("tdg", [2]), ("cx", [0, 2]), ("t", [2]), ("cx", [1, 2]), ("tdg", [2]),
        ("h", [2]),
    ]  # fmt: skip
    pieces = left(margolus)
    assert [piece.when for piece in pieces if piece.kind == "rename"] == [When(0b11, 0b11)]
    assert {piece.kind for piece in pieces} == {"rename", "diagonal"}


@pytest.mark.parametrize(
    "between",
    [
        pytest.param([("t", [1])], id="an eighth"),
        pytest.param([("s", [1])], id="a quarter"),
        pytest.param([("cs", [0, 1])], id="a quarter for some values"),
        pytest.param([("cx", [1, 0])], id="a control"),
        pytest.param([("cz", [0, 1]), ("h", [0]), ("cz", [0, 1])], id="a control that is mixed between"),
        pytest.param([("ccx", [0, 2, 1])], id="an X under two conditions"),
    ],
)
def test_other_work_between_leaves_both(between: Gates) -> None:
    """Two H stay where what is between them is no X."""
    pieces = left([("h", [1]), *between, ("h", [1])])
    assert sum(piece.kind == "mix" and piece.bits == (1,) for piece in pieces) == 2


def test_angles_are_not_known() -> None:
    """Two H around π as an angle of few wires stay, so that a loop over angles has one plan."""
    circuit = CircuitBuilder(4).gate("h", [1]).gate("cp", [0, 1], np.pi).gate("h", [1]).build()
    work, _ = absorb(circuit.instructions, Layout.identity(4), WIDE)
    assert [piece.kind for piece in controls(work, NumberProgram(100))] == ["mix", "diagonal", "mix"]


def test_the_x_stands_where_all_phases_may_be() -> None:
    """Other bits may be mixed before a phase and behind the last one that reads them."""
    pieces = left([("h", [1]), ("h", [0]), ("cz", [0, 1]), ("sx", [0]), ("cz", [2, 1]), ("h", [1])])
    assert [(piece.kind, piece.bits) for piece in pieces] == [("mix", (0,)), ("mix", (1,)), ("mix", (0,))]
    assert pieces[1].reads == (0b101,)


def test_known_phases_undo_each_other() -> None:
    """T and T† with reads and other phases between are nothing; what mixes the bit keeps them apart."""
    (piece,) = left([("t", [0]), ("cz", [0, 1]), ("s", [0]), ("tdg", [0]), ("sdg", [0])])
    assert piece.when == When(0b11, 0b11)
    pieces = left([("t", [0]), ("h", [0]), ("tdg", [0])])
    assert [letters(piece.pattern) for piece in pieces] == ["w", "hhhH", "W"]


def test_most_parities() -> None:
    """Conditions of four bits are found, of five they are not looked for."""
    wires = 7
    for others in (4, 5):
        gates: Gates = [("h", [6]), *[("cz", [other, 6]) for other in range(others)], ("h", [6])]
        assert (left(gates, wires)[0].kind == "mix" and len(left(gates, wires)) == 1) == (others == 4)
