"""The plugin of `tools/foreign_cirq.py` puts our simulators in the place of Cirq's, and knows which tests then fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.paths import ROOT

pytest.importorskip("cirq")

from tools import foreign_cirq

pytest_plugins = ["pytester"]

FOREIGN = """
import cirq
from cirq.sim.sparse_simulator import Simulator

def test_simulator():
    assert {type(cirq.Simulator()).__name__, type(Simulator()).__name__} == {"QsimExSimulator"}
    assert cirq.Simulator().run(cirq.Circuit(cirq.X(cirq.q(0)), cirq.measure(cirq.q(0), key="m"))).histogram(key="m")[1]

def test_that_fails():
    assert cirq.Simulator().simulate(cirq.Circuit()).final_state_vector.size == 2

def test_of_insides():
    assert not cirq.Simulator()
"""
PLUGIN = """
import foreign_cirq
foreign_cirq.EXCEPTIONS = {
    "test_it.py::test_that_fails": "a size", "test_it.py::test_of_insides": foreign_cirq.INSIDE, **STALE
}
"""


@pytest.mark.parametrize("stale", [{}, {"test_it.py::test_simulator": "none"}])
def test_the_plugin_runs_tests_on_our_simulator(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, stale: dict[str, str]
) -> None:
    """Tests get our simulator, exceptions fail or are left out, and one that passes is an error of the whole run."""
    paths = [ROOT / "tools", ROOT, ROOT / "core", pytester.path]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, paths)))
    monkeypatch.setenv(foreign_cirq.PLACE, "simulator whole")
    pytester.makepyfile(test_it=FOREIGN, exceptions=PLUGIN.replace("STALE", repr(stale)))
    result = pytester.runpytest_subprocess("-p", "exceptions", "-p", "foreign_cirq", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=0 if stale else 1, xpassed=len(stale), xfailed=1, deselected=1)
    assert result.ret == bool(stale)
    assert ("test_it.py::test_simulator" in result.stdout.str()) == bool(stale)


def test_every_exception_is_a_test_of_the_installed_wheel() -> None:
    """The list names tests that are there, in files that are run, for three reasons at most."""
    folder = foreign_cirq.cirq_folder()
    run = foreign_cirq.files(folder, ["Simulator"])
    assert not set(foreign_cirq.SAMPLE) - set(run)
    for name in foreign_cirq.EXCEPTIONS:
        file, function = name.split("::")
        assert file in run
        assert f"def {function}(" in Path(folder, file).read_text(encoding="utf-8")
    assert len(set(foreign_cirq.EXCEPTIONS.values())) <= 3
