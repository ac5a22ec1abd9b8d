"""Sub state vectors hold what they are said to hold, may be changed by hand, and the state keeps the changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.deployments import ON_CPU
from support.states import far, random_state, values_of
from support.tiny_machine import TinyMachine

from qsim_ex import CircuitBuilder, StateVector
from qsim_ex.devices import discover
from qsim_ex.errors import OptionError, OutOfMemory, StateError, StateVectorClosed, WireError

WIRES = 8

few = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every device is one that leaves NaN where nothing was written."""
    device = TinyMachine()
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: device)


@pytest.fixture(params=ON_CPU.values(), ids=str)
def deployment(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Options of each deployment."""
    return {"device": "cpu", **request.param.options}


def spread_out(deployment: dict[str, Any], psi: np.ndarray) -> StateVector:
    """A state whose wires are not in order and of which some are inverted."""
    state = StateVector(WIRES, initial=psi, **deployment)
    return state.permute([5, 2, 7, 0, 1, 6, 3, 4]).gate("x", [6]).gate("x", [2])


def after_x(psi: np.ndarray) -> np.ndarray:
    """The amplitudes of `spread_out`."""
    return psi[np.arange(len(psi)) ^ (1 << 6 | 1 << 2)]


def test_every_index_bit_is_in_one_level(deployment: dict[str, Any]) -> None:
    """Every wire is in exactly one level, and the counts fit to the levels."""
    with spread_out(deployment, random_state(WIRES)) as state:
        assert state.local_wires + state.peer_wires + state.migration_wires == state.wire_ordering
        assert 1 << (WIRES - len(state.local_wires)) == len(state.sub_state_vectors)
        assert len(state.peer_wires) == deployment.get("virtual_peers", 1).bit_length() - 1
        assert state.slices_per_sub_state_vector >= 1
        assert (state.placement == "single") == (len(state.sub_state_vectors) == 1)


def test_a_users_kernel_sees_every_amplitude(deployment: dict[str, Any]) -> None:
    """The documented loop sees every sub state vector in its place, and the state keeps what it writes."""
    psi = random_state(WIRES)
    with spread_out(deployment, psi) as state:
        local = len(state.local_wires)
        layout = state.layout
        for index in state.sub_state_vectors:
            state.stage(index)
            state.stage(index)  # nothing happens
            assert index in state.staged
            array = state.sub_state_vector(index)
            assert array.shape == (1 << local,)
            number = np.arange(1 << local) | index << local
            array *= np.exp(1j * number)  # by index, so an array in another's place shows
        stored = np.arange(1 << WIRES)
        index_of = np.array([layout.index(int(value)) for value in stored])
        wanted = after_x(psi) * np.exp(1j * index_of)
        assert far(state.to_numpy(), wanted) < 1e-12
        assert state.norm() == pytest.approx(1)


def test_a_state_that_has_not_grown_is_whole_when_staged(deployment: dict[str, Any]) -> None:
    """A sub state vector that nothing has written yet is zero when it is staged."""
    with StateVector(WIRES, **deployment) as state:
        total = 0.0
        for index in state.sub_state_vectors:
            state.stage(index)
            total += float(np.sum(np.abs(state.sub_state_vector(index)) ** 2))
        assert total == 1
        state.gate("h", [WIRES - 1])
        assert state.probabilities([WIRES - 1]) == pytest.approx([0.5, 0.5])


def test_what_lies_where_is_told_after_expose(deployment: dict[str, Any]) -> None:
    """Where amplitudes are stored is known after expose() alone, and no longer after more work."""
    with spread_out(deployment, random_state(WIRES)) as state:
        for ask in (lambda: state.staged, lambda: state.unstaged, lambda: state.sub_state_vector(0)):
            with pytest.raises(StateError, match=r"expose\(\)"):
                ask()
        state.expose()
        assert sorted(state.staged + state.unstaged) == list(state.sub_state_vectors)
        state.stage(0)
        assert state.device_of(0) is state.device
        assert state.stream_of(0) is None
        state.gate("h", [0])
        with pytest.raises(StateError, match=r"expose\(\)"):
            _ = state.staged
        state.stage(len(state.sub_state_vectors) - 1)
        assert state.staged
        for index in (-1, len(state.sub_state_vectors), 0.5, "a"):
            with pytest.raises(StateError, match="expected the number of a sub state vector, 0 to"):
                state.stage(index)  # type: ignore[arg-type]
    for use in (state.expose, lambda: state.stage(0), lambda: state.staged):
        with pytest.raises(StateVectorClosed):
            use()


def test_slices_of_the_host_are_the_state(deployment: dict[str, Any]) -> None:
    """After expose() slices hold the amplitudes of the state, and the state keeps what is written to them."""
    psi = random_state(WIRES)
    with spread_out(deployment, psi) as state:
        with pytest.raises(StateError, match=r"expose\(\)"):
            state.slice(0, 0)
        layout = state.layout
        state.expose()
        if not state.migration_wires:
            with pytest.raises(StateError, match="no slices in host memory"):
                state.slice(0, 0)
            return
        assert state.unstaged == tuple(state.sub_state_vectors)
        count = state.slices_per_sub_state_vector
        assert count >= 2
        size = (1 << WIRES) // len(state.sub_state_vectors) // count
        for index in state.unstaged:
            for number in range(count):
                array = state.slice(index, number)
                assert array.shape == (size,)
                first = (index * count + number) * size
                array *= np.exp(1j * np.arange(first, first + size))
        for wrong in ((0, count), (len(state.sub_state_vectors), 0), (0, -1)):
            with pytest.raises(StateError, match="expected slices 0 to"):
                state.slice(*wrong)
        index_of = np.array([layout.index(value) for value in range(1 << WIRES)])
        assert far(state.to_numpy(), after_x(psi) * np.exp(1j * index_of)) < 1e-12
        with pytest.raises(StateError, match=r"expose\(\)"):
            state.slice(0, 0)
        state.gate("h", [0]).gate("h", [0])
        assert far(state.to_numpy(), after_x(psi) * np.exp(1j * index_of)) < 1e-12


# --- wires -----------------------------------------------------------------------------------------------------


@few
@given(data=st.data())
def test_index_bits_move_and_the_state_stays(deployment: dict[str, Any], data: st.DataObject) -> None:
    """Moving index bits puts each where it was asked for, and keeps the state."""
    psi, bits = random_state(WIRES), data.draw(st.permutations(range(WIRES)))
    for mode in ("gather", "scatter"):
        with spread_out(deployment, psi) as state:
            before, flip = state.wire_ordering, state.layout.flip
            state.permute_index_bits(bits, mode)  # type: ignore[arg-type]
            for k, bit in enumerate(bits):
                new, old = (k, bit) if mode == "gather" else (bit, k)
                assert state.wire_ordering[new] == before[old]
                assert state.layout.flip >> new & 1 == flip >> old & 1
            assert far(state.to_numpy(), after_x(psi)) < 1e-12
    with spread_out(deployment, psi) as state, pytest.raises(OptionError, match="'gather', 'scatter'"):
        state.permute_index_bits(bits, "both")  # type: ignore[arg-type]


@few
@given(data=st.data())
def test_an_ordering_is_reassigned(deployment: dict[str, Any], data: st.DataObject) -> None:
    """Another ordering renames the wires of the stored amplitudes, which stay."""
    psi, ordering = random_state(WIRES), data.draw(st.permutations(range(WIRES)))
    with spread_out(deployment, psi) as state:
        before = state.wire_ordering
        state.reassign(ordering)
        assert state.wire_ordering == tuple(ordering)
        names = [ordering[before.index(wire)] for wire in range(WIRES)]  # wire w is called names[w] now
        wanted = np.empty_like(psi)
        wanted[values_of([names.index(w) for w in range(WIRES)], WIRES)] = after_x(psi)
        assert far(state.to_numpy(), wanted) < 1e-12
        with pytest.raises(WireError):
            state.reassign([0] * WIRES)


def test_wires_come_and_go(deployment: dict[str, Any]) -> None:
    """A new wire is |0>, a wire at one value can be removed, and an entangled one cannot."""
    psi = random_state(WIRES)
    with spread_out(deployment, psi) as state:
        state.add_wires(2)
        assert state.num_wires == state.where.deployment.num_wires == WIRES + 2
        assert far(state.to_numpy(), np.kron([1, 0, 0, 0], after_x(psi))) < 1e-12
        state.gate("x", [WIRES]).gate("h", [WIRES + 1]).gate("cx", [WIRES + 1, 0])
        with pytest.raises(StateError, match="Uncompute, measure or collapse"):
            state.remove_wires([WIRES + 1])
        state.gate("cx", [WIRES + 1, 0]).gate("h", [WIRES + 1])
        state.remove_wires([WIRES, WIRES + 1])
        assert state.num_wires == len(state.wire_ordering) == WIRES
        assert far(state.to_numpy(), after_x(psi)) < 1e-12
        again = CircuitBuilder(WIRES).gate("h", [3]).build()
        assert state.apply(again).norm() == pytest.approx(1)


def test_removed_wires_take_their_history_along(deployment: dict[str, Any]) -> None:
    """After wires were renumbered, used ones count as used and new ones as new."""
    with StateVector(WIRES, **deployment) as state:
        state.gate("h", [3]).remove_wires([1])
        state.apply(CircuitBuilder(WIRES - 1).initialize([0.6, 0.8], [3]).build())
        assert state.probabilities([3]) == pytest.approx([0.36, 0.64])
        with pytest.raises(NotImplementedError):
            state.apply(CircuitBuilder(WIRES - 1).initialize([0.6, 0.8], [2]).build())


def test_a_clone_is_another_state(deployment: dict[str, Any]) -> None:
    """A clone is in the same state, with memory of its own."""
    psi = random_state(WIRES)
    with spread_out(deployment, psi) as state, state.clone() as other:
        assert other.placement == state.placement
        assert other.fidelity(state) == pytest.approx(1)
        other.gate("x", [0])
        assert far(state.to_numpy(), after_x(psi)) < 1e-12
        assert far(other.to_numpy(), after_x(psi)[np.arange(1 << WIRES) ^ 1]) < 1e-12
        state.close()
        assert other.norm() == pytest.approx(1)


def test_no_memory_for_more(deployment: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that cannot grow or be cloned, for want of memory, stays as it was."""
    psi = random_state(WIRES)
    with spread_out(deployment, psi) as state:

        def refuse(*_: Any) -> None:
            raise OutOfMemory("no more.")

        monkeypatch.setattr(TinyMachine, "allocate", refuse)
        for grow in (state.clone, lambda: state.add_wires(1)):
            with pytest.raises(OutOfMemory):
                grow()
        assert far(state.to_numpy(), after_x(psi)) < 1e-12
