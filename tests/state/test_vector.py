"""A state vector is made, worked on, moved and closed as its methods say."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.deployments import ROWS, DeploymentRow
from support.states import TOLERANCE, far, random_state, state_in, values_of
from support.strategies import circuits, layouts

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Initialize
from qsim_ex.devices import discover
from qsim_ex.errors import Cancelled, NotSupported, OptionError, StateError, StateVectorBusy, StateVectorClosed
from qsim_ex.options import Options
from qsim_ex.state.vector import StateVector
from qsim_ex.steps import Layout

same_device = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def initialises(circuit: Circuit) -> bool:
    """Whether a circuit puts wires into a given state."""
    return any(isinstance(instruction, Initialize) for instruction in circuit.instructions)


# --- made ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_wires", [0, 1, 5])
def test_a_new_state_is_zero(options: Options, num_wires: int) -> None:
    """A new state is |0…0>, also without wires."""
    with StateVector(num_wires, options=options) as state:
        assert np.array_equal(state.to_numpy(), reference.zero_state(num_wires))
        assert state.to_numpy().dtype == state.dtype == options.dtype
        assert state.nbytes == options.dtype.itemsize << num_wires


def test_a_basis_state(options: Options) -> None:
    """Bit w of the initial value is wire w."""
    with StateVector(4, options=options, initial=0b0110) as state:
        assert state.probabilities([1, 2]).tolist() == [0, 0, 0, 1]
        assert state.amplitudes(["0110"]) == [1]


def test_a_callers_array_is_used_in_place(options: Options) -> None:
    """Gates work on the contents of a caller's array, in place."""
    if options.device == "gpu":
        import cupy as xp
    else:
        xp = np
    psi = random_state(5).astype(options.dtype)
    array = xp.asarray(psi.copy())
    builder = CircuitBuilder(5)
    for wire in range(5):
        builder.gate("h", [wire])
    circuit = builder.build()
    state = StateVector(5, array=array).apply(circuit)
    assert state.dtype == options.dtype
    state.canonical()
    state.synchronize()
    assert far(np.asarray(array.get() if xp is not np else array), reference.simulate(circuit, psi)) < 1e-5


# --- worked on -------------------------------------------------------------------------------------------------


@same_device
@given(circuit=circuits(max_qubits=6), data=st.data())
def test_apply_is_the_definition(options: Options, circuit: Circuit, data: st.DataObject) -> None:
    """A circuit, applied from |0…0>, and another in the layout where it ended, give the defined state."""
    n = circuit.num_qubits
    again = data.draw(circuits(min_qubits=n, max_qubits=n).filter(lambda c: not initialises(c)))
    wanted = reference.simulate(again, reference.simulate(circuit))
    with StateVector(circuit.num_qubits, options=options) as state:
        state.apply(circuit).apply(again)
        assert far(state.to_numpy(), wanted) <= 4 * TOLERANCE[options.precision]


def test_applied_in_order(options: Options) -> None:
    """The amplitudes stand in the order of the wires afterwards, also where the layout was another one before."""
    builder = CircuitBuilder(6)
    for name, wires in (("h", [1]), ("swap", [0, 4]), ("x", [2]), ("iswap", [3, 5]), ("cx", [4, 2]), ("y", [0])):
        builder.gate(name, wires)
    circuit = builder.build()
    with StateVector(6, options=options) as state:
        expected = reference.zero_state(6)
        for number in range(3):
            if number == 2:
                state.permute([5, 3, 1, 0, 2, 4])
            state.apply(circuit, in_order=True)
            expected = reference.simulate(circuit, expected)
            assert state.layout.is_identity()
            assert far(state.to_numpy(), expected) < TOLERANCE[options.precision]


@pytest.mark.parametrize("order", [range(9), range(8, -1, -1), (3, 8, 1, 6, 0, 7, 5, 2, 4)])
@pytest.mark.parametrize("read", [True, False])
def test_wires_that_wait_at_zero_in_order(order: Sequence[int], read: bool) -> None:
    """Wires that nothing has touched yet cost no work, and their zeros are there whenever amplitudes are read."""
    with StateVector(9, device="cpu", precision="double") as state:
        expected = reference.zero_state(9)
        for number, (a, b) in enumerate(pairwise(order)):
            circuit = CircuitBuilder(9).gate("ry", [a], 0.3 + number).gate("cx", [a, b]).gate("h", [order[0]]).build()
            state.apply(circuit, in_order=number != 4)
            expected = reference.simulate(circuit, expected)
            if read or number in (3, 7):
                assert far(np.asarray(state), expected) <= TOLERANCE["double"]
        state.collapse([order[2]], 1, "reset")
        state.apply(circuit, in_order=True)
        moved = np.where(np.arange(512) >> order[2] & 1, expected, 0)
        moved = reference.simulate(CircuitBuilder(9).gate("x", [order[2]]).build(), moved / np.linalg.norm(moved))
        assert far(np.asarray(state), reference.simulate(circuit, moved)) <= TOLERANCE["double"]


def test_gate_and_unitary(options: Options) -> None:
    """Gates and matrices that are applied one at a time act on the wires and controls named."""
    psi = random_state(4)
    matrix = np.linalg.qr(random_state(4, 1).reshape(4, 4))[0]
    builder = CircuitBuilder(4).gate("ry", [2], 0.3, controls=[0, 3], control_values=0b01)
    circuit = builder.unitary(matrix, [3, 1], controls=[0]).build()
    with state_in(options, psi) as state:
        state.gate("ry", [2], 0.3, controls=[0, 3], control_values=0b01).unitary(matrix, [3, 1], controls=[0])
        assert far(state.to_numpy(), reference.simulate(circuit, psi)) <= 3 * TOLERANCE[options.precision]


@pytest.mark.parametrize("low_wires", [0, 1, 3, 5])
def test_a_product_is_the_kronecker_product(options: Options, low_wires: int) -> None:
    """Wires of the first state come first; what the state was before does not matter, and what follows acts on it."""
    low, high = random_state(low_wires), random_state(5 - low_wires, 1)
    circuit = CircuitBuilder(5).gate("h", [0]).gate("cx", [1, 4]).build()
    first = StateVector(low_wires, initial=low)
    second = StateVector(5 - low_wires, initial=high, precision="double")
    with state_in(options, random_state(5, 2)) as state:
        state.permute([3, 1, 0, 2, 4]).set_product(first, second)
        product = np.kron(high, low)
        assert far(state.to_numpy(), product) <= TOLERANCE["single"]
        assert far(state.apply(circuit).to_numpy(), reference.simulate(circuit, product)) <= 2 * TOLERANCE["single"]


@pytest.mark.parametrize("row", [row for row in ROWS if not row.gpus], ids=str)
def test_a_product_may_be_anywhere(row: DeploymentRow) -> None:
    """It is the same wherever the amplitudes are."""
    wires = row.wires + 3
    low, high = random_state(row.wires), random_state(3, 1)
    options = Options(device="cpu", precision="double").with_(row.options)
    with (
        StateVector(wires, options=options, initial=random_state(wires, 2)) as state,
        StateVector(row.wires, initial=low, precision="double") as first,
        StateVector(3, initial=high, precision="double") as second,
    ):
        assert state.where.deployment.kind == row.kind
        state.set_product(first, second).set_product(first, second)
        assert far(state.to_numpy(), np.kron(high, low)) <= TOLERANCE["double"]


def test_a_product_has_all_wires() -> None:
    """States of other wires than this one's are refused, and nothing is changed."""
    with StateVector(3, initial=5, device="cpu") as state, StateVector(1, device="cpu") as part:
        with pytest.raises(StateError, match="expected states of 3 wires together, got 1 and 1 wires"):
            state.set_product(part, part)
        assert state.amplitudes([5]) == [1]


def test_a_product_that_no_piece_can_make_changes_nothing() -> None:
    """A second state of more wires than a sub state vector has is refused before anything is written."""
    with StateVector(5, initial=9, device="cpu", virtual_peers=4) as state, StateVector(4, device="cpu") as high:
        with pytest.raises(NotSupported, match="expected a second state of up to 3 wires"):
            state.set_product(StateVector(1, device="cpu"), high)
        assert state.amplitudes([9]) == [1]


def test_initialise_needs_untouched_wires(options: Options) -> None:
    """Untouched wires can be initialised, and touched ones are refused."""
    circuit = CircuitBuilder(2).initialize([0.6, 0.8], [1]).build()
    with StateVector(2, options=options) as state:
        state.gate("h", [0]).apply(circuit)
        assert state.probabilities([1]) == pytest.approx([0.36, 0.64])
        with pytest.raises(NotSupported, match=r"wire 1"):
            state.apply(circuit)
    with StateVector(2, options=options, initial=3) as state, pytest.raises(NotSupported):
        state.apply(circuit)


# --- moved -----------------------------------------------------------------------------------------------------


@same_device
@given(data=st.data())
def test_ranges_are_in_the_order_of_the_wires(options: Options, data: st.DataObject) -> None:
    """Reading and writing a range follow the order of the wires."""
    n = data.draw(st.integers(0, 5))
    psi = random_state(n)
    start = data.draw(st.integers(0, 1 << n))
    stop = data.draw(st.integers(start, 1 << n))
    with state_in(options, psi, data.draw(layouts(n))) as state:
        assert far(np.append(state.get(start, stop), 1), np.append(psi[start:stop], 1)) < 1e-6
        state.set(psi[start:stop] * 2, start)
        psi[start:stop] *= 2
        assert far(state.to_numpy(), psi) < 1e-6


@same_device
@given(data=st.data())
def test_permute_changes_memory_alone(options: Options, data: st.DataObject) -> None:
    """Moving wires in memory puts them where asked for, and keeps the state."""
    n = data.draw(st.integers(0, 5))
    psi = random_state(n)
    wires = data.draw(st.permutations(range(n)))
    with state_in(options, psi, data.draw(layouts(n))) as state:
        state.permute(wires)
        assert state.wire_ordering == tuple(wires)
        assert state.layout.flip == 0
        assert far(state.to_numpy(), psi) < 1e-6
        assert np.array_equal(state.canonical().get(), state.to_numpy())


@same_device
@given(data=st.data())
def test_relabel_renames_wires(options: Options, data: st.DataObject) -> None:
    """A renamed wire's amplitudes follow its name."""
    n = data.draw(st.integers(0, 5))
    psi = random_state(n)
    names = data.draw(st.permutations(range(n)))
    with state_in(options, psi, data.draw(layouts(n))) as state:
        state.relabel(names)
        wanted = np.empty_like(psi)
        wanted[values_of([names.index(w) for w in range(n)], n)] = psi
        assert far(state.to_numpy(), wanted) < 1e-6


def test_arrays_are_shared_in_order(options: Options) -> None:
    """Another library sees the same memory, with amplitudes in the order of the wires."""
    psi = random_state(4)
    with state_in(options, psi, Layout((3, 1, 0, 2), 6)) as state:
        if options.device == "gpu":
            import cupy

            shared = cupy.asarray(state)
            assert shared.data.ptr == state.array.data.ptr
            assert far(shared.get(), psi) < 1e-6
            assert far(cupy.from_dlpack(state).get(), psi) < 1e-6
            with pytest.raises(TypeError):
                np.asarray(state)
        else:
            assert np.shares_memory(np.asarray(state), state.array)
            assert far(np.asarray(state), psi) < 1e-6
            assert far(np.from_dlpack(state), psi) < 1e-6
            assert not np.shares_memory(np.array(state), state.array)
            assert not hasattr(state, "__cuda_array_interface__")


# --- closed ----------------------------------------------------------------------------------------------------


def test_closed_states_say_so(options: Options) -> None:
    """A closed state refuses to be used, and closing twice is allowed."""
    state = StateVector(2, options=options)
    state.close()
    state.close()
    assert state.closed
    assert "closed" in repr(state)
    for use in (
        lambda: state.apply(CircuitBuilder(2).build()),
        lambda: state.amplitudes([0]),
        lambda: state.sample(1),
        lambda: state.array,
        state.norm,
        state.__enter__,
    ):
        with pytest.raises(StateVectorClosed):
            use()


def test_one_thread_at_a_time(options: Options) -> None:
    """A second thread is refused while the first one works."""
    inside, leave = threading.Event(), threading.Event()

    def progress(_done: int, _total: int) -> None:
        inside.set()
        leave.wait(10)

    state = StateVector(3, options=options.with_({"progress": progress}))
    worker = threading.Thread(target=state.gate, args=("h", [0]))
    worker.start()
    assert inside.wait(10)
    with pytest.raises(StateVectorBusy):
        state.norm()
    with pytest.raises(StateVectorBusy):
        state.close()
    leave.set()
    worker.join()
    assert state.probabilities([0]) == pytest.approx([0.5, 0.5])
    state.close()


def _three_sweeps() -> Circuit:
    """A circuit that does not fit into one sweep of the tests' machine."""
    builder = CircuitBuilder(10)
    for wire in (0, 5, 9, 3, 8, 0, 9):
        builder.gate("h", [wire]).gate("cx", [wire, (wire + 4) % 10]).gate("ry", [(wire + 4) % 10], 0.2)
    return builder.build()


def test_an_interrupted_state_is_closed(options: Options) -> None:
    """After an interruption the state is closed and its memory released."""

    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    state = StateVector(10, options=options.with_({"progress": interrupt}))
    with pytest.raises(KeyboardInterrupt):
        state.apply(_three_sweeps())
    assert state.closed
    assert not hasattr(state._placement, "buffer")


def test_cancelled_before_a_step(options: Options) -> None:
    """A run that was cancelled before its first step does none, and closes the state."""
    cancel = threading.Event()
    cancel.set()
    state = StateVector(10, options=options)
    with pytest.raises(Cancelled, match="0 of"):
        state.apply(_three_sweeps(), cancel)
    assert state.closed


def test_an_empty_circuit_needs_no_step(options: Options) -> None:
    """A circuit without gates changes nothing but the global phase, also without wires."""
    for n in (0, 3):
        with StateVector(n, options=options) as state:
            state.apply(CircuitBuilder(n).build()).apply(CircuitBuilder(n).global_phase(np.pi).build())
            assert state.get(0, 1) == pytest.approx(np.array([-1]), abs=1e-6)


def test_stream_is_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream is refused on the CPU."""
    from support.plain_device import PlainDevice

    monkeypatch.setattr(discover, "cpu", lambda _threads=None: PlainDevice())
    with pytest.raises(OptionError, match="stream"):
        StateVector(2, device="cpu", stream=object())
