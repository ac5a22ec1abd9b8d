"""Families: circuits that share a structure form one family, and keep their places."""

from __future__ import annotations

import pickle

import numpy as np

from qsim_ex import CircuitBuilder
from qsim_ex.circuit.parameters.families import families
from qsim_ex.circuit.parameters.sweep import ParameterSweep, ParameterSweepBuilder


def turns(angles: list[float]) -> ParameterSweep:
    """A rotation by each of some angles."""
    builder = ParameterSweepBuilder(1, 0)
    builder.gate("ry", [0], np.array(angles))
    return builder.sweep(len(angles))


def turn(angle: float) -> ParameterSweep:
    """The same rotation by one angle, built by itself."""
    return ParameterSweep(CircuitBuilder(1).gate("ry", [0], angle).build())


def flip() -> ParameterSweep:
    """A circuit of another structure."""
    return ParameterSweep(CircuitBuilder(1).gate("x", [0]).build())


GIVEN = [turns([0.1, 0.2]), flip(), turn(0.3), turns([]), turns([0.4, 0.5, 0.6]), flip()]


def test_equal_structures_meet() -> None:
    """Members of one structure form a family, in their order, with their places among all bindings."""
    first, second = families(GIVEN)
    assert first.place.tolist() == [0, 1, 3, 4, 5, 6]
    assert second.place.tolist() == [2, 7]
    assert len(first) == first.bindings().count == 6
    assert first.template.structure is GIVEN[0].template.structure
    wanted = np.concatenate([turn(angle / 10).template.operands for angle in range(1, 7)])
    np.testing.assert_array_equal(first.bindings().operands(0, 6), wanted)
    for begin, end in ((0, 1), (1, 4), (2, 6)):
        np.testing.assert_array_equal(first.operands(begin, end), wanted[begin:end])
    for member in range(6):
        np.testing.assert_array_equal(first.circuit(member).operands[0], wanted[member])


def test_some_members() -> None:
    """A selection of a family's members is a family with the places that they had."""
    some = families(GIVEN)[0].of(np.array([1, 2, 5]))
    assert some.place.tolist() == [1, 3, 6]
    wanted = np.concatenate([turn(angle).template.operands for angle in (0.2, 0.3, 0.6)])
    np.testing.assert_array_equal(some.bindings().operands(0, 3), wanted)


def test_what_else_must_be_equal() -> None:
    """Sweeps of one structure stay apart where something else differs; nothing at all makes no family."""
    apart = families([turn(0.1), turn(0.2), turn(0.3)], ["a", "b", "a"])
    assert [family.place.tolist() for family in apart] == [[0, 2], [1]]
    assert families([]) == families([turns([])]) == []


def test_families_travel() -> None:
    """A family can be pickled, and has the same numbers where it arrives."""
    family = families(GIVEN)[0]
    again = pickle.loads(pickle.dumps(family))
    np.testing.assert_array_equal(again.bindings().operands(0, 6), family.bindings().operands(0, 6))
