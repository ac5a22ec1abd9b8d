"""A backend is not copied into a simulator of Aer's by the executor of qiskit-ibm-runtime."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from qiskit.providers.fake_provider import GenericBackendV2

from qsim_ex.errors import NotSupported
from qsim_ex_provider import QsimExBackend

EXECUTOR = "def run_quantum_program(backend):\n    return edges_of(backend)\n"


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the runtime's name, whose function reads a backend's coupling through another one, as Aer does."""
    module = ModuleType("qiskit_ibm_runtime.fake_provider.executor.run_quantum_program")
    module.__dict__["edges_of"] = lambda backend: backend.coupling_map
    exec(EXECUTOR, module.__dict__)
    monkeypatch.setitem(sys.modules, "qiskit_ibm_runtime", ModuleType("qiskit_ibm_runtime"))
    return module


def backends() -> list[QsimExBackend]:
    """Return a backend without coupling and one with a device's."""
    return [QsimExBackend(), QsimExBackend.from_backend(GenericBackendV2(3, seed=1))]


def test_the_runtimes_executor_is_told_what_to_write(executor: Any) -> None:
    """Whoever reads the coupling within that executor gets an error that names our classes."""
    for backend in backends():
        with pytest.raises(NotSupported, match=r"qsim_ex_provider\.runtime import Executor.*runtime\.Session"):
            executor.run_quantum_program(backend)


def test_others_read_the_coupling(executor: Any) -> None:
    """Whoever reads the coupling outside of it, with the runtime loaded, gets it: none, or the device's."""
    free, coupled = backends()
    assert executor.edges_of(free) is None
    assert len(executor.edges_of(coupled).get_edges()) == 6


def test_without_the_runtime_its_classes_say_how_to_install_it() -> None:
    """Where qiskit-ibm-runtime is not installed, `qsim_ex_provider.runtime` names the extra."""
    from importlib.util import find_spec

    if find_spec("qiskit_ibm_runtime") is not None:
        pytest.skip("qiskit-ibm-runtime is installed here")
    with pytest.raises(ImportError, match=r"qsim-ex\[runtime\]"):
        __import__("qsim_ex_provider.runtime")
