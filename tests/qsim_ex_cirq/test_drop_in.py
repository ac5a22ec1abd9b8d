"""The idioms of Cirq's own documentation, with our simulator in the place of ``cirq.Simulator``."""

from __future__ import annotations

import inspect

import cirq
import numpy as np
import sympy
from cirq.work.observable_measurement import RepetitionsStoppingCriteria, measure_observables

from qsim_ex_cirq import QsimExSimulator

Q = cirq.LineQubit.range(4)


def test_constructor_takes_what_cirqs_takes():
    """Every argument of ``cirq.Simulator`` is an argument here, with the same default."""
    cirqs = inspect.signature(cirq.Simulator).parameters
    ours = inspect.signature(QsimExSimulator).parameters
    for name, parameter in cirqs.items():
        assert ours[name].default == parameter.default
        assert ours[name].kind == parameter.kind
    QsimExSimulator(dtype=np.complex128, noise=cirq.NO_NOISE, seed=None, split_untangled_states=False)


def test_it_is_every_kind_of_simulator():
    """It may be used wherever Cirq asks for one of its abstract simulators."""
    kinds = (
        cirq.Sampler,
        cirq.SimulatesSamples,
        cirq.SimulatesAmplitudes,
        cirq.SimulatesFinalState,
        cirq.SimulatesExpectationValues,
    )
    simulator = QsimExSimulator()
    assert all(isinstance(simulator, kind) for kind in kinds)
    missing = {name for name in dir(cirq.Simulator) if not name.startswith("_")} - set(dir(simulator))
    assert not missing


def test_bell_inequality_idiom(simulator):
    """A circuit with a histogram, as in the tutorials."""
    circuit = cirq.Circuit(cirq.H(Q[0]), cirq.CNOT(Q[0], Q[1]), cirq.measure(*Q[:2], key="result"))
    samples = simulator.run(circuit, repetitions=1000)
    histogram = samples.histogram(key="result")
    assert set(histogram) == {0, 3}
    assert 400 < histogram[0] < 600


def test_parameter_scan_idiom(simulator):
    """A scan over an angle as a data frame, as in the page on parameter sweeps."""
    circuit = cirq.Circuit(cirq.X(Q[0]) ** sympy.Symbol("t"), cirq.measure(Q[0], key="m"))
    frame = simulator.sample(circuit, repetitions=200, params=cirq.Linspace("t", 0, 1, 3))
    means = frame.groupby("t")["m"].mean()
    assert means[0.0] == 0
    assert means[1.0] == 1
    assert 0.3 < means[0.5] < 0.7


def test_batches(simulator):
    """``run_batch`` pairs circuits with sweeps and repetitions; an empty list gives an empty list."""
    t = sympy.Symbol("t")
    programs = [cirq.Circuit(cirq.X(q) ** t, cirq.measure(q, key="m")) for q in Q[:2]]
    results = simulator.run_batch(programs, [{"t": 0}, [{"t": 0}, {"t": 1}]], repetitions=[2, 3])
    assert [[r.measurements["m"].sum() for r in row] for row in results] == [[0], [0, 3]]
    assert simulator.run_batch([]) == []
    assert simulator.run_sweep(programs[0], [], repetitions=3) == []


def test_measure_observables_idiom(simulator):
    """Cirq's own machinery for measuring observables works with it as the sampler."""
    circuit = cirq.Circuit(cirq.ry(0.4)(Q[0]), cirq.CNOT(Q[0], Q[1]))
    results = measure_observables(
        circuit,
        [cirq.Z(Q[0]) * cirq.Z(Q[1]), cirq.X(Q[0])],
        simulator,
        RepetitionsStoppingCriteria(2_000),
    )
    means = {str(r.observable): r.mean for r in results}
    assert means["Z(q(0))*Z(q(1))"] == 1
    assert abs(means["X(q(0))"]) < 0.1


def test_collector_idiom(simulator):
    """A Pauli-sum collector, which asks for samples asynchronously, works with it."""
    circuit = cirq.Circuit(cirq.ry(0.4)(Q[0]))
    collector = cirq.PauliSumCollector(circuit, cirq.Z(Q[0]) + 0.5 * cirq.X(Q[0]), samples_per_term=3_000)
    collector.collect(sampler=simulator)
    assert abs(collector.estimated_energy() - (np.cos(0.4) + 0.5 * np.sin(0.4))) < 0.1


def test_experiments_idiom(simulator):
    """Cirq's experiments take it as their sampler."""
    result = cirq.experiments.t1_decay(
        simulator, qubit=Q[0], num_points=3, repetitions=10, max_delay=cirq.Duration(nanos=100)
    )
    assert result.data["true_count"].tolist() == [10, 10, 10]


def test_qaoa_energy_idiom(simulator):
    """A variational loop: the energy by expectation values equals the energy by Cirq."""
    graph = [(0, 1), (1, 2), (2, 3), (3, 0)]
    gamma, beta = sympy.symbols("gamma beta")
    circuit = cirq.Circuit(
        cirq.H.on_each(*Q),
        [cirq.ZZ(Q[a], Q[b]) ** gamma for a, b in graph],
        [cirq.X(q) ** beta for q in Q],
    )
    cost = sum(cirq.Z(Q[a]) * cirq.Z(Q[b]) for a, b in graph)
    for point in ({"gamma": 0.2, "beta": 0.3}, {"gamma": 0.25, "beta": 0.125}):
        (ours,) = simulator.simulate_expectation_values(circuit, cost, point)
        (cirqs,) = cirq.Simulator(dtype=np.complex128).simulate_expectation_values(circuit, cost, point)
        assert abs(ours - cirqs) < 1e-5


def test_frozen_circuits(simulator):
    """A frozen circuit is a circuit."""
    circuit = cirq.FrozenCircuit(cirq.X(Q[0]), cirq.measure(Q[0], key="m"))
    assert simulator.run(circuit).measurements["m"].tolist() == [[1]]
    assert simulator.simulate(circuit[:1]).dirac_notation() == "|1⟩"


def test_states_larger_than_a_device_by_options_alone() -> None:
    """Options that divide a state reach the engine, and records and amplitudes stay the same."""
    line = cirq.LineQubit.range(8)
    gates = cirq.Circuit(cirq.H.on_each(*line), [cirq.CNOT(line[k], line[(k + 3) % 8]) for k in range(8)])
    measured = gates + cirq.measure(*line, key="m")
    records, states = [], []
    for options in ({}, {"device_wires": 5}, {"virtual_peers": 4}):
        simulator = QsimExSimulator(device="cpu", seed=3, dtype=np.complex128, **options)
        result = next(simulator.run_sweep_iter(measured, None, repetitions=50))
        records.append(result.measurements["m"])
        final = simulator.simulate(gates)
        states.append(final.final_state_vector)
        wanted = {0: "single", 5: "migrated", 4: "peers"}[sum(options.values())]
        assert result.qsim_ex["placement"] == final.qsim_ex["placement"] == wanted
        assert final.qsim_ex["deployment"]["num_wires"] == 8
    assert all(np.array_equal(found, records[0]) for found in records)
    assert all(np.allclose(found, states[0]) for found in states)
