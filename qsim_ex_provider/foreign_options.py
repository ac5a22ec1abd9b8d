"""Options that users of other backends write: Aer's, those of Qiskit's `BasicSimulator`, and those of IBM's devices.

An option that has another name here is given it. One that changes nothing about the result of a state vector simulator
is accepted where its value means what happens here in any case; every other value is an error that says what to use.
The page docs/reference/foreign-options.md lists them all; `tools.pages.tables` makes its tables from this file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qsim_ex.errors import OptionError


@dataclass(frozen=True, slots=True)
class Renamed:
    """An option that has another name here; value: makes the value here of the one there."""

    name: str
    value: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True, slots=True)
class Accepted:
    """An option that has no effect here.

    values: those that mean what happens here; any value does if None. instead: what to do for another one.
    """

    values: tuple[object, ...] | None = None
    instead: str = ""


def _bytes(mebibytes: object) -> Any:
    """Return bytes; 0 and None leave the limit to the machine, as in Aer."""
    return int(mebibytes * (1 << 20)) or None if isinstance(mebibytes, int | float) else mebibytes


def _or_none(value: object) -> Any:
    """Return the value; 0, an empty list and None leave the number to the machine, as in Aer."""
    return value or None


RENAMED: Mapping[str, Renamed] = {
    "max_memory_mb": Renamed("max_memory", _bytes),
    "max_parallel_threads": Renamed("threads", _or_none),
    "seed": Renamed("seed_simulator"),
    "target_gpus": Renamed("devices", _or_none),
}

OF_OTHER_METHODS = (
    "chop_threshold",
    "extended_stabilizer_approximation_error",
    "extended_stabilizer_metropolis_mixing_time",
    "extended_stabilizer_norm_estimation_repetitions",
    "extended_stabilizer_norm_estimation_samples",
    "extended_stabilizer_parallel_threshold",
    "extended_stabilizer_probabilities_snapshot_samples",
    "extended_stabilizer_sampling_method",
    "matrix_product_state_max_bond_dimension",
    "matrix_product_state_truncation_threshold",
    "mps_lapack",
    "mps_log_data",
    "mps_omp_threads",
    "mps_parallel_threshold",
    "mps_sample_measure_algorithm",
    "mps_swap_direction",
    "stabilizer_max_snapshot_probabilities",
    "tensor_network_num_sampling_qubits",
    "use_cuTensorNet_autotuning",
)
"""Options of Aer's other methods, which a state vector simulation does not look at there either."""

TUNING = (
    "accept_distributed_results",
    "batched_shots_gpu",
    "batched_shots_gpu_max_qubits",
    "blocking_enable",
    "blocking_qubits",
    "chunk_swap_buffer_qubits",
    "cuStateVec_enable",
    "enable_truncation",
    "fusion_enable",
    "fusion_max_qubit",
    "fusion_threshold",
    "fusion_verbose",
    "max_job_size",
    "max_parallel_experiments",
    "max_parallel_shots",
    "max_shot_size",
    "num_threads_per_device",
    "runtime_parameter_bind_enable",
    "shot_branching_enable",
    "shot_branching_sampling_enable",
    "statevector_parallel_threshold",
    "statevector_sample_measure_opt",
    "use_clifford_optimization",
    "validation_threshold",
    "zero_threshold",
)
"""Options that say how another simulator works, not what it computes; qsim-ex chooses for itself."""

OF_DEVICES = (
    "dynamic",
    "job_name",
    "job_tags",
    "max_execution_time",
    "meas_lo_freq",
    "meas_lo_range",
    "meas_map",
    "meas_return",
    "memory_slot_size",
    "memory_slots",
    "parametric_pulses",
    "qubit_lo_freq",
    "qubit_lo_range",
    "rep_delay",
    "rep_time",
    "schedule_los",
    "session_id",
    "tags",
    "use_fractional_gates",
    "use_measure_esp",
)
"""Options about the hardware of a device, its queue, or what it does between shots."""

OTHER_METHODS = {
    "unitary": "qsim_ex_provider.save_unitary(circuit) keeps it with method='statevector'.",
    "superop": "superoperators are not computed; save_density_matrix keeps what channels make of one state, with "
    "method='density_matrix'.",
    **dict.fromkeys(
        ("extended_stabilizer", "matrix_product_state", "tensor_network"),
        "leave method out for a state vector, or use Aer for circuits that are too wide for one.",
    ),
}
"""Methods of Aer that are none here, and what to do instead."""

OF_TRANSPILE = ("initial_layout", "layout_method", "optimization_level", "routing_method", "seed_transpiler")
"""Arguments of `transpile`, which Qiskit's former `execute` took together with options of a run."""

ACCEPTED: Mapping[str, Accepted] = {
    **dict.fromkeys((*TUNING, *OF_OTHER_METHODS, *OF_DEVICES), Accepted()),
    "meas_level": Accepted((2,), "every measurement gives a bit; pass meas_level=2 or leave it out."),
    "init_qubits": Accepted(
        (True, None), "every shot begins with all qubits 0; for another state begin the circuit with initialize."
    ),
    "initial_statevector": Accepted((None,), "begin the circuit with initialize."),
    "basis_gates": Accepted((None,), "pass it to transpile."),
    **dict.fromkeys(OF_TRANSPILE, Accepted((None,), "pass it to transpile.")),
    "coupling_map": Accepted((None,), "pass it to transpile, or simulate a device with QsimExBackend.from_backend."),
    "n_qubits": Accepted(),  # how many a circuit may have elsewhere; here the width of the target alone
}

NAMES = (*RENAMED, *ACCEPTED)
"""All names that are understood beside those of this package."""


def in_own_words(given: Mapping[str, object], known: tuple[str, ...]) -> dict[str, object]:
    """Return options with their names here, without those that have no effect; unknown names stay.

    known: names that keep their meaning. Raises `OptionError` for a value with another meaning than here, and for an
    option that is given under two names.
    """
    found = {name: value for name, value in given.items() if name in known or name not in NAMES}
    for name, value in given.items():
        if name in found:
            continue
        if name in RENAMED:
            own = RENAMED[name]
            if own.name in found:
                raise OptionError(f"expected one of {name} and {own.name}, which are the same, got both; pass one.")
            found[own.name] = own.value(value)
        else:
            _check(name, value, ACCEPTED[name])
    return found


def _check(name: str, value: object, option: Accepted) -> None:
    plain = value if isinstance(value, bool | int | str) else None if value is None else object()  # not an array
    if option.values is not None and plain not in option.values:
        expected = " or ".join(f"{name}={one!r}" for one in option.values)
        raise OptionError(f"expected {expected}, got {name}={value!r}: {option.instead}")
