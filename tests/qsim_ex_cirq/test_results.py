"""Results are of Cirq's own types, without needless copies, and say where they ran."""

from __future__ import annotations

import asyncio
import json
import pickle

import cirq
import numpy as np

A, B, C = cirq.LineQubit.range(3)
BELL = cirq.Circuit(cirq.H(A), cirq.CNOT(A, B))


def test_trial_result_is_cirqs(simulator):
    """Everything that Cirq's result of a simulation offers works on ours and agrees with Cirq."""
    ours = simulator.simulate(BELL + cirq.T(C), qubit_order=[B, A, C])
    cirqs = cirq.Simulator().simulate(BELL + cirq.T(C), qubit_order=[B, A, C])
    assert isinstance(ours, cirq.StateVectorTrialResult)
    np.testing.assert_allclose(ours.state_vector(), cirqs.state_vector(), atol=1e-7)
    np.testing.assert_allclose(ours.bloch_vector_of(C), cirqs.bloch_vector_of(C), atol=1e-6)
    np.testing.assert_allclose(ours.density_matrix_of([A, C]), cirqs.density_matrix_of([A, C]), atol=1e-6)
    assert ours.dirac_notation() == cirqs.dirac_notation() == "0.71|000⟩ + 0.71|110⟩"
    assert ours.qubit_map == cirqs.qubit_map
    assert cirq.qid_shape(ours) == (2, 2, 2)
    assert ours.params == cirqs.params
    assert ours.measurements == {}
    assert ours.get_state_containing_qubit(A).target_tensor.shape == (2, 2, 2)
    assert "0.707|000⟩ + 0.707|110⟩" in str(ours)
    again = eval(repr(ours))  # as of Cirq's own results
    np.testing.assert_allclose(again.final_state_vector, ours.final_state_vector, atol=1e-7)


def test_equal_results_are_equal(make):
    """Results with the same parameters, measurements and amplitudes are equal; others are not."""
    first, second = (make(seed=1).simulate(BELL) for _ in range(2))
    assert first == second
    assert first != make(seed=1).simulate(BELL + cirq.X(A))


def test_state_vector_is_not_copied_unless_asked(simulator):
    """The final state is one array; only ``copy=True`` makes another."""
    result = simulator.simulate(BELL)
    assert result.final_state_vector is result.final_state_vector
    assert result.state_vector() is result.final_state_vector
    assert not np.shares_memory(result.state_vector(copy=True), result.final_state_vector)
    assert result.final_state_vector.shape == (4,)


def test_one_dimensional_array(simulator):
    """``simulate_into_1d_array`` gives what ``qsimcirq`` gives: resolver, amplitudes, qubit order."""
    params, vector, order = simulator.simulate_into_1d_array(BELL, qubit_order=[B, A])
    assert params == cirq.ParamResolver({})
    assert order == (B, A)
    np.testing.assert_allclose(vector, [0.5**0.5, 0, 0, 0.5**0.5], atol=1e-7)


def test_str_of_a_state_with_many_amplitudes(simulator):
    """A state with many amplitudes is abbreviated and not spelled out."""
    assert "..." not in str(simulator.simulate(BELL))
    text = str(simulator.simulate(cirq.Circuit(cirq.H.on_each(*cirq.LineQubit.range(11)))))
    assert "..." in text
    assert len(text) < 2_000


def test_results_say_where_they_ran(simulator, dtype, device):
    """Device, reason, precision, seed and times are in every result, as what JSON can hold."""
    run = simulator.run(BELL + cirq.measure(A, key="m"), repetitions=3)
    simulated = simulator.simulate(BELL)
    for said in (run.qsim_ex, simulated.qsim_ex):
        assert said["device"] == device.name
        assert said["device_reason"] == "asked for"
        assert said["precision"] == {8: "single", 16: "double"}[dtype.itemsize]
        assert said["timings"]["total"] > 0
        json.dumps(said)


def test_the_first_run_has_the_seed_that_was_given(make):
    """The first run's seed is the given one, later ones differ: so any run may be compared with the engine's."""
    simulator = make(seed=5)
    circuit = cirq.Circuit(cirq.H.on_each(A, B), cirq.measure(A, B, key="m"))
    first, second, third = (simulator.run(circuit, repetitions=50).qsim_ex["seed"] for _ in range(3))
    assert first == 5
    assert len({first, second, third}) == 3


def test_run_results_are_cirqs(simulator):
    """Histograms, data frames, JSON and addition of Cirq's results work."""
    result = simulator.run(BELL + cirq.measure(A, B, key="m"), repetitions=20)
    assert isinstance(result, cirq.ResultDict)
    assert set(result.histogram(key="m")) == {0, 3}
    assert set(result.multi_measurement_histogram(keys=["m"])) == {(0,), (3,)}
    assert list(result.data.columns) == ["m"]
    assert cirq.read_json(json_text=cirq.to_json(result)) == result
    assert (result + result).repetitions == 40
    assert pickle.loads(pickle.dumps(result)) == result
    assert pickle.loads(pickle.dumps(simulator.simulate(BELL))) == simulator.simulate(BELL)


def test_results_can_be_awaited(simulator):
    """``run_async`` and ``run_sweep_async`` give what ``run`` gives."""
    circuit = cirq.Circuit(cirq.X(A), cirq.measure(A, key="m"))
    result = asyncio.run(simulator.run_async(circuit, repetitions=3))
    assert result.measurements["m"].tolist() == [[1]] * 3
