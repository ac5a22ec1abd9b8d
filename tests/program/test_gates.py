"""Gates that are joined are taken together, and the parts of a circuit are the same as if each was followed alone."""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex import Circuit, CircuitBuilder
from qsim_ex.circuit.ops import ALWAYS, Op, When, pattern
from qsim_ex.circuit.structure import Structure
from qsim_ex.program.gates import OnDistinctWires, left_of, without_idle
from qsim_ex.program.separate import _Separator
from qsim_ex.program.separation import How, Separation

N = 7


def drawn(seed: int) -> Circuit:
    """Return gates of many kinds on wires of which few are mixed, with measurements of some at the end."""
    rng = np.random.default_rng(seed)
    live = rng.permutation(N)[: rng.integers(1, N)].tolist()
    builder = CircuitBuilder(N, N)
    for _ in range(rng.integers(1, 25)):
        a, b, c = rng.permutation(N)[:3].tolist()
        mixed, other = live[rng.integers(len(live))], a
        match rng.integers(8):
            case 0:
                builder.gate("h", [mixed])
            case 1:
                builder.gate("rz", [a], rng.normal())
            case 2:
                builder.gate("rzz", [a, b], rng.normal())
            case 3 if other != mixed:
                builder.gate("ry", [mixed], rng.normal(), controls=[other], control_values=int(rng.integers(2)))
            case 4:
                builder.gate("x", [a], controls=[b, c], control_values=int(rng.integers(4)))
            case 5:
                builder.diagonal(np.exp(1j * rng.normal(size=4)), [a, b])
            case 6:
                builder.gate("cz", [a, b])
            case _:
                builder.global_phase(rng.normal())
    wires = rng.permutation(N)[: rng.integers(N)].tolist()
    return builder.measure(wires, rng.permutation(N)[: len(wires)].tolist()).build()


def described(found: Separation | None) -> object:
    """Return all that a separation says, by value."""
    if found is None:
        return None
    parts = [
        (one.structure, one.wires, one.clbits, one.final, None if one.columns is None else one.columns.tolist(),
         one.streams, one.groups, one.members, one.copied, one.given)
        for one in found.parts
    ]  # fmt: skip
    return parts, found.place, found.phases, found.known, found.measures


@pytest.mark.parametrize(
    ("how", "observed"), [("apart", False), ("apart", True), ("together", False), ("whole", False)]
)
def test_parts_are_those_of_gates_that_are_followed_one_by_one(how: How, observed: bool) -> None:
    """The instructions, numbers and operands of all parts agree, and so do global phases and the places of wires."""
    several = gathered = 0
    for seed in range(150):
        structure = drawn(seed).structure
        alone = Structure(structure.num_qubits, structure.num_clbits, structure.instructions)
        alone.__dict__["gates_before"] = 0
        groups = ((0, 1), (3,)) if seed % 5 == 0 else ()
        together = _Separator(structure, observed, groups, how).separation()
        each = _Separator(alone, observed, groups, how).separation()
        assert structure.gates_before > 0 or not structure.instructions or structure.gates_end == 0
        if how != "apart" and together is None:  # all wires are in one part, which nothing has to be made of
            assert each is None or each.idle == 0
            continue
        assert described(together) == described(each)
        several += together is not None and len(together.parts) > 1
        gathered += together is not None and any(part.columns is not None for part in together.parts)
    assert how != "apart" or several > 20
    assert gathered > 10


@pytest.mark.parametrize(
    ("when", "left"), [(When(0b01, 0), ALWAYS), (When(0b01, 1), None), (When(0b11, 0b10), When(0b10, 0b10))]
)
def test_a_control_of_an_idle_wire_is_decided(when: When, left: When | None) -> None:
    """One of 0 holds and is left out, and where one of 1 is required nothing is left."""
    found = left_of((2,), (), when, 0b110)
    assert (None if found is None else found.when) == left


def test_reads_of_idle_wires_are_left_out_with_their_entries() -> None:
    """Of a diagonal the entries stay at which an idle wire is 0; where it reads no idle wire it stays as it is."""
    op = Op((), (0b01, 0b10), ALWAYS, pattern("1-ic"), 8)
    for alive, letters, at in ((0b01, "1-", None), (0b10, "1i", [8, 10]), (0b11, "1-ic", None)):
        left = left_of(op.mixes, op.reads, op.when, alive)
        assert left is not None
        found, entries = without_idle(op, left)
        assert (found.pattern, None if entries is None else entries.tolist()) == (pattern(letters), at)
        assert (found is op) == (alive == 0b11)


def test_gates_are_joined_by_all_their_wires_and_stay_in_their_order() -> None:
    """Gates of joined wires are together, in the order of the circuit, and a global phase is in none of these."""
    builder = CircuitBuilder(5)
    for wire in range(4):
        builder.gate("h", [wire])
    builder.gate("cx", [2, 0]).gate("rzz", [1, 3], 0.3).gate("x", [4]).global_phase(0.2)
    operations = [one for one in builder.build().instructions if isinstance(one, Op)]
    phases: list[int] = []
    found = OnDistinctWires(operations).joined(5, 0b11111, phases, together=False)
    assert [mask for mask, _ in found] == [0b00101, 0b01010, 0b10000]
    assert [[one.name for one in gates.operations] for _, gates in found] == [
        ["h", "h", "cx"],
        ["h", "h", "rzz"],
        ["x"],
    ]
    assert len(phases) == 2  # that of RZZ is one, too
    ((mask, every),) = OnDistinctWires(operations).joined(5, 0b11111, [], together=True)
    assert mask == 0b11111
    assert every.operations == [one for one in operations if one.acts_on]
