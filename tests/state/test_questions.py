"""A state answers questions in terms of wires, whatever its layout."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.held import Hold
from support.states import TOLERANCE, random_state, state_in, values_of
from support.strategies import layouts

from qsim_ex.options import Options

same_device = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@same_device
@given(data=st.data())
def test_amplitudes_by_value_and_string(options: Options, data: st.DataObject) -> None:
    """Amplitudes by number and by string are those of the wires in the order given."""
    n = data.draw(st.integers(0, 5))
    psi = random_state(n)
    order = data.draw(st.permutations(range(n)))
    values = np.array(data.draw(st.lists(st.integers(0, (1 << n) - 1), max_size=5)), dtype=int)
    wanted = psi[[sum((v >> k & 1) << wire for k, wire in enumerate(order)) for v in values]]
    strings = [f"{value:0{n}b}" if n else "" for value in values]
    with state_in(options, psi, data.draw(layouts(n))) as state:
        for given_values in (values, values.tolist(), strings):
            found = state.amplitudes(given_values, order)
            assert found.dtype == options.dtype
            assert found == pytest.approx(wanted, abs=1e-6)


@same_device
@given(data=st.data())
def test_probabilities_with_a_condition(options: Options, data: st.DataObject) -> None:
    """A marginal is the sum over its wires, in their order, under its condition."""
    n = data.draw(st.integers(0, 5))
    psi = random_state(n)
    mixed = data.draw(st.permutations(range(n)))
    k = data.draw(st.integers(0, n))
    wires, others = mixed[:k], mixed[k:]
    where = {wire: data.draw(st.integers(0, 1)) for wire in others[: data.draw(st.integers(0, len(others)))]}
    holds = values_of(list(where), n) == sum(bit << j for j, bit in enumerate(where.values()))
    wanted = np.bincount(values_of(wires, n), np.abs(psi) ** 2 * holds, minlength=1 << k)
    with state_in(options, psi, data.draw(layouts(n))) as state:
        found = state.probabilities(wires, where)
        assert found.dtype == np.float64
        assert found == pytest.approx(wanted, abs=TOLERANCE[options.precision])


def test_wide_marginals_are_put_together(options: Options, hold: Hold) -> None:
    """A marginal of more wires than one pass sums has the order of its wires."""
    hold(marginal_wires=2)
    psi = random_state(6)
    wires = [5, 0, 3, 2]
    wanted = np.bincount(values_of(wires, 6), np.abs(psi) ** 2, minlength=16)
    with state_in(options, psi) as state:
        assert state.probabilities(wires) == pytest.approx(wanted, abs=1e-6)


@same_device
@given(data=st.data())
def test_inner_product_of_two_layouts(options: Options, data: st.DataObject) -> None:
    """States in different layouts have the inner product of their amplitudes by value, and both stay."""
    n = data.draw(st.integers(0, 5))
    left, right = random_state(n, 1), random_state(n, 2)
    one = state_in(options, left, data.draw(layouts(n)))
    other = state_in(options, right, data.draw(layouts(n)))
    with one, other:
        wanted = np.vdot(left, right)
        assert one.inner(other) == pytest.approx(wanted, abs=1e-6)
        assert other.fidelity(one) == pytest.approx(abs(wanted) ** 2, abs=1e-6)
        assert other.to_numpy() == pytest.approx(right, abs=1e-6)
        assert one.inner(one) == pytest.approx(1, abs=1e-6)


def test_inner_product_of_two_precisions(options: Options) -> None:
    """The inner product of states of different precision has the digits of the better one."""
    left, right = random_state(5, 1), random_state(5, 2)
    rounded = right.astype(np.complex64)
    double, single_ = options.with_({"precision": "double"}), options.with_({"precision": "single"})
    with state_in(double, left) as one, state_in(single_, right) as other:
        assert one.inner(other) == pytest.approx(np.vdot(left, rounded), abs=1e-13)


def test_norms_are_sums_in_float64(options: Options) -> None:
    """Sums over many small amplitudes are made in float64."""
    n = 12
    psi = np.full(1 << n, 2.0 ** (-n / 2))
    with state_in(options, psi) as state:
        assert state.norm() == pytest.approx(1, abs=1e-15)
        assert state.probabilities([3]) == pytest.approx([0.5, 0.5], abs=1e-15)


@same_device
@given(data=st.data())
def test_to_numpy_in_any_order(options: Options, data: st.DataObject) -> None:
    """Bit k of the index of a copy is the k-th wire that was asked for."""
    n = data.draw(st.integers(0, 5))
    psi = random_state(n)
    order = data.draw(st.permutations(range(n)))
    with state_in(options, psi, data.draw(layouts(n))) as state:
        found = state.to_numpy(order)
        assert found[values_of(order, n)] == pytest.approx(psi, abs=1e-6)


def test_reading_in_pieces(options: Options, hold: Hold) -> None:
    """A copy that is gathered in several pieces has each piece in its place."""
    hold(amplitudes_at_once=4)
    psi = random_state(5)
    with state_in(options, psi) as state:
        state.relabel([4, 3, 2, 1, 0])
        assert state.to_numpy()[values_of([4, 3, 2, 1, 0], 5)] == pytest.approx(psi, abs=1e-6)
