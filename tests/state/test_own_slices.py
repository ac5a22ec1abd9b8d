"""Each process gets the amplitudes that it holds, and whoever asks for all of them is told where they do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.held import Hold
from support.together import together

from qsim_ex import CircuitBuilder, Simulator, StateVector
from qsim_ex.comm.connection import connected
from qsim_ex.comm.protocol import Communicator
from qsim_ex.devices import discover
from qsim_ex.errors import OutOfMemory
from qsim_ex.state import memory_owner

WIRES = 6


def circuit(wires: int = WIRES) -> Any:
    """Gates after which all amplitudes differ, and wires have moved."""
    builder = CircuitBuilder(wires)
    for layer in range(3):
        for wire in range(wires):
            builder.gate("ry", [wire], 0.3 + wire + layer).gate("cx", [wire, (wire + 1 + layer) % wires])
    return builder.gate("swap", [0, wires - 1]).gate("x", [1]).build()


WHOLE = Simulator(device="cpu").state(circuit()).to_numpy()


def on_ranks(size: int, work: Any, **options: Any) -> list[Any]:
    """What each rank makes of the state of the circuit over all of them."""

    def run(end: Communicator) -> Any:
        given: Any = {"device": "cpu", "threads": 1, "processes": size, **options}
        with connected(end, this_thread=True), Simulator(**given).state(circuit()) as state:
            return work(state)

    return together(size, run)


@pytest.mark.parametrize(("size", "devices"), [(2, 1), (4, 1), (3, 1), (2, 2)])
def test_ranks_have_each_amplitude_once(size: int, devices: int) -> None:
    """The slices of all ranks, in their order, are the state; a rank beyond a power of two has none."""
    found = on_ranks(size, StateVector.own_slices, virtual_peers=devices)
    assert [len(slices) for slices in found] == [
        devices if rank < 1 << size.bit_length() - 1 else 0 for rank in range(size)
    ]
    slices = sorted((one for rank in found for one in rank), key=lambda one: one.start)
    assert [one.stop for one in slices] == [*(one.start for one in slices[1:]), 1 << WIRES]
    assert np.allclose(np.concatenate([one.amplitudes for one in slices]), WHOLE, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "options", [{}, {"virtual_peers": 2}, {"device_wires": 4}, {"device": "cpu", "precision": "single"}]
)
def test_a_state_of_one_process_is_one_slice(options: dict[str, Any]) -> None:
    """It begins at 0 and has all amplitudes, in every placement."""
    with Simulator(**{"device": "cpu", **options}).state(circuit()) as state:
        (one,) = state.own_slices()
    assert (one.start, one.stop, one.amplitudes.dtype) == (0, 1 << WIRES, state.dtype)
    assert np.allclose(one.amplitudes, WHOLE, rtol=0, atol=1e-6)


def test_large_answers_are_summed_in_pieces(hold: Hold) -> None:
    """Gathered amplitudes and probabilities are the same if they are larger than what is summed at once."""
    hold(summed_bytes=7 * 16)
    for whole, probabilities in on_ranks(4, lambda state: (state.to_numpy(), state.probabilities())):
        assert np.allclose(whole, WHOLE, rtol=0, atol=1e-12)
        assert np.allclose(probabilities, np.abs(WHOLE) ** 2, rtol=0, atol=1e-12)


def test_wires_that_are_zero_have_slices_too() -> None:
    """A rank whose amplitudes are all known to be zero has zeros."""

    def work(end: Communicator) -> Any:
        with connected(end, this_thread=True), StateVector(4, device="cpu", processes=2) as state:
            return state.gate("h", [0]).own_slices()

    (first,), (second,) = together(2, work)
    assert np.allclose(first.amplitudes, [*[0.5**0.5] * 2, *[0] * 6])
    assert (second.start, np.count_nonzero(second.amplitudes)) == (8, 0)


def test_whole_arrays_that_do_not_fit_are_refused_on_all_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what each process would hold, and names the slices; it is the same on every rank."""
    monkeypatch.setattr(discover, "host_free", lambda: (1 << 28) - 1)
    monkeypatch.setattr(memory_owner, "host_free", lambda: (1 << 28) - 1)

    def work(end: Communicator) -> Any:
        with connected(end, this_thread=True), StateVector(23, device="cpu", processes=2) as state:
            with pytest.raises(OutOfMemory) as caught:
                state.to_numpy()
            assert len(state.own_slices()[0].amplitudes) == 1 << 22
            return str(caught.value)

    first, second = together(2, work)
    assert first == second
    assert "a copy of the state needs 128 MiB on each of 2 processes" in first
    assert "own_slices() of a StateVector" in first


def test_saved_states_that_do_not_fit_are_refused_on_all_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state vector is saved on every rank, so each host needs room for all of its ranks."""
    monkeypatch.setattr(discover, "host_free", lambda: 100 << WIRES)
    saving = CircuitBuilder(WIRES).gate("h", [0])
    for wire in range(1, WIRES):
        saving.gate("cx", [wire - 1, wire])
    for label in "abcd":
        saving.save(label)
    made = saving.build()

    def work(end: Communicator) -> Any:
        with connected(end, this_thread=True):
            return Simulator(device="cpu", processes=2).run(made, shots=None)

    for error in together(2, work):
        assert isinstance(error, OutOfMemory)
        assert "own_slices() of a StateVector" in str(error)
