"""The public index map of states: what is at each index of their memory, wherever it lies."""

from __future__ import annotations

import numpy as np
import pytest
from support.deployments import ON_CPU
from support.states import random_state
from support.unsettled import unsettle

from qsim_ex import BatchedStateVector, StateVector
from qsim_ex.errors import StateVectorBusy
from qsim_ex.steps import IndexMap
from qsim_ex.steps.algebra import Map

WIRES = 8
UNDONE: Map = (1, 3, 5, 8, 16 + 128, 32, 64 + 7, 128 + 2)


def summed(**options: str) -> tuple[StateVector, np.ndarray]:
    """A random state on one device whose wires are sums of index bits, and its amplitudes."""
    psi = random_state(WIRES, 3)
    state = StateVector(WIRES, device="cpu", initial=psi, **options).gate("swap", [0, 5]).gate("x", [2])
    psi = state.to_numpy()
    with state.placed() as placed:
        unsettle(placed, UNDONE)
    return state, psi


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


def test_reading_it_moves_nothing() -> None:
    """Questions that can be asked of sums of index bits leave them; the layout and arrays put them in order first."""
    state, psi = summed()
    with state:
        found = state.index_map
        assert not found.is_plain
        shots = state.draw(1, seed=2)
        assert np.array_equal(state.amplitudes([3, 200]), psi[[3, 200]])
        assert np.array_equal(state.to_numpy(), psi)
        assert state.probabilities([1, 6]).sum() == pytest.approx(1)
        assert state.norm() == pytest.approx(1)
        copy = state.clone()
        assert state.index_map is found
        assert sorted(state.wire_ordering) == list(range(WIRES))
        assert state.index_map.is_plain
        assert np.array_equal(state.array[state.index_map.index_of(np.arange(1 << WIRES))], psi)
        assert np.array_equal(state.draw(1, seed=2), shots)
    with copy:
        assert copy.index_map == found
        assert np.array_equal(np.asarray(copy), psi)
        assert copy.index_map == IndexMap(tuple(1 << bit for bit in range(WIRES)))


@pytest.mark.parametrize(
    "ask",
    [
        lambda state: state.gate("h", [3]).gate("h", [3]),
        lambda state: state.permute(range(WIRES)[::-1]),
        lambda state: state.expose(),
        lambda state: (state.stage(0), state.sub_state_vector(0)),
        lambda state: state.relabel(range(WIRES)),
        lambda state: state.permute_index_bits(range(WIRES)[::-1]),
        lambda state: state.own_slices(),
        lambda state: state.inner(state.clone()),
        lambda state: state.expectation_matrix(np.eye(4), [1, 6]),
        lambda state: state.__dlpack__(),
        lambda state: state.set([0.25], 3),
        lambda state: state.set(np.eye(1, 1 << WIRES)[0]),
    ],
    ids=[
        "gates",
        "permute",
        "expose",
        "stage",
        "relabel",
        "bits",
        "slices",
        "inner",
        "matrix",
        "dlpack",
        "part",
        "all",
    ],
)
def test_what_needs_an_order_makes_it(ask: object) -> None:
    """Whatever changes the state, or shows its memory, is right on sums of index bits, which are put in order first."""
    state, psi = summed()
    with state:
        ask(state)  # type: ignore[operator]
        assert state.index_map.is_plain
        found = state.to_numpy()
        if abs(found[3] - 0.25) < 1e-12:
            psi[3] = 0.25
        elif found[0] == 1:
            psi = np.eye(1, 1 << WIRES)[0]
        np.testing.assert_allclose(found, psi, atol=1e-12)


def test_a_staged_state_is_in_order() -> None:
    """What is told of the order of a staged state does not end its access."""
    state, psi = summed()
    with state:
        state.stage(0)
        assert sorted(state.local_wires) == list(range(WIRES))
        array = state.sub_state_vector(0)
        assert np.array_equal(array[state.index_map.index_of(np.arange(1 << WIRES))], psi)


def test_a_collapse_and_more_wires() -> None:
    """Collapsing, adding and removing wires act on the basis states that they name."""
    state, psi = summed()
    with state:
        weight = state.collapse([4], 1)
        kept = psi * (np.arange(1 << WIRES) >> 4 & 1)
        assert weight == pytest.approx(np.sum(np.abs(kept) ** 2))
        np.testing.assert_allclose(state.to_numpy(), kept / np.linalg.norm(kept), atol=1e-12)
    state, psi = summed()
    with state:
        state.add_wires(1)
        np.testing.assert_allclose(state.to_numpy(), np.concatenate([psi, 0 * psi]), atol=1e-12)


def test_the_order_is_made_by_one_thread() -> None:
    """Reading the layout of a state that another thread uses is refused where it would move amplitudes."""
    from threading import Thread

    state, _ = summed()
    raised: list[Exception] = []

    def read() -> None:
        try:
            _ = state.layout
        except StateVectorBusy as error:
            raised.append(error)

    with state, state.placed():
        thread = Thread(target=read)
        thread.start()
        thread.join()
    assert len(raised) == 1
