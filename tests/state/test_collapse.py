"""Measuring and collapsing: the value found, its probability, and the state afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.states import TOLERANCE, far, random_state, state_in, values_of
from support.strategies import layouts

from qsim_ex.errors import OptionError, StateError
from qsim_ex.options import Options
from qsim_ex.state.vector import StateVector
from qsim_ex.steps import Layout

same_device = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@same_device
@given(data=st.data(), mode=st.sampled_from(["normalise", "none", "reset"]))
def test_collapse_is_a_projection(options: Options, data: st.DataObject, mode: str) -> None:
    """Collapsing, in any layout, gives the probability and the state of the projector."""
    n = data.draw(st.integers(1, 5))
    psi = random_state(n, data.draw(st.integers(0, 99)))
    wires = data.draw(st.permutations(range(n)))[: data.draw(st.integers(0, n))]
    bits = data.draw(st.integers(0, (1 << len(wires)) - 1))
    projected = np.where(values_of(wires, n) == bits, psi, 0)
    probability = np.linalg.norm(projected) ** 2
    wanted = {"none": psi, "normalise": projected / np.sqrt(probability)}
    reset = np.zeros_like(psi)
    mask = sum(1 << wire for wire in wires)
    for value in range(1 << n):
        reset[value & ~mask] += projected[value] / np.sqrt(probability)
    wanted["reset"] = reset
    with state_in(options, psi, data.draw(layouts(n))) as state:
        assert state.collapse(wires, bits, mode) == pytest.approx(probability, rel=1e-5)
        assert far(state.to_numpy(), wanted[mode]) <= 3 * TOLERANCE[options.precision]


def test_measure_finds_what_it_leaves(options: Options) -> None:
    """The value that was measured is the value that the state has afterwards."""
    for seed in range(8):
        with state_in(options, random_state(4, seed), Layout((2, 0, 3, 1), 0b0110)) as state:
            value = state.measure([3, 1], seed=seed)
            assert state.probabilities([3, 1])[value] == pytest.approx(1, abs=1e-6)
            assert state.measure([3, 1], seed=seed + 1) == value


def test_measure_by_a_number(options: Options) -> None:
    """A random number is compared with the running sum of probabilities."""
    with StateVector(2, options=options).gate("ry", [1], 2 * np.arccos(0.6)) as state:
        assert [state.measure([1], random=u, collapse="none") for u in (0, 0.35, 0.37, 0.999)] == [0, 0, 1, 1]
        assert state.measure([1], random=0.5, collapse="reset") == 1
        assert state.to_numpy() == pytest.approx(np.array([1, 0, 0, 0]), abs=1e-6)


def test_all_wires_are_measured_as_a_shot(options: Options) -> None:
    """Measuring all wires with a seed finds the first shot with that seed."""
    with state_in(options, random_state(5), Layout((4, 2, 0, 1, 3), 5)) as state:
        for seed in range(20):
            assert state.measure(range(5), seed=seed, collapse="none") == state.draw(1, seed)[0]


def test_the_options_seed_is_counted(options: Options) -> None:
    """With a seed in the options two draws differ, and two states with that seed agree."""
    seeded = options.with_({"seed": 5})
    with state_in(seeded, random_state(6)) as one, state_in(seeded, random_state(6)) as other:
        first, second = one.sample(50), one.sample(50)
        assert not np.array_equal(first, second)
        assert np.array_equal(other.sample(50), first)
        assert np.array_equal(other.sample(50), second)


def test_impossible_collapse(options: Options) -> None:
    """A projection on a value of probability zero is refused."""
    with StateVector(3, options=options) as state:
        with pytest.raises(StateError, match="never found"):
            state.collapse([1], [1])
        with pytest.raises(OptionError, match="collapse"):
            state.collapse([1], 0, "both")  # type: ignore[arg-type]
        assert state.norm() == 1
