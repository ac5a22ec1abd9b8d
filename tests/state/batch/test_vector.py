"""A batch of states is made, measured, moved and closed, each state as if it were alone."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batched_states import batch_in, host, in_parts, near, random_rows, same_device
from support.held import Hold
from support.plain_device import PlainDevice
from support.states import state_in
from support.strategies import layouts

from qsim_ex import BatchedStateVector, CircuitBuilder, Options, StateVector, errors, reference
from qsim_ex.devices import discover

ROWS = st.sampled_from([1, 3, 6])


@pytest.fixture(autouse=True)
def _in_parts(hold: Hold) -> None:
    """Even a few states are worked on and asked in several parts."""
    in_parts(hold)


class Sole:
    """A device that works on one state at a time."""

    kind, name, in_host_memory = "cpu", "sole", True

    def memory(self) -> tuple[int, int]:
        """Enough."""
        return 1 << 30, 1 << 30


# --- made ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_new_batches(options: Options, rows: int, n: int) -> None:
    """A new batch is |0…0> in every state, and states its size."""
    with BatchedStateVector(rows, n, options=options) as batch:
        assert np.array_equal(batch.get(), np.repeat(reference.zero_state(n)[None], rows, axis=0))
        assert (batch.rows, batch.num_wires, batch.stride, batch.dtype) == (rows, n, 1 << n, options.dtype)
        assert batch.nbytes == rows * options.dtype.itemsize << n
        assert batch.array.shape == (rows, 1 << n)


@pytest.mark.parametrize("given_array", [False, True])
def test_initial_states(options: Options, given_array: bool) -> None:
    """Basis values and amplitudes go to their states and wires, and into a caller's array."""
    rows, n = 5, 4
    psi, values = random_rows(rows, n), [3, 0, 15, 8, 8]
    wanted = {
        "one value": (6, np.repeat(np.eye(16)[6:7], rows, axis=0)),
        "values": (values, np.eye(16)[values]),
        "one state": (psi[0], np.repeat(psi[:1], rows, axis=0)),
        "states": (psi, psi),
    }
    for initial, states in wanted.values():
        changes = {"options": options}
        if given_array:
            xp = pytest.importorskip("cupy") if options.device == "gpu" else np
            changes = {"array": xp.full((rows, 1 << n), 7, dtype=options.dtype)}
        with BatchedStateVector(rows, n, initial=initial, **changes) as batch:
            np.testing.assert_allclose(batch.get(), states, **near(options, 1))
            if given_array:
                np.testing.assert_allclose(host(changes["array"]), states, **near(options, 1))


def test_a_callers_array_is_used_in_place(options: Options) -> None:
    """Gates work on the contents of a caller's array, in place."""
    xp = pytest.importorskip("cupy") if options.device == "gpu" else np
    psi = random_rows(3, 5)
    array = xp.asarray(psi.astype(options.dtype))
    batch = BatchedStateVector(3, 5, array=array).gate("h", [4]).gate("cx", [4, 0]).canonical()
    batch.synchronize()
    circuit = CircuitBuilder(5).gate("h", [4]).gate("cx", [4, 0]).build()
    assert batch.dtype == options.dtype
    np.testing.assert_allclose(host(array), [reference.simulate(circuit, one) for one in psi], **near(options))


def test_what_cannot_be_made(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong shapes, states that are not normalised, and options for one divided state are refused."""
    psi = random_rows(3, 2)
    psi[1] *= 2
    bad = [
        (errors.StateError, r"state 1 not normalised", {"initial": psi}),
        (errors.StateError, r"shape \(3, 4\), or \(4,\) for all, got float64 of shape \(3,\)", {"initial": np.ones(3)}),
        (errors.CircuitError, r"of shape \(3,\), got shape \(4,\)", {"initial": [1, 0, 0, 0]}),
        (errors.CircuitError, r"basis values of 2 wires .* got 4 for state 2", {"initial": [0, 1, 4]}),
        (errors.OptionError, "one piece", {"device": "cpu", "device_wires": 1}),
    ]
    for error, message, changes in bad:
        with pytest.raises(error, match=message):
            BatchedStateVector(3, 2, **{"options": options, **changes})
    with pytest.raises(errors.CircuitError, match="rows=0"):
        BatchedStateVector(0, 2, options=options)
    with pytest.raises(errors.StateError, match=r"shape \(3, 4\), got \(4, 4\)"):
        BatchedStateVector(3, 2, array=np.zeros((4, 4), dtype=complex))
    with pytest.raises(errors.StateError, match=r"\[8, 1\] amplitudes apart"):
        BatchedStateVector(3, 2, array=np.zeros((3, 8), dtype=complex)[:, :4])
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: PlainDevice(free=1000))
    with pytest.raises(
        errors.OutOfMemory, match=r"50 times, need 3\.1 KiB; the host has 1000 bytes.*15 of these states"
    ):
        BatchedStateVector(50, 2, device="cpu")
    with BatchedStateVector(15, 2, device="cpu") as batch, pytest.raises(errors.OutOfMemory, match="16 times"):
        batch.take([0] * 16)
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: Sole())
    with pytest.raises(errors.NotSupported, match="sole does not work on batches"):
        BatchedStateVector(3, 2, device="cpu")


# --- chance ----------------------------------------------------------------------------------------------------


@same_device
@given(data=st.data(), rows=ROWS, n=st.integers(0, 5), mode=st.sampled_from(["normalise", "none", "reset"]))
def test_collapse_and_measure(options: Options, data: st.DataObject, rows: int, n: int, mode: str) -> None:
    """A state is measured and collapsed as the same state alone."""
    psi = random_rows(rows, n, data.draw(st.integers(0, 99))) * 1.5
    wires = data.draw(st.permutations(range(n)))[: data.draw(st.integers(0, n))]
    values = [data.draw(st.integers(0, (1 << len(wires)) - 1)) for _ in range(rows)]
    seeds, layout = [data.draw(st.integers(0, 99)) for _ in range(rows)], data.draw(layouts(n))
    with batch_in(options, psi / 1.5, layout) as one, batch_in(options, psi / 1.5, layout) as other:
        one.set(psi)
        other.set(psi)
        other._states.arrange(layout)
        probabilities = one.collapse(wires, values, mode)
        measured = other.measure(wires, seed=seeds, collapse=mode)
        collapsed, left = one.to_numpy(), other.to_numpy()
    for row in range(rows):
        with state_in(options, psi[row] / 1.5) as state:
            state.set(psi[row])
            assert state.collapse(wires, values[row], mode) == pytest.approx(probabilities[row], rel=1e-5)
            np.testing.assert_allclose(collapsed[row], state.to_numpy(), **near(options, 10))
            state.set(psi[row])
            if state.measure(wires, seed=seeds[row], collapse=mode) == measured[row] or options.precision == "double":
                np.testing.assert_allclose(left[row], state.to_numpy(), **near(options, 10))


def test_impossible_collapse(options: Options) -> None:
    """A projection on a value of probability zero is refused by name, and the states stay."""
    with BatchedStateVector(4, 2, options=options).gate("h", [1]).gate("rx", [0], [0, 0.1, 0, 0.1]) as batch:
        before = batch.to_numpy()
        with pytest.raises(errors.StateError, match=r"wires \[0\] of states 0, 2 are never found at 1"):
            batch.collapse([0], [1, 1, 1, 0])
        with pytest.raises(errors.CircuitError, match="got 2 for state 3"):
            batch.collapse([0], [1, 1, 1, 2])
        with pytest.raises(errors.CircuitError, match=r"expected 4 values, or one for all states, got shape \(3,\)"):
            batch.collapse([0], [1, 1, 1])
        with pytest.raises(errors.OptionError, match="from 0 up to"):
            batch.measure([0], random=[0.1, 1, 0, 0])
        with pytest.raises(errors.OptionError, match="collapse"):
            batch.measure([0], collapse="both")  # type: ignore[arg-type]
        assert np.array_equal(batch.to_numpy(), before)
        assert batch.measure([1], random=[0.4, 0.6, 0.7, 0.2]).tolist() == [0, 1, 1, 0]


def test_a_wire_that_was_reset_can_be_initialised(options: Options) -> None:
    """After a reset a wire can be initialised."""
    circuit = CircuitBuilder(2).initialize([0.6, 0.8], [1]).build()
    with BatchedStateVector(3, 2, options=options).gate("h", [1]) as batch:
        batch.measure([1], seed=1, collapse="reset")
        np.testing.assert_allclose(batch.apply(circuit).probabilities([1]), [[0.36, 0.64]] * 3, **near(options))


# --- amplitudes, and other batches -----------------------------------------------------------------------------


@same_device
@given(data=st.data(), rows=ROWS, n=st.integers(0, 5))
def test_set_take_row(options: Options, data: st.DataObject, rows: int, n: int) -> None:
    """Amplitudes are written where they belong, and copies are of the chosen states with memory of their own."""
    psi = random_rows(rows, n)
    start = data.draw(st.integers(0, 1 << n))
    stop = data.draw(st.integers(start, 1 << n))
    chosen = data.draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=5))
    with batch_in(options, psi, data.draw(layouts(n))) as batch:
        if n:
            batch.permute(order := data.draw(st.permutations(range(n))))
            assert batch.wire_ordering == tuple(order)
        taken, whole, one = batch.take(chosen), batch.clone(), batch.row(chosen[0])
        np.testing.assert_allclose(batch.to_numpy(), psi, **near(options))
        batch.set(changed := 2 * psi[:, start:stop], start)
        whole.set(alike := 3 * psi[0, start:stop], start)
        assert isinstance(one, StateVector)
        np.testing.assert_allclose(taken.to_numpy(), psi[chosen], **near(options))
        np.testing.assert_allclose(one.to_numpy(), psi[chosen[0]], **near(options))
        np.testing.assert_allclose(batch.get(start, stop), changed, **near(options))
        np.testing.assert_allclose(whole.get(start, stop), np.repeat(alike[None], rows, axis=0), **near(options))
        for other in (batch, whole):
            np.testing.assert_allclose(other.get(0, start), psi[:, :start], **near(options))
            np.testing.assert_allclose(other.get(stop), psi[:, stop:], **near(options))
        with pytest.raises(errors.StateError, match=f"got {rows}"):
            batch.take([0, rows])
        with pytest.raises(errors.StateError, match="got shape"):
            batch.set(np.zeros((rows + 1, 1)))
        for owner in (taken, whole, one):
            owner.close()


def test_growing_states_are_copied(options: Options) -> None:
    """Copies of a growing state have its amplitudes, and grow."""
    with BatchedStateVector(3, 8, options=options, initial=5) as batch:
        for copy in (batch.take([2, 0]), batch.clone(), batch.row(1), batch):
            found = copy.gate("h", [4]).to_numpy().reshape(-1, 1 << 8)
            assert all(np.flatnonzero(one).tolist() == [5, 21] for one in found)


def test_arrays_are_shared_in_order(options: Options) -> None:
    """Another library sees the same memory, with amplitudes in the order of the wires."""
    psi = random_rows(3, 3)
    with batch_in(options, psi).permute([2, 0, 1]) as batch:
        if options.device == "gpu":
            import cupy

            shared = cupy.asarray(batch)
            assert shared.data.ptr == batch.array.data.ptr
            np.testing.assert_allclose(shared.get(), psi, **near(options))
        else:
            assert np.shares_memory(np.asarray(batch), batch.array)
            np.testing.assert_allclose(np.asarray(batch), psi, **near(options))
            np.testing.assert_allclose(np.from_dlpack(batch), psi, **near(options))


# --- its life --------------------------------------------------------------------------------------------------


def test_closed_batches_say_so(options: Options) -> None:
    """A closed or cancelled batch refuses to be used, and closing twice is allowed."""
    cancel = threading.Event()
    cancel.set()
    steps = []
    cancelled = BatchedStateVector(2, 3, options=options.with_({"progress": lambda *told: steps.append(told)}))
    cancelled.gate("h", [0])
    assert steps[-1][0] == steps[-1][1] > 0
    with pytest.raises(errors.Cancelled, match="0 of"):
        cancelled.apply(CircuitBuilder(3).gate("h", [0]).build(), cancel=cancel)
    closed = BatchedStateVector(2, 3, options=options)
    closed.close()
    closed.close()
    for batch in (cancelled, closed):
        assert batch.closed
        assert "closed" in repr(batch)
        for use in (
            lambda batch=batch: batch.gate("h", [0]),
            lambda batch=batch: batch.sample(1),
            lambda batch=batch: batch.array,
            lambda batch=batch: batch.take([0]),
            batch.norm,
            batch.__enter__,
        ):
            with pytest.raises(errors.StateVectorClosed):
                use()


def test_one_thread_at_a_time(options: Options) -> None:
    """A second thread is refused while the first one works."""
    inside, leave = threading.Event(), threading.Event()

    def progress(_done: int, _total: int) -> None:
        inside.set()
        leave.wait(10)

    batch = BatchedStateVector(2, 3, options=options.with_({"progress": progress}))
    worker = threading.Thread(target=batch.gate, args=("h", [0]))
    worker.start()
    assert inside.wait(10)
    with pytest.raises(errors.StateVectorBusy):
        batch.norm()
    leave.set()
    worker.join()
    assert batch.probabilities([0]) == pytest.approx(np.full((2, 2), 0.5))
