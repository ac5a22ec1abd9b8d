"""The plugin of `tools/foreign_tests.py` puts qsim-ex in the place of Qiskit's simulators, and leaves tests out."""

from __future__ import annotations

import os
import tarfile
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.paths import ROOT

pytest.importorskip("qiskit")

from tools import foreign_tests

pytest_plugins = ["pytester"]

FOREIGN = """
from qiskit import QuantumCircuit
from qiskit.primitives import BackendSamplerV2, StatevectorEstimator, StatevectorSampler
from qiskit.providers.basic_provider import BasicProvider, BasicSimulator
from qiskit.providers.fake_provider import GenericBackendV2

class TestBasicSimulator:
    def test_here(self):
        made = [BasicSimulator(), BasicProvider().get_backend("basic_simulator")]
        made += [StatevectorSampler(), StatevectorEstimator()]
        assert all(type(one).__module__.startswith("qsim_ex_provider.") for one in made)
        assert made[0].name == "basic_simulator"
        circuit = QuantumCircuit(1, 1)
        circuit.x(0)
        circuit.measure(0, 0)
        job = GenericBackendV2(2).run(circuit, shots=3)
        assert type(job).__name__ == "QsimExJob"
        assert job.result().get_counts() == {"1": 3}

    def test_options(self):
        raise AssertionError("this one is apart")
"""


def test_the_plugin_runs_tests_on_qsim_ex(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test imports from Qiskit is qsim-ex, and a test that is apart does not run."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "core")]))
    pytester.makepyfile(FOREIGN)
    result = pytester.runpytest_subprocess("-p", "tools.foreign_tests", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, deselected=1)


def test_tests_are_unpacked_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the source distribution the tests are unpacked and nothing else, and only once."""
    name = f"qiskit-{version('qiskit')}"
    asked: list[list[str]] = []

    def download(command: list[str], *, check: bool) -> SimpleNamespace:
        asked.append(command)
        for path in ("test/one.py", "qiskit/two.py"):
            made = tmp_path / "made" / name / path
            made.parent.mkdir(parents=True)
            made.write_text("")
        with tarfile.open(tmp_path / "there" / f"{name}.tar.gz", "w:gz") as archive:
            archive.add(tmp_path / "made" / name, name)
        return SimpleNamespace(returncode=0 if check else 1)

    monkeypatch.setattr(foreign_tests.subprocess, "run", download)
    for _ in range(2):
        folder = foreign_tests.fetched(tmp_path / "there")
        assert [path.name for path in folder.iterdir()] == ["test"]
    assert len(asked) == 1
    assert asked[0][-1] == f"qiskit=={version('qiskit')}"
