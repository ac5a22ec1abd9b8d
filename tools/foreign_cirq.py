"""Run the tests of Cirq's own wheel with our simulators in the place of Cirq's.

    python tools/foreign_cirq.py                    all files that use cirq.Simulator, on two processes
    python tools/foreign_cirq.py --sample           the files of `SAMPLE`, in half a minute
    python tools/foreign_cirq.py --density          our density matrices too, and all files that use Cirq's
    python tools/foreign_cirq.py --cirq             leave Cirq's simulators in their place: what fails there is Cirq's
    python tools/foreign_cirq.py -- -k sweep        the same with options for pytest

The tests come with the installed Cirq. Of those of `EXCEPTIONS` the ones about Cirq's own objects and order of draws
are not run, and the others are expected to fail; everything else is expected to pass. An exception that is run and none
of whose tests fails is an error too when everything is run. This file is also the plugin of pytest that does all that.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

INSIDE = "looks inside Cirq's own simulator: which of its private methods ran, or what it keeps apart"
STREAM = "expects the bits that NumPy's generator gives to Cirq's own order of draws, for one seed"
NOT_RUN = (INSIDE, STREAM)
"""Reasons for which a test says nothing of another simulator."""

ROUNDING = "allows no rounding in complex64, where our kernels multiply and add at once, and Cirq rounds in between"

DENSITY = "cirq/sim/density_matrix_simulator_test.py::test_"
SIMULATOR = "cirq/sim/sparse_simulator_test.py::test_"
CONTROLLED = "cirq/ops/classically_controlled_operation_test.py::test_"
TRANSFORMERS = "cirq/transformers/measurement_transformers_test.py::test_"
EXCEPTIONS: Mapping[str, str] = {
    f"{SIMULATOR}pure_state_creation": INSIDE,
    f"{SIMULATOR}run_invert_mask_measure_not_terminal": INSIDE,
    f"{SIMULATOR}run_partial_invert_mask_measure_not_terminal": INSIDE,
    f"{SIMULATOR}run_repetitions_measure_at_end": INSIDE,
    f"{SIMULATOR}run_repetitions_measurement_not_terminal": INSIDE,
    f"{SIMULATOR}separated_states_str_does_not_merge": INSIDE,
    f"{SIMULATOR}random_seed": STREAM,
    f"{SIMULATOR}random_seed_mixture_deterministic": STREAM,
    f"{SIMULATOR}random_seed_non_terminal_measurements_deterministic": STREAM,
    f"{SIMULATOR}random_seed_terminal_measurements_deterministic": STREAM,
    "cirq/experiments/single_qubit_readout_calibration_test.py::test_estimate_single_qubit_readout_errors_with_noise": (
        STREAM
    ),
    "cirq/circuits/circuit_test.py::test_final_state_vector": ROUNDING,
    "cirq/contrib/ghz/ghz_2d_test.py::test_ghz_circuits_state": ROUNDING,
    "cirq/experiments/benchmarking/parallel_xeb_test.py::test_simulate_circuit_library_with_target_dict": ROUNDING,
    "cirq/work/observable_measurement_test.py::test_get_params_for_setting": ROUNDING,
    f"{SIMULATOR}works_on_pauli_string_phasor": ROUNDING,
}
"""Tests, without their parameters, that fail with our simulator, and why: three reasons, no public behaviour."""

DENSITY_EXCEPTIONS: Mapping[str, str] = {
    f"{DENSITY}density_matrix_copy": INSIDE,
    f"{DENSITY}large_untangled_okay": INSIDE,
    f"{DENSITY}measuring_subcircuits_cause_sweep_repeat": INSIDE,
    f"{DENSITY}nonmeasuring_subcircuits_do_not_cause_sweep_repeat": INSIDE,
    f"{DENSITY}run_qudits_repetitions_measure_at_end": INSIDE,
    f"{DENSITY}run_qudits_repetitions_measurement_not_terminal": INSIDE,
    f"{DENSITY}run_repetitions_measure_at_end": INSIDE,
    f"{DENSITY}run_repetitions_measurement_not_terminal": INSIDE,
    f"{DENSITY}random_seed": STREAM,
    f"{DENSITY}random_seed_non_terminal_measurements_deterministic": STREAM,
    f"{DENSITY}random_seed_terminal_measurements_deterministic": STREAM,
    f"{DENSITY}works_on_pauli_string_phasor": ROUNDING,
    "cirq/circuits/circuit_test.py::test_compare_circuits_superoperator_to_simulation": ROUNDING,
    "cirq/work/observable_readout_calibration_test.py::test_calibrate_readout_error": STREAM,
}
"""The same for our density matrices, which count with ``--density`` alone."""

SAMPLE = (
    "cirq/circuits/circuit_operation_test.py",
    "cirq/ops/kraus_channel_test.py",
    "cirq/ops/mixed_unitary_channel_test.py",
    "cirq/ops/classically_controlled_operation_test.py",
    "cirq/ops/pauli_measurement_gate_test.py",
    "cirq/sim/simulation_state_test.py",
    "cirq/sim/sparse_simulator_test.py",
    "cirq/sim/state_vector_simulation_state_test.py",
)
"""Files in which most of the interface is tested."""

NOT_INSTALLED = ("quimb",)
"""Packages that some of Cirq's contributions need; files that name them are left out."""

HELPERS = ("gauge_compiling_test_utils",)
"""Modules that name `cirq.Simulator` for tests that import them."""

PLACE = "QSIM_EX_FOREIGN_CIRQ"
"""The variable by which the plugin is told what to put in place: words among `simulator`, `density`, `whole`."""


# --- the plugin --------------------------------------------------------------------------------------------------


def pytest_configure() -> None:
    """Put our simulators in the place of Cirq's before a test imports them, and seed what tests do not seed."""
    import random

    import cirq
    import numpy as np
    from cirq.sim import density_matrix_simulator, sparse_simulator

    asked = os.environ.get(PLACE, "simulator").split()
    if "simulator" in asked:
        from qsim_ex_cirq import QsimExSimulator

        cirq.Simulator = cirq.sim.Simulator = sparse_simulator.Simulator = QsimExSimulator  # type: ignore[misc, assignment]
    if "density" in asked:
        ours = _density_class()
        cirq.DensityMatrixSimulator = cirq.sim.DensityMatrixSimulator = ours
        density_matrix_simulator.DensityMatrixSimulator = ours
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002  (the generator that Cirq's tests use)


def _density_class() -> Any:
    """Return the class that takes the place of ``cirq.DensityMatrixSimulator``."""
    from qsim_ex_cirq.density_matrix import QsimExDensityMatrixSimulator

    return QsimExDensityMatrixSimulator


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Leave out what asks for Cirq's insides, and expect the other exceptions to fail, some of their parameters."""
    import pytest

    exceptions = _exceptions()
    left_out = [item for item in items if exceptions.get(_function(item.nodeid)) in NOT_RUN]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)
    expected = _expected()
    for item in items:
        reason = expected.get(_function(item.nodeid))
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=False))


def _expected() -> Mapping[str, str]:
    return {name: reason for name, reason in _exceptions().items() if reason not in NOT_RUN}


def _exceptions() -> Mapping[str, str]:
    asked = os.environ.get(PLACE, "simulator").split()
    found = dict(EXCEPTIONS) if "simulator" in asked else {}
    return {**found, **DENSITY_EXCEPTIONS} if "density" in asked else found


def _function(nodeid: str) -> str:
    """Return the name of a test without its parameters."""
    return nodeid.split("[", maxsplit=1)[0]


_FAILED: set[str] = set()
"""The exceptions that failed in this run, as was expected."""


def pytest_runtest_logreport(report: Any) -> None:
    """Note the exceptions that fail."""
    if report.skipped and hasattr(report, "wasxfail"):
        _FAILED.add(_function(report.nodeid))


def pytest_sessionfinish(session: Any) -> None:
    """Fail if everything was run and an exception is none any more."""
    passing = sorted(set(_expected()) - _FAILED)
    is_worker = hasattr(session.config, "workerinput")
    if "whole" in os.environ.get(PLACE, "").split() and not is_worker and passing:
        print(f"\nNo exceptions any more; take them off the list of {Path(__file__).name}:", *passing, sep="\n  ")
        session.exitstatus = 1


# --- the command -------------------------------------------------------------------------------------------------


def cirq_folder() -> Path:
    """Return the folder that holds the installed package `cirq`."""
    found = importlib.util.find_spec("cirq")
    if found is None or found.origin is None:
        sys.exit("expected Cirq to be installed; run: pip install 'qsim-ex[cirq]'")
    return Path(found.origin).parents[1]


def files(folder: Path, names: Sequence[str]) -> list[str]:
    """Return the test files of Cirq, relative to the folder, that name a class of `cirq` or `cirq.sim`, or a helper."""
    wanted = re.compile(rf"\b(?:cirq|sim)\.(?:{'|'.join(names)})\b|{'|'.join(HELPERS)}")
    found = []
    for path in sorted((folder / "cirq").rglob("*_test.py")):
        text = path.read_text(encoding="utf-8")
        if wanted.search(text) and not any(package in str(path.relative_to(folder)) for package in NOT_INSTALLED):
            found.append(str(path.relative_to(folder)))
    return found


def main() -> None:
    """Run the tests; the exit status is pytest's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--density", action="store_true")
    parser.add_argument("--cirq", action="store_true")
    parser.add_argument("pytest", nargs="*", help="options of pytest, after --")
    given = parser.parse_args()
    folder = cirq_folder()
    names = ["Simulator", *(["DensityMatrixSimulator"] if given.density else [])]
    tests = list(SAMPLE) if given.sample else files(folder, names)
    place = [] if given.cirq else ["simulator", *(["density"] if given.density else [])]
    if not (given.sample or given.cirq or given.pytest):
        place.append("whole")
    paths = [str(ROOT / "tools"), str(ROOT / "core"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    settings = {"PYTHONPATH": os.pathsep.join(paths), PLACE: " ".join(place) or "nothing"}
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(folder), "--tb", "short"]
    command += ["-p", "foreign_cirq", "-p", "no:cacheprovider", "-n", "2", *given.pytest, *tests]
    sys.exit(subprocess.run(command, cwd=folder, env={**os.environ, **settings}, check=False).returncode)


if __name__ == "__main__":
    main()
