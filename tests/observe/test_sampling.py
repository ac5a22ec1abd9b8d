"""Shots are the basis values on which their random numbers fall, in the order of values, not of memory."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.held import Hold
from support.states import random_state, state_in
from support.strategies import layouts

from qsim_ex.errors import OptionError, ShotsError, StateError
from qsim_ex.observe import sampling
from qsim_ex.observe.readout import READOUT
from qsim_ex.options import Options
from qsim_ex.state.vector import StateVector
from qsim_ex.steps import Layout


def by_definition(psi: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The value v of each number u with CDF(v − 1) ≤ u·norm < CDF(v)."""
    ends = np.cumsum(np.abs(psi.astype(np.complex128)) ** 2)
    return np.array([np.count_nonzero(ends <= u * ends[-1]) for u in numbers])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_shots_by_definition(options: Options, data: st.DataObject) -> None:
    """A shot is the value on which its number falls in the running sum over values."""
    n = data.draw(st.integers(0, 7))
    psi = random_state(n, data.draw(st.integers(0, 99)))
    psi[data.draw(st.lists(st.integers(0, (1 << n) - 1), max_size=(1 << n) - 1, unique=True))] = 0
    psi /= np.linalg.norm(psi)
    shots, seed = data.draw(st.integers(1, 60)), data.draw(st.integers(0, 2**64 - 1))
    with state_in(options, psi, data.draw(layouts(n))) as state:
        found = state.draw(shots, seed)
        wanted = by_definition(psi.astype(options.dtype), sampling.uniforms(seed, 0, shots))
        assert found.tolist() == wanted.tolist()
        assert (psi[found] != 0).all()


@pytest.mark.parametrize("marginal_wires", [1, 2, 3])
def test_groups_change_nothing(options: Options, hold: Hold, marginal_wires: int) -> None:
    """Shots do not depend on how many wires one pass sums over."""
    psi = random_state(9)
    wanted = by_definition(psi.astype(options.dtype), sampling.uniforms(3, 0, 40))
    hold(marginal_wires=marginal_wires)
    with state_in(options, psi, Layout((8, 1, 4, 3, 0, 5, 7, 6, 2), 0b101010101)) as state:
        assert state.draw(40, 3).tolist() == wanted.tolist()


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_change_nothing(hold: Hold, threads: int) -> None:
    """Every shot is as defined where threads share out the shots."""
    psi = random_state(8)
    numbers = np.concatenate([sampling.uniforms(5, 0, 500), [0.0, 1 - 2.0**-53, 0.5, 0.5]])
    hold(sorted_shots=50)
    with StateVector(8, initial=psi, device="cpu") as state, state.placed() as placed:
        assert sampling.draw(placed, numbers, None, threads).tolist() == by_definition(psi, numbers).tolist()


def test_chosen_wires_are_columns_of_the_same_shots(options: Options) -> None:
    """Asking for some wires gives the columns of these wires of the same shots."""
    with state_in(options, random_state(6), Layout((3, 0, 5, 1, 2, 4), 9)) as state:
        whole = state.sample(50, seed=4)
        assert np.array_equal(state.sample(50, [4, 0, 5], seed=4), whole[:, [4, 0, 5]])
        packed = state.sample(50, [4, 0, 5], seed=4, packed=True)
        assert packed.tolist() == [[a | b << 1 | c << 2] for a, b, c in whole[:, [4, 0, 5]].tolist()]
        assert state.sample(7, [], seed=1).shape == (7, 0)


def test_numbers_are_counted() -> None:
    """Shot k's number does not depend on how many shots there are, and two instructions share none."""
    few, many = sampling.uniforms(9, 0, 10), sampling.uniforms(9, 0, 1000)
    assert np.array_equal(many[:10], few)
    assert not np.intersect1d(many, sampling.uniforms(9, 1, 1000)).size
    assert not np.intersect1d(many, sampling.uniforms(10, 0, 1000)).size
    assert 0.45 < many.mean() < 0.55


@pytest.mark.parametrize(("seed", "instruction"), [(7, 0), (2**64 - 1, 3), (0, READOUT + 12), (5, 2**64 - 1)])
def test_the_numbers_of_a_seed_are_fixed(seed: int, instruction: int) -> None:
    """The numbers of a seed are those of Philox4x64-10, keyed by the seed and the instruction."""
    raw = np.random.Philox(key=np.array([seed, instruction], dtype=np.uint64)).random_raw(7)
    assert np.array_equal(sampling.uniforms(seed, instruction, 7), (raw >> np.uint64(11)) * 2.0**-53)


def test_a_drifted_norm_changes_nothing(options: Options) -> None:
    """Shots of a state whose norm has drifted are those of the normalised state."""
    psi = random_state(6)
    with state_in(options, psi) as state:
        wanted = state.draw(100, 1)
        state.set(state.to_numpy() * np.float32(0.75))
        assert np.array_equal(state.draw(100, 1), wanted)


def test_the_largest_number_stays_inside(options: Options) -> None:
    """The largest number below 1 falls on the last value that has an amplitude."""
    psi = np.zeros(64, dtype=complex)
    psi[[1, 5, 40]] = [0.1, 0.3, np.sqrt(0.9)]
    numbers = np.array([0.0, np.nextafter(1, 0)])
    with state_in(options, psi) as state:
        assert sampling.draw(state._placement, numbers).tolist() == [1, 40]
        assert sampling.draw(state._placement, np.zeros(0)).shape == (0,)


def test_what_cannot_be_sampled(options: Options) -> None:
    """A state of norm zero, and a shot count or a seed without meaning, are refused."""
    with StateVector(3, options=options) as state:
        for shots in (0, -1, 1.5, "many", True):
            with pytest.raises(ShotsError):
                state.sample(shots)  # type: ignore[arg-type]
        for seed in (-1, 1 << 64, 0.5, True):
            with pytest.raises(OptionError, match="seed"):
                state.sample(1, seed=seed)  # type: ignore[arg-type]
        state.set(np.zeros(8))
        with pytest.raises(StateError, match="norm"):
            state.sample(1)
        with pytest.raises(StateError, match="norm"):
            state.measure([0])


def test_shots_follow_the_probabilities(options: Options) -> None:
    """Frequencies of 20,000 shots are as near to the probabilities as chance demands (χ² over 16 values)."""
    psi = random_state(4)
    with state_in(options, psi) as state:
        counts = np.bincount(state.draw(20000, 11), minlength=16)
    wanted = 20000 * np.abs(psi) ** 2
    assert np.sum((counts - wanted) ** 2 / wanted) < 45  # exceeded with probability 1e-4


def test_a_thousand_shots_of_20_wires_are_quick(options: Options) -> None:
    """A thousand shots of 20 wires take less than 2 s (the goal is 10 ms on two cores)."""
    if state_name(options) == "plain":
        pytest.skip("the executor that works by definition is slow on purpose")
    with state_in(options, random_state(20)) as state:
        state.draw(1000, 0)
        begin = perf_counter()
        state.draw(1000, 1)
        assert perf_counter() - begin < 2


def state_name(options: Options) -> str:
    """The name of the device that these options lead to."""
    with StateVector(0, options=options) as state:
        return state.device.name
