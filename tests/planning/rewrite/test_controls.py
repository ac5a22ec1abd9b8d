"""Two H with known phases between them are an X under conditions, and nothing else becomes one."""

from __future__ import annotations

from functools import reduce
from operator import or_

import numpy as np
import pytest
from support.plan_items import items

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import When, letters, mask_of
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Diagonal, Item, Layout, Mix, Permute, Shape

WIDE = Shape(tile=6, registers=4, low=2, edge=2, most_blocks=None, dense=4)

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


def touched(item: Item) -> int:
    """Return the mask of the bits that an item mixes, reads, or is conditioned on."""
    reads = () if isinstance(item, Permute) else item.reads
    return reduce(or_, reads, item.when.mask | mask_of(() if isinstance(item, Diagonal) else item.bits))


def left(gates: Gates, wires: int = 4) -> list[Item]:
    """Return what the plan of some gates does, without global phases."""
    plan = make_plan(circuit_of(gates, wires).instructions, wires, Layout.identity(wires), WIDE)
    return [item for item in items(plan) if touched(item)]


@pytest.mark.parametrize("ends", ["h", "sx", "sxdg"])
def test_a_toffoli_is_one_x_under_two_conditions(ends: str) -> None:
    """Of fifteen gates one is left, which only permutes basis states; √X between quarter turns is an H."""
    around = {"h": [], "sx": [("s", [2])], "sxdg": [("sdg", [2])]}[ends]
    gates: Gates = []
    for name, on in TOFFOLI:
        gates += [*around, (ends, on), *around] if name == "h" else [(name, on)]
    assert left(gates) == [Permute((2,), When(0b11, 0b11), (1, 0))]


def test_conditions_may_be_zeros_and_parities() -> None:
    """An X on the controls turns a condition; two CX make one a parity, and then a matrix for each value says it."""
    assert left([("x", [0]), *TOFFOLI, ("x", [0])]) == [Permute((2,), When(0b11, 0b10), (1, 0))]
    (item,) = left([("h", [3]), ("cz", [0, 3]), ("cz", [1, 3]), ("h", [3])])
    assert isinstance(item, Mix)
    assert (item.reads, letters(item.pattern)) == ((0b11,), "10010110")


def test_what_is_between_may_be_one_x() -> None:
    """CZ between two H is a CX, CCZ a CCX, Z an X, and H twice is nothing."""
    assert left([("h", [1]), ("h", [1])]) == []
    for name, mask in (("z", 0), ("cz", 0b1), ("ccz", 0b101)):
        others = [bit for bit in range(4) if mask >> bit & 1]
        assert left([("h", [1]), (name, [*others, 1]), ("h", [1])]) == [Permute((1,), When(mask, mask), (1, 0))]


def test_a_cx_between_is_a_cz_behind() -> None:
    """CX between two H is a CZ; a Toffoli up to phases is an X under two conditions, and phases."""
    (item,) = left([("h", [1]), ("cx", [0, 1]), ("h", [1])])
    assert isinstance(item, Diagonal)
    assert (item.when, letters(item.pattern)) == (When(0b11, 0b11), "-")
    margolus: Gates = [
        ("h", [2]), ("t", [2]), ("cx", [1, 2]), ("tdg", [2]), ("cx", [0, 2]), ("t", [2]), ("cx", [1, 2]), ("tdg", [2]),
        ("h", [2]),
    ]  # fmt: skip
    renamed, *phases = left(margolus)
    assert renamed == Permute((2,), When(0b11, 0b11), (1, 0))
    assert all(isinstance(item, Diagonal) for item in phases)


@pytest.mark.parametrize(
    "between",
    [
        pytest.param([("cs", [0, 1])], id="a quarter for some values"),
        pytest.param([("cx", [1, 0])], id="a control"),
        pytest.param([("cz", [0, 1]), ("h", [0]), ("cz", [0, 1])], id="a control that is mixed between"),
        pytest.param([("ccx", [0, 2, 1])], id="an X under two conditions"),
    ],
)
def test_other_work_between_leaves_both(between: Gates) -> None:
    """Two H stay where what is between them is no X."""
    found = left([("h", [1]), *between, ("h", [1])])
    assert sum(isinstance(item, Mix) and item.bits == (1,) for item in found) == 2


def test_angles_are_not_known() -> None:
    """Two H around π as an angle of few wires stay, so that a loop over angles has one plan."""
    circuit = CircuitBuilder(4).gate("h", [1]).gate("cp", [0, 1], np.pi).gate("h", [1]).build()
    plan = make_plan(circuit.instructions, 4, Layout.identity(4), WIDE)
    assert [type(item) for item in items(plan)] == [Mix, Diagonal, Mix]


def test_the_x_stands_where_all_phases_may_be() -> None:
    """Other bits may be mixed before a phase and behind the last one that reads them."""
    found = left([("h", [1]), ("h", [0]), ("cz", [0, 1]), ("sx", [0]), ("cz", [2, 1]), ("h", [1])])
    assert [item.bits for item in found if isinstance(item, Mix)] == [(0,), (1,), (0,)]
    assert [item.reads for item in found if isinstance(item, Mix)] == [(), (0b101,), ()]


def test_known_phases_undo_each_other() -> None:
    """T and T† with reads and other phases between are nothing; what mixes the bit keeps them apart."""
    (item,) = left([("t", [0]), ("cz", [0, 1]), ("s", [0]), ("tdg", [0]), ("sdg", [0])])
    assert item.when == When(0b11, 0b11)
    found = left([("t", [0]), ("h", [0]), ("tdg", [0])])
    assert [type(item) for item in found] == [Diagonal, Mix, Diagonal]


@pytest.mark.parametrize("others", [4, 5])
def test_most_parities(others: int) -> None:
    """Conditions of four bits are found, of five they are not looked for."""
    gates: Gates = [("h", [6]), *[("cz", [other, 6]) for other in range(others)], ("h", [6])]
    assert sum(isinstance(item, Mix) for item in left(gates, 7)) == (1 if others == 4 else 2)
