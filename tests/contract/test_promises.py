"""What the adapters for Qiskit and Cirq promise: each line of the two lists has tests that are named for it."""

from __future__ import annotations

import pytest
from support.named import has_test

_QISKIT = "qsim_ex_provider/test_features.py"
_CIRQ = "qsim_ex_cirq/test_interface.py"

PROMISES = {
    "Qiskit: BackendV2 and a provider": (
        f"{_QISKIT}::test_backend_v2_with_a_provider",
        f"{_QISKIT}::test_pubs_never_reach_run",
    ),
    "Qiskit: a target of every standard gate": (
        f"{_QISKIT}::test_target_takes_wide_circuits_and_every_standard_gate",
        f"{_QISKIT}::test_target_has_classes_of_gates_and_any_pair_of_qubits",
        "qsim_ex_provider/test_target.py::test_transpile_takes_forty_qubits",
        "qsim_ex_provider/test_target.py::test_transpile_keeps_control_flow",
        "qsim_ex_provider/translation/test_circuits.py::test_standard_gate",
        "qsim_ex_provider/translation/test_circuits.py::test_library_gate",
    ),
    "Qiskit: circuits that were not transpiled": (f"{_QISKIT}::test_circuits_that_were_not_transpiled_run",),
    "Qiskit: results": (
        f"{_QISKIT}::test_results_have_qiskits_form",
        "qsim_ex_provider/test_backend.py::test_header_describes_the_circuit",
        "qsim_ex_provider/test_backend.py::test_circuits_of_a_list_are_independent",
        "qsim_ex_provider/test_backend.py::test_result_says_what_ran_where",
    ),
    "Qiskit: options of other backends": (
        f"{_QISKIT}::test_options_without_a_meaning_here_are_accepted_and_others_refused",
        "qsim_ex_provider/test_foreign_options.py::test_another_meaning_is_refused",
    ),
    "Qiskit: options": (
        f"{_QISKIT}::test_options_have_the_names_that_users_type",
        "contract/test_every_option.py::test_every_option_is_honoured_or_refused",
    ),
    "Qiskit: jobs": (
        f"{_QISKIT}::test_jobs_run_in_the_background_on_any_executor",
        "qsim_ex_provider/test_job.py::test_cancel_in_the_middle_of_a_circuit",
    ),
    "Qiskit: primitives": (
        f"{_QISKIT}::test_primitives_are_native_and_qiskits_own_work",
        "qsim_ex_provider/primitives/test_native.py::test_a_pub_is_one_batch",
        "qsim_ex_provider/primitives/test_forms.py::test_backend_primitives_of_qiskit_run_on_the_backend",
    ),
    "Qiskit: saves": (
        f"{_QISKIT}::test_saves_as_aers_users_know_them",
        "qsim_ex_provider/test_backend.py::test_saves_of_aer_are_understood",
    ),
    "Qiskit: dynamic circuits": (
        f"{_QISKIT}::test_dynamic_circuits",
        f"{_QISKIT}::test_input_variables_are_refused_by_name",
        "qsim_ex_provider/translation/test_control_flow.py::test_run_time_variables",
    ),
    "Qiskit: noise": (f"{_QISKIT}::test_noise_of_aer_and_of_ours",),
    "Cirq: one class in the place of cirq.Simulator": (
        f"{_CIRQ}::test_constructor",
        f"{_CIRQ}::test_isinstance",
        f"{_CIRQ}::test_errors_that_programs_for_cirq_catch",
    ),
    "Cirq: samples": (
        f"{_CIRQ}::test_run",
        f"{_CIRQ}::test_run_sweep_and_run_sweep_iter",
        f"{_CIRQ}::test_run_batch",
        f"{_CIRQ}::test_run_async",
        f"{_CIRQ}::test_sample",
        f"{_CIRQ}::test_sample_expectation_values",
        f"{_CIRQ}::test_sample_from_amplitudes",
    ),
    "Cirq: states and values": (
        f"{_CIRQ}::test_simulate",
        f"{_CIRQ}::test_simulate_sweep_and_simulate_sweep_iter",
        f"{_CIRQ}::test_simulate_moment_steps",
        f"{_CIRQ}::test_compute_amplitudes",
        f"{_CIRQ}::test_simulate_expectation_values",
    ),
    "Cirq: records and what is in a circuit": (
        "qsim_ex_cirq/test_samples.py::test_records_have_cirqs_shape_and_dtype",
        f"{_CIRQ}::test_run_with",
        f"{_CIRQ}::test_run_with_repeat_until",
        f"{_CIRQ}::test_classical_controls_on_more_than_ten_bits",
        f"{_CIRQ}::test_decompositions_with_ancillas",
        f"{_CIRQ}::test_noise_models",
        f"{_CIRQ}::test_initial_state",
        f"{_CIRQ}::test_qubit_order",
        f"{_CIRQ}::test_qubits_that_are_no_line",
        f"{_CIRQ}::test_big_endian",
        "qsim_ex_cirq/qudits/test_states.py::test_final_states",
        "qsim_ex_cirq/qudits/test_records.py::test_records_are_as_frequent_as_by_definition",
    ),
    "Cirq: what fails in qsimcirq": (
        f"{_CIRQ}::test_simulate_with",
        f"{_CIRQ}::test_simulate_with_repeat_until",
        f"{_CIRQ}::test_simulate_moment_steps",
        f"{_CIRQ}::test_matrix_gates_on_more_than_6_qubits",
    ),
    "Cirq: a final state without a second copy": (f"{_CIRQ}::test_one_dimensional_final_state_without_a_second_copy",),
    "Cirq: a sweep is one plan and one batch": (f"{_CIRQ}::test_a_sweep_is_one_plan_and_one_batch",),
}
"""Each promise, and the tests that are named for it."""


@pytest.mark.parametrize("line", PROMISES)
def test_a_promise_has_its_tests(line: str) -> None:
    """The tests that are named for a promise exist."""
    assert [name for name in PROMISES[line] if not has_test(name)] == []
