"""Run the tests of gradients of qiskit-algorithms and qiskit-machine-learning with ours in the place of theirs.

    pip install ddt qiskit-algorithms qiskit-machine-learning qiskit-ibm-runtime
    python tools/foreign_gradients.py                 # both packages
    python tools/foreign_gradients.py -k qnn          # further arguments go to pytest
    python tools/foreign_gradients.py --folder /tmp/gradients

The tests come with the source distributions of the installed versions, which pip downloads into the folder (a temporary
one unless it is given; one that has the tests is used as it is). They stay there: nothing of them is part of qsim-ex.
This file is also the plugin of pytest that puts `AdjointEstimatorGradient` in the place of gradients by parameter
shifts, and our `EstimatorV2` in the place of the estimators that all other gradients, algorithms and networks take.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TESTS: Mapping[str, tuple[str, ...]] = {
    "qiskit_algorithms": ("test/gradients/test_estimator_gradient.py", "test/minimum_eigensolvers/test_vqe.py"),
    "qiskit_machine_learning": (
        "test/gradients/test_estimator_gradient.py",
        "test/neural_networks/test_estimator_qnn.py",
    ),
}
_SHIFTS = "TestEstimatorGradient.test_"
APART: Mapping[str, str] = {
    f"{_SHIFTS}precision_2_ParamShiftEstimatorGradient": "the precision of estimates, which exact derivatives have not",
    f"{_SHIFTS}transpiler_2_ParamShiftEstimatorGradient": "that circuits of shifts are transpiled; there are none",
}
"""Tests that are not about derivatives, and what they are about."""


def main() -> int:
    """Fetch the tests, run them, and return the first exit status of pytest that is not 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the tests are, or are unpacked to")
    given, more = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as scratch:
        status = [run(package, fetched(package, given.folder or Path(scratch)), more) for package in TESTS]
    print(f"{len(APART)} tests are apart:", *(f"  {name}: {reason}" for name, reason in APART.items()), sep="\n")
    return next((one for one in status if one), 0)


def fetched(package: str, folder: Path) -> Path:
    """Return a folder with the tests of the installed version of a package, and download them if it has none."""
    name = f"{package}-{version(package)}"
    if not (folder / name / "test").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*pip, "--dest", str(folder), name.replace("-", "==")], check=True)
        with tarfile.open(folder / f"{name}.tar.gz") as archive:
            tests = [one for one in archive.getmembers() if one.name.startswith(f"{name}/test/")]
            archive.extractall(folder, tests, filter="data")
    return folder / name


def run(package: str, folder: Path, more: list[str]) -> int:
    """Run the tests of a folder with this file as plugin."""
    paths = [str(ROOT), str(ROOT / "core"), str(folder), os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-c", os.devnull, "-p", "no:cacheprovider"]
    plugin = ["-p", "tools.foreign_gradients", "--rootdir", str(folder)]
    settings = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "FOREIGN_PACKAGE": package}
    return subprocess.run(
        [*command, *plugin, *TESTS[package], *more], cwd=folder, env={**os.environ, **settings}, check=False
    ).returncode


# --- the plugin -------------------------------------------------------------------------------------------------------


def pytest_configure() -> None:
    """Put ours in the place of what tests import."""
    import qiskit.primitives

    from qsim_ex_provider import EstimatorV2

    package = os.environ["FOREIGN_PACKAGE"]
    ours = import_module(f"qsim_ex_provider.gradients.{package.removeprefix('qiskit_')}")

    class ParamShiftEstimatorGradient(ours.AdjointEstimatorGradient):
        """Ours under the name that the tests import; a transpiler's pass manager is not needed."""

        def __init__(self, estimator: object = None, *_: object, **__: object) -> None:
            super().__init__(estimator if isinstance(estimator, EstimatorV2) else None)

    gradients: Any = import_module(f"{package}.gradients")
    gradients.ParamShiftEstimatorGradient = ParamShiftEstimatorGradient
    qiskit.primitives.StatevectorEstimator = EstimatorV2
    if package == "qiskit_machine_learning":
        primitives: Any = import_module(f"{package}.primitives")
        primitives.QMLEstimator = EstimatorV2


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Leave out the tests that are apart."""
    apart = [item for item in items if item.nodeid.split("::", 1)[1].split("[")[0].replace("::", ".") in APART]
    items[:] = [item for item in items if item not in apart]
    config.hook.pytest_deselected(items=apart)


if __name__ == "__main__":
    sys.exit(main())
