"""Runs Qiskit's own tests of primitives and of its simulator with qsim-ex in the place of what they test.

    pip install ddt
    python tools/foreign_tests.py                # all
    python tools/foreign_tests.py -k sampler     # further arguments go to pytest
    python tools/foreign_tests.py --folder /tmp/qiskit-tests

The tests come with the source distribution of the installed version, which pip downloads into the folder (a temporary
one unless it is given; one that has the tests is used as it is). They stay there: nothing of them is part of qsim-ex.
This file is also the pytest plugin that puts `QsimExBackend` in the place of `BasicSimulator` and of the simulator
that runs circuits of `GenericBackendV2`, `QsimExProvider` in the place of Qiskit's provider, and `SamplerV2` and
`EstimatorV2` in the place of `StatevectorSampler` and `StatevectorEstimator`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TESTS = (
    "test/python/primitives/test_backend_sampler_v2.py",
    "test/python/primitives/test_backend_estimator_v2.py",
    "test/python/primitives/test_statevector_sampler.py",
    "test/python/primitives/test_statevector_estimator.py",
    "test/python/providers/basic_provider",
)
SIMULATOR = "TestBasicSimulator.test_"
LIMIT = "a limit of qubits that BasicSimulator has"
STABILIZER = "more qubits than a state vector may have, with BasicSimulator's stabilizer method"
PRIVATE = "a private method of BasicSimulator"
INITIAL = "initial_statevector, which is refused with what to use: initialize at the beginning of the circuit"
APART: Mapping[str, str] = {
    "TestBasicProviderIntegration.test_basicprovider_num_qubits": LIMIT,
    f"{SIMULATOR}clifford_detection_various_gates": PRIVATE,
    f"{SIMULATOR}clifford_qubit_limit_exceeded": LIMIT,
    f"{SIMULATOR}clifford_qubit_limit_pass": STABILIZER,
    f"{SIMULATOR}clifford_simulation_with_initial_statevector": INITIAL,
    f"{SIMULATOR}clifford_with_barriers_and_measurements": PRIVATE,
    f"{SIMULATOR}error_message_contains_limit": LIMIT,
    f"{SIMULATOR}large_clifford_circuit_performance": STABILIZER,
    f"{SIMULATOR}options": INITIAL,
    f"{SIMULATOR}statevector_qubit_limit_exceeded": LIMIT,
    "TestStandardGatesTarget.test_target": "the names of BasicSimulator's gates",
    "TestStatevectorEstimator.test_metadata": "metadata without what a PUB's also say here: where and how it ran",
    "TestStatevectorEstimator.test_precision_seed": "the numbers of one generator, and the same noise for equal PUBs",
}
"""Tests that are not about what a backend computes, and what they are about."""


def main() -> int:
    """Fetch the tests, run them, and return pytest's exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the tests are, or are unpacked to")
    given, more = parser.parse_known_args()
    if given.folder is not None:
        return run(fetched(given.folder), more)
    with tempfile.TemporaryDirectory() as folder:
        return run(fetched(Path(folder)), more)


def fetched(folder: Path) -> Path:
    """Return a folder with the tests of the installed version of Qiskit, and download them if it has none."""
    name = f"qiskit-{version('qiskit')}"
    if not (folder / name / "test").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        package = name.replace("-", "==")
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--dest", str(folder)]
        subprocess.run([*pip, package], check=True)
        with tarfile.open(folder / f"{name}.tar.gz") as archive:
            tests = [one for one in archive.getmembers() if one.name.startswith(f"{name}/test/")]
            archive.extractall(folder, tests, filter="data")
    return folder / name


def run(folder: Path, more: list[str]) -> int:
    """Run the tests of a folder with this file as plugin."""
    paths = [str(ROOT), str(ROOT / "core"), str(folder), os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--tb=short", "-c", os.devnull, "-p", "no:cacheprovider"]
    plugin = ["-p", "tools.foreign_tests", "--rootdir", str(folder)]
    status = subprocess.run(
        [*command, *plugin, *TESTS, *more],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        check=False,
    ).returncode
    print(f"{len(APART)} tests are apart:", *(f"  {name}: {reason}" for name, reason in APART.items()), sep="\n")
    return status


# --- the plugin -------------------------------------------------------------------------------------------------------


def pytest_configure() -> None:
    """Put qsim-ex in the place of Qiskit's simulators, before a test imports them."""
    import qiskit.primitives
    import qiskit.providers.basic_provider as basic
    from qiskit.providers.basic_provider import basic_provider
    from qiskit.providers.fake_provider import GenericBackendV2

    from qsim_ex.errors import QsimExError
    from qsim_ex_provider import EstimatorV2, QsimExBackend, QsimExJob, QsimExProvider, SamplerV2, provider

    def run_generic(self: Any, run_input: Any, **options: Any) -> QsimExJob:
        """Run circuits without noise, as `GenericBackendV2` does where Aer is not installed."""
        return QsimExBackend.from_backend(self, noise_model=None).run(run_input, **options)

    provider.NAMES = ("basic_simulator",)  # the tests ask for their backend by this name
    basic.BasicSimulator = partial(QsimExBackend, name="basic_simulator")
    basic.BasicProviderError = QsimExError
    basic.BasicProvider = basic_provider.BasicProvider = QsimExProvider
    GenericBackendV2.run = run_generic
    qiskit.primitives.StatevectorSampler, qiskit.primitives.StatevectorEstimator = SamplerV2, EstimatorV2


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Leave out the tests that are apart."""
    apart = [item for item in items if item.nodeid.split("::", 1)[1].replace("::", ".") in APART]
    items[:] = [item for item in items if item not in apart]
    config.hook.pytest_deselected(items=apart)


if __name__ == "__main__":
    sys.exit(main())
