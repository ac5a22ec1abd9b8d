"""A circuit in, a result out: the right bits, states and report of the run."""

from __future__ import annotations

import gc
import json
import pickle
import signal
import threading
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.states import TOLERANCE, random_state
from support.strategies import circuits

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Measure, Save
from qsim_ex.errors import Cancelled
from qsim_ex.execution.prepare import plan_of
from qsim_ex.options import Options
from qsim_ex.simulator import Simulator

same_device = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def ghz(num_wires: int) -> CircuitBuilder:
    """|0…0> + |1…1>, with a classical bit for each wire."""
    builder = CircuitBuilder(num_wires, num_wires).gate("h", [0])
    for wire in range(1, num_wires):
        builder.gate("cx", [wire - 1, wire])
    return builder


@same_device
@given(circuit=circuits(max_qubits=6), data=st.data())
def test_saved_states_are_the_definition(options: Options, circuit: Circuit, data: st.DataObject) -> None:
    """A state that is saved on the way, or at the end, is that of the definition."""
    place = data.draw(st.integers(0, len(circuit.instructions)))
    first, rest = circuit.instructions[:place], circuit.instructions[place:]
    both = Circuit(circuit.num_qubits, 0, (*first, Save("way"), *rest, Save("end")), circuit.operands)
    way = reference.simulate(Circuit(circuit.num_qubits, 0, first, circuit.operands))
    end = reference.simulate(circuit)
    result = Simulator(options).run(both)
    assert result.packed is None
    assert list(result.saved) == ["way", "end"]
    for label, wanted in (("way", way), ("end", end)):
        found = result.saved[label]
        assert found.dtype == options.dtype
        assert np.linalg.norm(found - wanted) <= 4 * TOLERANCE[options.precision]


@same_device
@given(circuit=circuits(min_qubits=1, max_qubits=6), data=st.data())
def test_classical_bits_are_the_shots(options: Options, circuit: Circuit, data: st.DataObject) -> None:
    """A measured wire is in its classical bit, and the shots are those of the state."""
    n = circuit.num_qubits
    wires = data.draw(st.permutations(range(n)))[: data.draw(st.integers(1, n))]
    num_clbits = data.draw(st.integers(len(wires), 80))
    clbits = data.draw(st.permutations(range(num_clbits)))[: len(wires)]
    measured = Circuit(n, num_clbits, (*circuit.instructions, Measure(tuple(wires), tuple(clbits))), circuit.operands)
    simulator = Simulator(options)
    result = simulator.run(measured, shots=30, seed=5)
    with simulator.state(circuit) as state:
        values = state.draw(30, 5)
    bits = result.bits()
    assert bits.shape == (30, num_clbits)
    assert result.packed is not None
    assert result.packed.shape == (30, -(-num_clbits // 8))
    for wire, clbit in zip(wires, clbits, strict=True):
        assert np.array_equal(bits[:, clbit], values >> wire & 1)
    assert not bits[:, [c for c in range(num_clbits) if c not in clbits]].any()


def test_measuring_again_overwrites(options: Options) -> None:
    """A wire that is measured twice gives one value, and a classical bit has its last one."""
    builder = ghz(3).gate("x", [2])
    circuit = builder.measure([0, 2], [0, 1]).measure([0], [2]).measure([1], [1]).build()
    counts = Simulator(options).run(circuit, shots=200, seed=1).counts()
    assert set(counts) == {0b000, 0b111}
    assert sum(counts.values()) == 200


def test_seeds_fix_the_shots(options: Options) -> None:
    """A seed gives the same shots again, and a result without one reports its own."""
    circuit = ghz(4).gate("ry", [2], 0.4).measure(range(4), range(4)).build()
    simulator = Simulator(options)
    first, again, other = (simulator.run(circuit, shots=100, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.packed, again.packed)
    assert not np.array_equal(first.packed, other.packed)
    fresh = simulator.run(circuit, shots=100)
    assert np.array_equal(simulator.run(circuit, shots=100, seed=fresh.seed).packed, fresh.packed)
    assert fresh.seed != simulator.run(circuit, shots=100).seed
    assert np.array_equal(Simulator(options, seed=1).run(circuit, shots=100).packed, first.packed)


@pytest.mark.parametrize("num_wires", [0, 3])
def test_circuits_of_nothing(options: Options, num_wires: int) -> None:
    """Circuits without wires, gates, classical bits or measured wires run."""
    circuit = CircuitBuilder(num_wires, 2).measure([], []).save().build()
    result = Simulator(options).run(circuit, shots=5)
    assert result.bits().tolist() == [[0, 0]] * 5
    assert result.counts() == {0: 5}
    assert np.array_equal(result.saved["statevector"], reference.zero_state(num_wires))
    bare = Simulator(options).run(CircuitBuilder(num_wires).measure([], []).build(), shots=5)
    assert bare.bits().shape == (5, 0)
    assert bare.counts() == {0: 5}


def test_resets_of_fresh_wires_are_nothing(options: Options) -> None:
    """A reset of wires that nothing has touched does nothing."""
    circuit = CircuitBuilder(2, 2).reset([0, 1]).gate("x", [0]).reset([1]).measure([0, 1], [0, 1]).build()
    assert Simulator(options).run(circuit, shots=3).counts() == {1: 3}


def test_initialise_at_the_beginning(options: Options) -> None:
    """Wires that are given a state have it, also after gates on others."""
    vector = random_state(2)
    circuit = CircuitBuilder(3).gate("h", [1]).gate("x", [1]).initialize(vector, [2, 0]).save().build()
    found = Simulator(options).run(circuit).saved["statevector"]
    assert found == pytest.approx(reference.simulate(circuit), abs=1e-6)


def test_new_angles_do_not_plan_again(options: Options) -> None:
    """A circuit with new angles uses the plan of the old ones."""
    results = []
    for angle in (0.1, 0.2, np.pi, 0.0):
        builder = CircuitBuilder(3).gate("rx", [0], angle).gate("cp", [0, 1], angle).gate("rzz", [1, 2], angle)
        results.append(Simulator(options).run(builder.save().build()))
        if angle == 0.1:
            before = plan_of.cache_info()
    after = plan_of.cache_info()
    assert after.misses == before.misses
    assert len({result.plan.key for result in results}) == 1
    assert results[0].saved["statevector"] != pytest.approx(results[1].saved["statevector"])


def test_a_result_says_where_it_ran(options: Options, device: Any) -> None:
    """A result reports device, reason, precision, plan and times, as JSON."""
    result = Simulator(options).run(ghz(3).save("a").measure(range(3), range(3)).build(), shots=10, seed=3)
    told = json.loads(json.dumps(result.metadata()))
    assert told["device"] == device.name
    assert told["device_description"] == device.description
    assert told["device_reason"] == "asked for"
    assert told["precision"] == options.precision
    assert told["placement"] == "single"
    assert told["seed"] == 3
    assert told["plan"]["gates"] == 3
    assert told["plan"]["sweeps"] >= 1
    assert told["peak_bytes"] == 8 * options.dtype.itemsize
    assert list(told["timings"]) == ["plan", "prepare", "run", "sample", "total"]
    assert told["timings"]["total"] == pytest.approx(sum(told["timings"].values()) / 2, rel=1e-6)


def test_a_simulator_that_has_run_can_be_sent_elsewhere(options: Options) -> None:
    """A simulator that has run can be pickled, and keeps its options."""
    simulator = Simulator(options)
    simulator.state(ghz(3).build()).close()
    assert pickle.loads(pickle.dumps(simulator)).options == options


def test_progress_counts_to_the_end(options: Options) -> None:
    """Progress counts every step once from 0 to the end, over saved states."""
    told: list[tuple[int, int]] = []
    builder = ghz(9).save("a")
    for wire in range(9):
        builder.gate("ry", [wire], 0.3).gate("cx", [wire, (wire + 5) % 9])
    Simulator(options, progress=lambda done, total: told.append((done, total))).run(builder.save("b").build())
    total = told[0][1]
    assert told == [(done, total) for done in range(total + 1)]
    assert total >= 2


def test_a_run_is_cancelled_between_steps(options: Options) -> None:
    """A cancelled run ends before the next step, and says after which."""
    cancel = threading.Event()
    told: list[int] = []

    def progress(done: int, _total: int) -> None:
        told.append(done)
        cancel.set()

    circuit = ghz(4).save("a").gate("h", [0]).gate("h", [3]).save("b").build()
    with pytest.raises(Cancelled, match="after 1 of 2"):
        Simulator(options, progress=progress).run(circuit, cancel=cancel)
    assert told == [0]


def test_ctrl_c_ends_a_long_run(options: Options, device: Any) -> None:
    """Ctrl-C ends a run of a minute within seconds."""
    if device.name == "plain":
        pytest.skip("the executor that works by definition runs no kernels")
    builder = CircuitBuilder(22)
    for layer in range(400):
        for wire in range(22):
            builder.gate("ry", [wire], 0.1 + layer).gate("cx", [wire, (wire + 1 + layer % 20) % 22])
    pressed: list[float] = []

    def press(done: int, _total: int) -> None:
        if done == 1:
            signal.setitimer(signal.ITIMER_REAL, 0.001)

    def interrupt(*_: Any) -> None:
        pressed.append(perf_counter())
        signal.default_int_handler(signal.SIGINT, None)

    before = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()  # what is raised in a callback of garbage collection, such as that of hypothesis, is ignored by Python
    try:
        with pytest.raises(KeyboardInterrupt):
            Simulator(options, progress=press).run(builder.build())
        assert perf_counter() - pressed[0] < 10  # a second on an idle machine
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_state_from_any_start(options: Options) -> None:
    """The state of a circuit begins at the initial state that is given."""
    psi = random_state(3)
    circuit = ghz(3).measure([0], [0]).build()
    simulator = Simulator(options)
    with simulator.state(circuit, initial=psi) as state:
        assert state.to_numpy() == pytest.approx(reference.simulate(circuit, psi), abs=1e-6)
    with simulator.state(circuit, initial=5, num_wires=4) as state:
        wide = Circuit(4, 3, circuit.instructions, circuit.operands)
        assert state.to_numpy() == pytest.approx(reference.simulate(wide, np.eye(16)[5]), abs=1e-6)
    with simulator.state(num_wires=2) as state:
        assert state.amplitudes([0, 1]).tolist() == [1, 0]


def test_explain_needs_no_memory(options: Options) -> None:
    """Explaining a circuit of 50 wires needs no state, and shows its sweeps and saved states."""
    circuit = ghz(50).save("middle").gate("h", [49]).build()
    text = Simulator(options).explain(circuit)
    assert text.count("sweep") >= 2
    assert "saved as 'middle'" in text
    assert "asked for" in text
