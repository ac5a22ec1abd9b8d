"""The public index map of states: what is at each index of their memory, wherever it lies."""

from __future__ import annotations

import numpy as np
import pytest
from support.deployments import ON_CPU
from support.states import random_state

from qsim_ex import BatchedStateVector, StateVector
from qsim_ex.steps import IndexMap

WIRES = 8


@pytest.mark.parametrize("deployment", ON_CPU)
def test_it_puts_sub_state_vectors_in_order(deployment: str) -> None:
    """Every amplitude of every sub state vector belongs to the basis state that the map has for its index."""
    options = ON_CPU[deployment].options
    with StateVector(WIRES, device="cpu", initial=random_state(WIRES, 3), **options) as state:
        state.gate("swap", [0, 5]).gate("x", [2]).gate("h", [6]).gate("cx", [7, 1])
        wanted = state.to_numpy()
        found = np.zeros_like(wanted)
        for number in state.sub_state_vectors:
            state.stage(number)
            array = state.sub_state_vector(number)
            indices = number * len(array) + np.arange(len(array))
            found[state.index_map.basis_state_of(indices)] = array
        assert np.array_equal(found, wanted)
        assert state.index_map == IndexMap.of(state.layout)


def test_of_a_batch() -> None:
    """The rows of a batch share one map."""
    with BatchedStateVector(3, 4, device="cpu", initial=[1, 2, 3]) as states:
        states.gate("swap", [0, 3]).gate("x", [1]).gate("h", [0])
        found = np.empty((3, 16), dtype=states.dtype)
        found[:, states.index_map.basis_state_of(np.arange(16))] = states.array
        assert np.array_equal(found, states.to_numpy())
