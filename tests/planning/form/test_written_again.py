"""Tests of what is written of one circuit in several manners: nothing is read twice, and nothing compared twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import strategies

from benchmarks.forms import transpiled
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.form import UNBOUNDED
from qsim_ex.planning.written.out import Manner, WritingLimits, WrittenCircuit, written_out
from qsim_ex.planning.written.writer import Writer
from tools.golden_counts import FAMILIES

CZ = ("rz", "sx", "x", "cz")
OF_FORMS = (Manner.LOCAL, Manner.MOVES, Manner.GROWN, Manner.BACK)


def same(one: WrittenCircuit | None, other: WrittenCircuit | None, circuit: Circuit) -> bool:
    """Return whether two circuits are the same, gate by gate and number by number."""
    if one is None or other is None:
        return one is other
    return one.structure is other.structure and np.array_equal(
        one.numbers(circuit.operands), other.numbers(circuit.operands)
    )


@settings(max_examples=40)
@given(
    strategies.circuits().filter(lambda circuit: circuit.structure.only_gates),
    st.sampled_from(OF_FORMS),
    st.booleans(),
    st.sampled_from([UNBOUNDED, 5]),
)
def test_a_form_of_what_was_read_is_that_of_the_circuit(
    circuit: Circuit, manner: Manner, zeros: bool, most: int
) -> None:
    """Drawn gates have the same list whether it is made of them or of what was read for other manners, or too long."""
    limits = WritingLimits(most, alone=True)
    read = written_out(circuit, manner=Manner.BETWEEN, zeros=zeros)
    if read is not None:
        whole = written_out(circuit, limits=limits, manner=manner, zeros=zeros)
        whole = whole if whole and whole.manner is manner else None  # else it is written between gates
        assert same(read.again(manner, limits), whole, circuit)


def test_a_form_of_what_was_read_of_several_bindings_is_that_of_the_circuit() -> None:
    """Angles that differ among bindings are the same sums of phases in both."""
    circuit = transpiled(FAMILIES["heisenberg"](6), 6, CZ, 1)
    turned = np.concatenate([circuit.operands, circuit.operands])
    for one in circuit.structure.operations[:200]:
        if one.name == "rz":
            turned[1, one.operand + len(one.pattern) - 1] *= np.exp(0.3j)
    both = Circuit.of_structure(circuit.structure, turned)
    read = written_out(both, manner=Manner.BETWEEN)
    assert read
    for manner in (Manner.LOCAL, Manner.BACK):
        assert same(read.again(manner, WritingLimits(alone=True)), written_out(both, manner=manner), both)


@pytest.fixture
def began(monkeypatch: pytest.MonkeyPatch) -> list[Manner]:
    """The manners in which something is written from now on."""
    found, begin = list[Manner](), Writer.__init__

    def counted(self: Writer, made: object, microseconds: int, manner: int, *others: object) -> None:
        found.append(Manner(manner))
        begin(self, made, microseconds, manner, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(Writer, "__init__", counted)
    return found


def test_local_is_written_once_where_others_are_compared_with_it(began: list[Manner]) -> None:
    """How much work it is is known when its gates have been made of it."""
    circuit = transpiled(FAMILIES["hubbard"](8), 8, CZ, 1)
    first = written_out(circuit, manner=Manner.BETWEEN)
    assert first
    for manner in OF_FORMS:
        if written := first.again(manner, WritingLimits()):
            assert written.structure
    assert began.count(Manner.LOCAL) == 1


def test_what_is_the_same_as_local_is_not_compared_again() -> None:
    """Of a GHZ state two manners write the same as LOCAL, which is written in each where it is asked for alone."""
    circuit = transpiled(FAMILIES["ghz"](8), 8, CZ, 1)
    first = written_out(circuit, manner=Manner.BETWEEN, zeros=True)
    assert first
    local = first.again(Manner.LOCAL, WritingLimits())
    assert local
    for manner in (Manner.MOVES, Manner.BACK):
        assert first.again(manner, WritingLimits()) is None
        assert same(first.again(manner, WritingLimits(alone=True)), local, circuit)


def test_what_is_not_the_same_as_local_is_compared() -> None:
    """In a chain of Hubbard's model CX that are undone are others than those that stay."""
    circuit = transpiled(FAMILIES["hubbard"](8), 8, CZ, 1)
    first = written_out(circuit, manner=Manner.BETWEEN)
    assert first
    assert first.again(Manner.LOCAL, WritingLimits())
    assert first.again(Manner.BACK, WritingLimits())
