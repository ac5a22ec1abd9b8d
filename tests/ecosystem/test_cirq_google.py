"""cirq-google: its local engine runs programs for Google's processors on the simulator."""

from __future__ import annotations

from typing import Any

import cirq
import cirq_google as cg
import pytest
import sympy
from cirq_google.engine.local_simulation_type import LocalSimulationType
from cirq_google.engine.simulated_local_engine import SimulatedLocalEngine
from cirq_google.engine.simulated_local_processor import SimulatedLocalProcessor

Q = [cirq.GridQubit(5, 3), cirq.GridQubit(5, 4)]
BELL = cirq.Circuit(
    cirq.PhasedXZGate(x_exponent=0.5, z_exponent=1, axis_phase_exponent=-0.5).on_each(*Q),
    cirq.CZ(*Q),
    cirq.PhasedXZGate(x_exponent=0.5, z_exponent=1, axis_phase_exponent=-0.5)(Q[1]),
    cirq.measure(*Q, key="m"),
)


@pytest.fixture
def engine(cirq_simulator: Any) -> SimulatedLocalEngine:
    """An engine with one processor, a Rainbow device on the simulator."""
    device = cg.engine.create_device_from_processor_id("rainbow")
    processor = SimulatedLocalProcessor(
        processor_id="ours",
        sampler=cirq_simulator(seed=7),
        device=device,
        simulation_type=LocalSimulationType.SYNCHRONOUS,
    )
    return SimulatedLocalEngine([processor])


def test_a_sampler_of_a_processor(engine: SimulatedLocalEngine) -> None:
    """A Bell pair is found in two states, and each about half of the time."""
    counts = engine.get_sampler("ours").run(BELL, repetitions=400).histogram(key="m")
    assert set(counts) == {0, 3}
    assert 120 < counts[0] < 280


def test_jobs_and_sweeps(engine: SimulatedLocalEngine) -> None:
    """A job of a sweep has a result for each point."""
    t = sympy.Symbol("t")
    circuit = cirq.Circuit(cirq.PhasedXPowGate(phase_exponent=0, exponent=t)(Q[0]), cirq.measure(Q[0], key="m"))
    job = engine.get_processor("ours").run_sweep(circuit, params=cirq.Points("t", [0, 1]), repetitions=20)
    assert [result.histogram(key="m") for result in job.results()] == [{0: 20}, {1: 20}]


def test_noise_of_a_processor(cirq_simulator: Any) -> None:
    """The noise model of a calibrated Google processor acts, and less than half of the pairs are spoilt."""
    calibration = cg.engine.load_median_device_calibration("rainbow")
    model = cg.NoiseModelFromGoogleNoiseProperties(
        cg.noise_properties_from_calibration(calibration, gate_times_ns="legacy")
    )
    counts = cirq_simulator(seed=7, noise=model).run(BELL, repetitions=400).histogram(key="m")
    assert counts[0] + counts[3] > 200
    assert counts[1] + counts[2] > 0


def test_dynamical_decoupling_and_targets(cirq_simulator: Any) -> None:
    """A circuit compiled to Sycamore gates ends in the state of the circuit."""
    circuit = cirq.testing.random_circuit(Q, 10, 0.8, random_state=3)
    compiled = cirq.optimize_for_target_gateset(circuit, gateset=cg.SycamoreTargetGateset())
    simulator = cirq_simulator(dtype=complex)
    one, other = (simulator.simulate(each, qubit_order=Q).final_state_vector for each in (circuit, compiled))
    assert abs(one.conj() @ other) == pytest.approx(1, abs=1e-6)
