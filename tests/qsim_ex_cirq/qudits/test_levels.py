"""Where the values of qids stand among those of the engine's wires."""

from __future__ import annotations

from itertools import product

import cirq
import numpy as np
import pytest

from qsim_ex import errors
from qsim_ex_cirq.qudits.levels import Levels
from qsim_ex_cirq.wires import in_words, wires_of_qubits

SHAPES = [(3,), (2, 3), (3, 2, 4), (1, 5, 2), (4, 4, 3, 2, 2), (6, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_qid_takes_the_fewest_wires_that_have_its_values(shape: tuple[int, ...]) -> None:
    """Each qid has 2^wires ≥ d > 2^(wires − 1) values, at least one wire, and no wire is another qid's."""
    levels = Levels(shape)
    for taken, d in zip(levels.wires, shape, strict=True):
        assert d <= 1 << len(taken) < max(2 * d, 3)
    assert sorted(wire for taken in levels.wires for wire in taken) == list(range(levels.num_wires))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_are_digits_the_first_qid_most_significant(shape: tuple[int, ...]) -> None:
    """The wires' value of each basis value has its digits in the wires of their qids, and `places` lists all values."""
    levels = Levels(shape)
    for number, digits in enumerate(product(*map(range, shape))):
        value = levels.value(number)
        assert levels.digits(value) == list(digits)
        assert value == levels.places[number] == levels.packed(digits)
        bits = np.array([[value >> wire & 1 for wire in reversed(range(levels.num_wires))]], dtype=np.uint8)
        assert levels.digits_of_bits(bits)[0].tolist() == list(digits)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_states_are_cut_and_widened(shape: tuple[int, ...]) -> None:
    """Widened states have every amplitude in its place and 0 elsewhere, and what is cut of them is the state again."""
    levels, random = Levels(shape), np.random.default_rng(1)
    for axes in (1, 2):
        state = random.normal(size=(levels.size,) * axes)
        wide = levels.widened(state, axes)
        expected = np.zeros((1 << levels.num_wires,) * axes)
        expected[np.ix_(*[levels.places] * axes)] = state
        assert np.array_equal(wide, expected)
        assert np.array_equal(levels.cut(wide, axes), state)


def test_matrices_leave_unused_values_alone() -> None:
    """A matrix on wires acts on used values as the given one, and is a multiple of 1 on the others."""
    given = cirq.testing.random_unitary(6, random_state=1)
    wide = Levels((3, 2)).matrix(given)
    used = Levels((3, 2)).places
    unused = np.setdiff1d(np.arange(8), used)
    assert np.array_equal(wide[np.ix_(used, used)], given)
    assert np.array_equal(wide[np.ix_(unused, unused)], np.eye(2))
    assert not wide[np.ix_(used, unused)].any()
    assert np.array_equal(Levels((3, 2)).matrix(given, unused=0)[unused], np.zeros((2, 8)))
    with pytest.raises(errors.MatrixError, match="6 rows and columns for qids of 3, 2 levels, got shape"):
        Levels((3, 2)).matrix(np.eye(8))


def test_qids_in_words() -> None:
    """Qubits are called qubits, and qids are named with their levels."""
    qids = cirq.LineQid.for_qid_shape((3, 2, 4))
    assert in_words(qids) == "3 qids of 3, 2, 4 levels"
    assert in_words(qids[:1]) == "one qid of 3 levels"
    assert in_words(cirq.LineQid.range(5, dimension=3)) == "5 qids of 3 levels"
    assert in_words(cirq.LineQubit.range(2)) == "2 qubits"
    assert in_words(cirq.LineQubit.range(1)) == "one qubit"
    assert wires_of_qubits(qids) == {qids[1]: 2}
