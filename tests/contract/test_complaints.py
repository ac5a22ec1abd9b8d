"""What users of other simulators complain about does not happen here: a test for each line that a CPU can show.

Some lines are about GPUs, or have their tests elsewhere; `ELSEWHERE` says where.
"""

from __future__ import annotations

import cirq
import numpy as np
import pytest
from qiskit import transpile
from qiskit.circuit import QuantumCircuit
from support.gpus import gpu_missing
from support.named import has_test

from qsim_ex import BatchedStateVector, CircuitBuilder, Simulator, StateVector
from qsim_ex.errors import DeviceError, MissingPackage, OptionError, OutOfMemory, StateError
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_provider import EstimatorV2, QsimExBackend, SamplerV2, save_statevector

ELSEWHERE = {
    "1. the GPU wheel does not install": "cli/test_commands.py::test_doctor_names_the_missing_parts",
    "2. an option was ignored silently": "contract/test_every_option.py::test_every_option_is_honoured_or_refused",
    "3. wrong results on several GPUs": "placement/test_norm.py::test_a_lost_slice_is_found",
    "3. shots of values without amplitude": "observe/test_sampling.py::test_the_largest_number_stays_inside",
    "3. wrong results of fusion": "planning/test_planner.py::test_plan_equals_definition",
    "3. a crash in single precision": "qsim_ex_provider/test_backend.py::test_single_precision_rounds",
    "3. wrong results above 2^32": "devices/gpu/test_large.py::test_amplitudes_beyond_32_bits",
    "4. out of memory as a cryptic error": "test_errors.py::test_bad_input",
    "5. many small circuits are slow": "run/test_batches.py::test_every_element_is_a_run_of_its_own",
    "5. the GPU for small states": "deployment/test_assign.py::test_auto_takes_the_gpu_for_large_states",
    "6. dynamic circuits fail": "qsim_ex_provider/test_dynamic.py::test_random_circuits_with_measurements_and_resets",
    "7. sampling loops in Python": "observe/test_sampling.py::test_a_thousand_shots_of_20_wires_are_quick",
    "8. circuits of a list": "qsim_ex_provider/test_backend.py::test_circuits_of_a_list_are_independent",
    "10. transpile refuses wide circuits": "qsim_ex_provider/test_target.py::test_transpile_takes_forty_qubits",
    "10. primitives do not fit the backend": (
        "qsim_ex_provider/primitives/test_forms.py::test_backend_primitives_of_qiskit_run_on_the_backend"
    ),
}
"""Lines that have a test elsewhere."""


@pytest.mark.parametrize("line", ELSEWHERE)
def test_a_line_has_its_test(line: str) -> None:
    """The test that is named for a line exists."""
    assert has_test(ELSEWHERE[line])


def bell() -> QuantumCircuit:
    """Two qubits, entangled, measured."""
    circuit = QuantumCircuit(2)
    circuit.h(0)
    circuit.cx(0, 1)
    circuit.measure_all()
    return circuit


A, B = cirq.LineQubit.range(2)
BELL = CircuitBuilder(2, 2).gate("h", [0]).gate("cx", [0, 1]).measure([0, 1], [0, 1]).build()
CIRQ_BELL = cirq.Circuit(cirq.H(A), cirq.CNOT(A, B), cirq.measure(A, B))


def test_2_the_cpu_is_never_used_silently() -> None:
    """Every result says where it ran and why; a demand that cannot be met is an error."""
    told = [
        Simulator().run(BELL, shots=1).device_reason,
        QsimExBackend().run(bell()).result().results[0].metadata["device_reason"],
        QsimExSimulator().run(CIRQ_BELL).qsim_ex["device_reason"],
    ]
    assert all(reason.startswith("auto: ") for reason in told)
    if gpu_missing():
        for demand in (
            lambda: Simulator(device="gpu").run(BELL, shots=1),
            lambda: QsimExBackend(device="GPU").run(bell()).result(),
            lambda: SamplerV2(device="gpu").run([bell()]).result(),
            lambda: QsimExSimulator(device="gpu").run(CIRQ_BELL),
        ):
            with pytest.raises((DeviceError, MissingPackage)):
                demand()


def test_2_no_option_is_ignored_silently() -> None:
    """An option that does not exist is an error that names the nearest one, wherever it is given."""
    makers = (Simulator, QsimExBackend, SamplerV2, EstimatorV2, QsimExSimulator)
    for give in (*makers, lambda **given: QsimExBackend().run(bell(), **given)):
        with pytest.raises((OptionError, AttributeError), match="Did you mean 'threads'"):
            give(thread=2)


def test_4_memory_is_summed_up_before_anything_is_allocated() -> None:
    """The message has the need, what there is, and what to do; the process goes on."""
    with pytest.raises(OutOfMemory, match=r"45 wires in complex128 need 512 TiB; .* free.* Use "):
        StateVector(45, device="cpu")
    with pytest.raises(OutOfMemory, match="max_memory allows 1000 bytes"):
        StateVector(10, device="cpu", max_memory=1000)
    assert Simulator(device="cpu").run(BELL, shots=3).shots == 3


def _tossed(qubits: int) -> QuantumCircuit:
    circuit = QuantumCircuit(qubits)
    circuit.h(range(qubits))
    circuit.measure_all()
    return circuit


def test_8_circuits_of_one_call_are_independent() -> None:
    """Equal circuits, bindings, PUBs and points of one call have shots that agree no more often than by chance."""
    qubits, shots = 8, 400
    toss = CircuitBuilder(qubits, qubits)
    for wire in range(qubits):
        toss.gate("h", [wire])
    circuit = toss.measure(range(qubits), range(qubits)).build()
    batch = Simulator(device="cpu").run_batch(circuit, np.repeat(circuit.operands, 2, 0), shots=shots, seeds=7)
    of_qiskit = QsimExBackend(device="cpu").run([_tossed(qubits)] * 2, shots=shots, memory=True, seed_simulator=7)
    pubs = SamplerV2(device="cpu", seed=7).run([_tossed(qubits)] * 2, shots=shots).result()
    line = cirq.LineQubit.range(qubits)
    points = QsimExSimulator(device="cpu", seed=7).run_batch(
        [cirq.Circuit(cirq.H.on_each(*line), cirq.measure(*line, key="m"))] * 2, repetitions=shots
    )
    pairs = {
        "engine": [batch[k].bits() for k in range(2)],
        "Qiskit": [np.array(of_qiskit.result().get_memory(k)) for k in range(2)],
        "PUBs": [one.data.meas.array for one in pubs],
        "Cirq": [found[0].measurements["m"] for found in points],
    }
    for name, (one, other) in pairs.items():
        equal = (one.reshape(shots, -1) == other.reshape(shots, -1)).all(axis=1).sum()
        assert equal < 20, name  # 400 / 256 are expected by chance


def test_9_rounding_of_complex64_rejects_no_state() -> None:
    """The state after thousands of gates in complex64 is accepted wherever a state is: by Cirq and here."""
    simulator = QsimExSimulator(device="cpu")
    layer = [cirq.ry(0.7)(A), cirq.CNOT(A, B), cirq.rz(0.3)(B), cirq.X(B) ** 0.1]
    long = cirq.Circuit(layer * 2000)
    state = simulator.simulate(long).final_state_vector
    assert state.dtype == np.complex64
    for accepts in (simulator, cirq.Simulator()):
        accepts.simulate(cirq.Circuit(cirq.H(A), cirq.I(B)), initial_state=state)
    cirq.validate_normalized_state_vector(state, qid_shape=(2, 2))

    circuit = QuantumCircuit(2)
    for _ in range(2000):
        circuit.ry(0.7, 0)
        circuit.cx(0, 1)
        circuit.rz(0.3, 1)
    save_statevector(circuit)
    saved = QsimExBackend(device="cpu", precision="single").run(circuit).result().get_statevector()
    amplitudes = np.asarray(saved, dtype=np.complex64)
    with (
        StateVector(2, device="cpu", initial=amplitudes) as again,
        BatchedStateVector(3, 2, device="cpu", initial=amplitudes) as rows,
    ):
        assert abs(again.norm() - 1) < 1e-12
        assert rows.rows == 3
    with pytest.raises(StateError, match="norm 1"):  # the same numbers in double precision are no rounding
        StateVector(2, device="cpu", initial=amplitudes.astype(complex) * 1.0001)


def test_6_a_measurement_on_the_way_costs_no_run_for_each_shot() -> None:
    """Shots with the same outcomes so far share a state: ten thousand shots of one measurement are two states."""
    builder = CircuitBuilder(10, 10)
    for wire in range(10):
        builder.gate("ry", [wire], 0.3).gate("cx", [wire, (wire + 1) % 10])
    circuit = builder.measure([0], [0]).gate("h", [0]).gate("cx", [0, 1]).measure(range(1, 10), range(1, 10)).build()
    result = Simulator(device="cpu").run(circuit, shots=10_000)
    assert result.facts["states"] <= 2


def test_10_transpile_takes_wide_circuits() -> None:
    """The target of the backend keeps no circuit out."""
    wide = QuantumCircuit(30)
    wide.h(0)
    wide.cx(0, range(1, 30))
    assert transpile(wide, QsimExBackend(), optimization_level=0).num_qubits == 30
