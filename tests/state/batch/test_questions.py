"""A batch answers for every state what that state alone would answer, in any layout."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batched_states import batch_in, host, in_parts, random_rows, same_device
from support.held import Hold
from support.states import TOLERANCE, state_in, values_of
from support.strategies import layouts

from qsim_ex import PauliString, PauliSum
from qsim_ex.errors import CircuitError, MatrixError, NotSupported, OptionError, ShotsError, WireError
from qsim_ex.options import Options
from qsim_ex.state.batch.vector import BatchedStateVector

ROWS = st.sampled_from([1, 3, 6])


@pytest.fixture(autouse=True)
def _in_parts(hold: Hold) -> None:
    """Even a few states are worked on and asked in several parts."""
    in_parts(hold)


@same_device
@given(data=st.data(), rows=ROWS, n=st.integers(0, 5))
def test_probabilities(options: Options, data: st.DataObject, rows: int, n: int) -> None:
    """A state's probabilities are those of its own wires and conditions."""
    psi = random_rows(rows, n)
    wires = data.draw(st.permutations(range(n)))
    k = data.draw(st.integers(0, n))
    where = {wire: data.draw(st.integers(0, 1)) for wire in wires[k : k + 2]}
    inside = np.all([values_of([w], n) == bit for w, bit in where.items()] or [np.ones(1 << n, bool)], axis=0)
    wanted = np.zeros((rows, 1 << k))
    for value, weights in zip(values_of(wires[:k], n), (np.abs(psi) ** 2 * inside).T, strict=True):
        wanted[:, value] += weights
    with batch_in(options, psi, data.draw(layouts(n))) as batch:
        found = batch.probabilities(wires[:k], where)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, atol=3 * TOLERANCE[options.precision])
        np.testing.assert_allclose(batch.norm(), np.ones(rows), atol=TOLERANCE[options.precision])


@same_device
@given(data=st.data(), rows=ROWS, n=st.integers(1, 5))
def test_observables(options: Options, data: st.DataObject, rows: int, n: int) -> None:
    """A state's expectation values and density matrices are what the state alone has."""
    psi = random_rows(rows, n)
    masks = st.integers(0, (1 << n) - 1)
    drawn = [PauliString(data.draw(masks), data.draw(masks), data.draw(st.integers(-2, 2))) for _ in range(3)]
    sums = [PauliSum(tuple(drawn)), PauliSum((PauliString(1, 1, 2j),)), PauliSum(())]
    wires = data.draw(st.permutations(range(n)))[: data.draw(st.integers(0, n))]
    rng = np.random.default_rng(n)
    matrices = rng.normal(size=(rows, 1 << len(wires), 1 << len(wires), 2)) @ [1, 1j]
    near = {"rtol": 0, "atol": 30 * TOLERANCE[options.precision]}
    with batch_in(options, psi, data.draw(layouts(n))) as batch:
        several, one = batch.expectation(sums), batch.expectation(sums[0])
        density, alike = batch.density(wires), batch.expectation_matrix(matrices[0], wires)
        each = batch.expectation_matrix(matrices, wires)
    assert several.dtype == np.complex128
    assert one.dtype == np.float64
    for row in range(rows):
        with state_in(options, psi[row]) as state:
            np.testing.assert_allclose(several[row], state.expectation(sums), **near)
            np.testing.assert_allclose(one[row], state.expectation(sums[0]), **near)
            np.testing.assert_allclose(density[row], state._placement.density(wires), **near)
            np.testing.assert_allclose(alike[row], state.expectation_matrix(matrices[0], wires), **near)
            np.testing.assert_allclose(each[row], state.expectation_matrix(matrices[row], wires), **near)


@same_device
@given(data=st.data(), rows=ROWS, n=st.integers(0, 5))
def test_amplitudes(options: Options, data: st.DataObject, rows: int, n: int) -> None:
    """Amplitudes are each state's own, in the order of the wires."""
    psi = random_rows(rows, n)
    near = {"rtol": 0, "atol": TOLERANCE[options.precision]}
    order = data.draw(st.permutations(range(n)))
    values = data.draw(st.lists(st.integers(0, (1 << n) - 1), max_size=4))
    start = data.draw(st.integers(0, 1 << n))
    stop = data.draw(st.integers(start, 1 << n))
    moved = np.empty_like(psi)  # bit k of an index is wire order[k]
    moved[:, values_of(order, n)] = psi
    with batch_in(options, psi, data.draw(layouts(n))) as batch:
        np.testing.assert_allclose(batch.get(start, stop), psi[:, start:stop], **near)
        np.testing.assert_allclose(batch.to_numpy(order), moved, **near)
        np.testing.assert_allclose(batch.amplitudes(values, order), moved[:, values], **near)
        assert batch.array.shape == (rows, batch.stride)
        places = [batch.layout.index(value) for value in range(1 << n)]
        np.testing.assert_allclose(host(batch.array)[:, places], psi, **near)


@same_device
@given(data=st.data(), rows=ROWS, n=st.integers(1, 6))
def test_samples(options: Options, data: st.DataObject, rows: int, n: int) -> None:
    """A state's shots are those of `StateVector` for the same seed, packed or not."""
    psi = random_rows(rows, n)
    wires = data.draw(st.permutations(range(n)))[: data.draw(st.integers(1, n))]
    seeds = [data.draw(st.integers(0, (1 << 64) - 1)) for _ in range(rows)]
    with batch_in(options, psi, data.draw(layouts(n))) as batch:
        bits = batch.sample(40, wires, seeds)
        packed = batch.sample(40, wires, seeds, packed=True)
        assert batch.draw(2, seeds).shape == (rows, 2)
    assert (bits.dtype, bits.shape) == (np.uint8, (rows, 40, len(wires)))
    assert np.array_equal(np.unpackbits(packed, axis=2, count=len(wires), bitorder="little"), bits)
    for row in range(rows):
        with state_in(options, psi[row]) as state:
            differ = (state.sample(40, wires, seeds[row]) != bits[row]).any(axis=1).sum()
        assert differ <= (0 if options.precision == "double" else 2)  # a number within rounding of a branch


def test_seeds(options: Options) -> None:
    """One seed gives each state its own numbers and is repeatable, and the options' seed is counted."""
    psi = np.repeat(random_rows(1, 6), 4, axis=0)
    with batch_in(options.with_({"seed": 5}), psi) as one, batch_in(options.with_({"seed": 5}), psi) as other:
        shots = one.draw(30, seed=7)
        assert np.array_equal(other.draw(30, seed=7), shots)
        assert len({tuple(row) for row in shots.tolist()}) == 4
        first, second = one.draw(30), one.draw(30)
        assert not np.array_equal(first, second)
        assert np.array_equal(other.draw(30), first)
        assert np.array_equal(other.draw(30), second)


def test_bad_questions(options: Options) -> None:
    """Bad questions are refused."""
    with BatchedStateVector(3, 2, options=options) as batch:
        with pytest.raises(WireError, match="wire 2"):
            batch.probabilities([2])
        with pytest.raises(WireError, match="observable 1 acts on wire 4"):
            batch.expectation([PauliSum(()), PauliSum((PauliString(16, 0),))])
        with pytest.raises(MatrixError, match=r"\(2, 2\) for all, or \(3, 2, 2\), got \(2, 2, 2\)"):
            batch.expectation_matrix(np.zeros((2, 2, 2)), [0])
        with pytest.raises(OptionError, match="3 states, or a single seed, got 2 seeds"):
            batch.sample(1, seed=[1, 2])
        with pytest.raises(ShotsError):
            batch.sample(0)
        with pytest.raises(CircuitError, match=r"a basis value of .* got 4"):
            batch.amplitudes([4])
    with BatchedStateVector(1, 13, options=options) as batch, pytest.raises(NotSupported, match="13 wires"):
        batch.density(range(13))
