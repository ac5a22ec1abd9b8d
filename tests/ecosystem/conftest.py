"""The simulators on which each job runs: ours, and Qiskit Aer's to see whether a job that fails is at fault itself."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--simulator aer``, which runs the jobs on Qiskit Aer."""
    parser.addoption("--simulator", choices=["qsim_ex", "aer"], default="qsim_ex")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the jobs that the runtime of this environment cannot do at all; ``since`` says which can."""
    kept = [item for item in items if not (since := item.get_closest_marker("since")) or _has(since.args[0])]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def _has(version: str) -> bool:
    """Whether qiskit-ibm-runtime is of that version or later."""
    have = metadata.version("qiskit-ibm-runtime")
    return [*map(int, have.split(".")[:2])] >= [*map(int, version.split("."))]


@dataclass(frozen=True)
class Simulators:
    """A backend and two primitives: classes, which tests make with the options that both packages have."""

    backend: Any
    sampler: Any
    estimator: Any


@pytest.fixture
def simulators(request: pytest.FixtureRequest) -> Simulators:
    """The classes of the simulator that was asked for."""
    if request.config.getoption("--simulator") == "aer":
        from qiskit_aer import AerSimulator
        from qiskit_aer.primitives import EstimatorV2, SamplerV2

        return Simulators(AerSimulator, SamplerV2, EstimatorV2)
    from qsim_ex_provider import EstimatorV2, QsimExBackend, SamplerV2

    return Simulators(QsimExBackend, SamplerV2, EstimatorV2)


@pytest.fixture
def cirq_simulator(request: pytest.FixtureRequest) -> Any:
    """Our class for Cirq, or Cirq's own where ``--simulator aer`` asks for another than ours."""
    if request.config.getoption("--simulator") == "aer":
        import cirq

        return cirq.Simulator
    from qsim_ex_cirq import QsimExSimulator

    return QsimExSimulator
