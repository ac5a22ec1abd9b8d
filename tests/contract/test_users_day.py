"""What broke when programs of others were run: each line has a test, which is named here.

The lines of qiskit-experiments, qiskit-ibm-runtime and pennylane-qiskit are jobs of `tools/ecosystem.py`; those about
the site and the README are checks of the pages.
"""

from __future__ import annotations

import time

import pytest
from qiskit import QuantumCircuit, transpile
from qiskit.transpiler import CouplingMap
from support.named import has_test

from qsim_ex import NoiseModel, depolarizing
from qsim_ex_provider import EstimatorV2, QsimExBackend, SamplerV2

_EXPERIMENTS = "ecosystem/test_qiskit_experiments.py"
_DAY = "qsim_ex_provider/test_users_day.py"
_FLOW = "qsim_ex_provider/translation/test_control_flow.py"
_DEVICE = "qsim_ex_provider/translation/test_device_noise.py"
_SAVES = "qsim_ex_provider/test_saves.py"
_CIRQ = "qsim_ex_cirq/test_interface.py"
_SHOWN = "display/test_shown.py"

LINES = {
    "qiskit-experiments": (
        f"{_EXPERIMENTS}::test_t1_of_a_device_is_found",
        f"{_EXPERIMENTS}::test_t2_of_a_device_is_found",
        f"{_EXPERIMENTS}::test_benchmarking_finds_the_error_per_clifford",
        f"{_EXPERIMENTS}::test_tomography_finds_the_fidelity_of_a_noisy_bell_pair",
        f"{_EXPERIMENTS}::test_readout_error_is_found",
        f"{_EXPERIMENTS}::test_quantum_volume_needs_good_gates",
    ),
    "num_qubits is a number": (
        f"{_DAY}::test_num_qubits_is_a_number",
        "ecosystem/test_qiskit_ibm_runtime.py::test_a_session_and_a_batch",
        "ecosystem/test_pennylane_qiskit.py::test_a_qnode_and_its_gradient",
    ),
    "wide circuits": (
        "contract/test_users_day.py::test_a_bell_pair_on_many_wires",
        "contract/test_users_day.py::test_a_circuit_laid_out_on_a_wide_device",
        "program/test_separate.py::test_wires_that_nothing_mixes_are_idle",
        "run/test_joint.py::test_memory_is_that_of_the_largest_part",
    ),
    "from_backend": (
        f"{_DEVICE}::test_from_backend_has_the_device_s_target",
        f"{_DEVICE}::test_from_backend_counts_are_those_of_aer",
        "qsim_ex_provider/primitives/test_forms.py::test_primitives_of_a_device_have_its_noise",
    ),
    "a run without measurement": (
        f"{_DAY}::test_a_run_without_measurement_is_a_success_without_data",
        f"{_DAY}::test_an_unmeasured_circuit_with_noise_or_parameters_is_a_success_too",
    ),
    "save and set instructions": (
        f"{_SAVES}::test_data_are_those_of_aer",
        f"{_SAVES}::test_labels",
        f"{_SAVES}::test_unitaries",
        f"{_SAVES}::test_a_state_is_set_anywhere",
        "qsim_ex_provider/test_backend.py::test_saves_of_aer_are_understood",
    ),
    "options of Aer": (
        "qsim_ex_provider/test_foreign_options.py::test_every_option_of_aer_is_decided",
        "qsim_ex_provider/test_foreign_options.py::test_another_meaning_is_refused",
        f"{_DAY}::test_programs_that_were_written_for_aer",
        f"{_DAY}::test_n_qubits_is_the_width_of_the_target_and_keeps_no_circuit_out",
    ),
    "deep noisy circuits": ("contract/test_users_day.py::test_time_is_linear_in_noisy_gates",),
    "copies, pickles and forks": (
        f"{_DAY}::test_copies_of_a_used_backend",
        f"{_DAY}::test_fork_of_a_used_backend",
        "contract/test_processes.py::test_copies_answer_alike",
    ),
    "control flow": (
        f"{_FLOW}::test_while_with_break_and_continue",
        f"{_FLOW}::test_run_time_variables",
        f"{_FLOW}::test_measurement_and_reset_under_a_condition",
        f"{_FLOW}::test_a_wide_condition",
        f"{_FLOW}::test_any_number_of_levels",
    ),
    "Cirq": (
        f"{_CIRQ}::test_simulate_moment_steps",
        f"{_CIRQ}::test_simulate_with_repeat_until",
        f"{_CIRQ}::test_run_of_no_repetitions",
        f"{_CIRQ}::test_decompositions_with_ancillas",
        "qsim_ex_cirq/translation/test_recorded.py::test_choices_and_what_follows_are_distributed_as_cirqs",
        f"{_CIRQ}::test_sample_from_amplitudes",
        f"{_CIRQ}::test_final_states_compare_equal",
        f"{_CIRQ}::test_isinstance",
    ),
    "progress": (
        "display/test_bar.py::test_a_bar_that_was_asked_for",
        "display/test_bar.py::test_long_runs_show_a_bar_where_it_is_seen",
    ),
    "explain": (
        "display/test_explanation.py::test_a_notebook_shows_a_table",
        "display/test_explanation.py::test_rich_shows_a_table",
        "display/test_explanation.py::test_a_backend_explains_a_circuit",
        "display/test_explanation.py::test_cirqs_simulator_explains_a_circuit",
    ),
    "repr, help and version": (
        f"{_SHOWN}::test_an_object_shows_what_differs_from_the_default",
        f"{_SHOWN}::test_the_version_is_that_of_the_distribution",
        "display/test_described.py::test_help_tells_what_every_option_means",
        "display/test_described.py::test_the_signature_lists_every_option",
    ),
    "README": ("tools/test_house.py::test_a_readme_is_short_and_has_the_commands_of_ci",),
}
"""Each line, and the tests that show that it no longer breaks."""


@pytest.mark.parametrize("line", LINES)
def test_a_line_has_its_tests(line: str) -> None:
    """The tests that are named for a line exist."""
    assert [name for name in LINES[line] if not has_test(name)] == []


def bell(qubits: int) -> QuantumCircuit:
    """A Bell pair on the first two of many qubits, of which only these are measured."""
    circuit = QuantumCircuit(qubits, 2)
    circuit.h(0)
    circuit.cx(0, 1)
    circuit.measure([0, 1], [0, 1])
    return circuit


@pytest.mark.parametrize("qubits", [40, 127, 1121])
def test_a_bell_pair_on_many_wires(qubits: int) -> None:
    """Idle qubits take no memory, and the shots are those of two qubits: on the backend and in the primitives."""
    limited = {"device": "cpu", "max_memory": 1 << 16}
    backend = QsimExBackend(**limited)
    wide, narrow = (backend.run(bell(n), shots=200, seed_simulator=3).result().get_counts() for n in (qubits, 2))
    assert wide == narrow
    assert set(wide) == {"00", "11"}
    sampled = SamplerV2(options=limited).run([bell(qubits)], shots=100).result()[0].data.c.get_counts()
    assert set(sampled) == {"00", "11"}
    unmeasured = bell(qubits).remove_final_measurements(inplace=False)
    estimated = EstimatorV2(options=limited).run([(unmeasured, {"I" * (qubits - 2) + "ZZ": 1.0})]).result()
    assert float(estimated[0].data.evs) == pytest.approx(1.0)


def test_a_circuit_laid_out_on_a_wide_device() -> None:
    """Five qubits of a device with 127 are simulated as five, wherever the transpiler puts them."""
    circuit = QuantumCircuit(5, 5)
    circuit.h(0)
    circuit.cx(0, range(1, 5))
    circuit.measure(range(5), range(5))
    line = transpile(
        circuit, coupling_map=CouplingMap.from_line(127), initial_layout=range(60, 65), optimization_level=0
    )
    backend = QsimExBackend(device="cpu", max_memory=1 << 16)
    assert set(backend.run(line, shots=50).result().get_counts()) == {"0" * 5, "1" * 5}


def test_time_is_linear_in_noisy_gates() -> None:
    """Eight times as many noisy gates take less than twenty times as long; work that is quadratic takes 64 times."""
    noise = NoiseModel().with_error(["h"], depolarizing(0.001)).with_error(["cx"], depolarizing(0.01, 2))
    backend = QsimExBackend(noise_model=noise, device="cpu")

    def seconds(layers: int) -> float:
        circuit = QuantumCircuit(2, 2)
        for _ in range(layers):
            circuit.h(0)
            circuit.cx(0, 1)
        circuit.measure([0, 1], [0, 1])
        times = []
        for _ in range(3):
            began = time.process_time()
            backend.run(circuit, shots=100).result()
            times.append(time.process_time() - began)
        return min(times)

    assert seconds(4000) < 20 * seconds(500)
