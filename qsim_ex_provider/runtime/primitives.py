"""The runtime's executor and what stands on it, on the engine: the same classes, led here by their session."""

from __future__ import annotations

from typing import Any

import qiskit_ibm_runtime
from qiskit_ibm_runtime import executor_estimator, executor_sampler

from qsim_ex_provider.runtime.sessions import BackendSession, session_of


class Here:
    """What all primitives have: a mode that leads to the engine."""

    def __init__(self, mode: Any = None, options: Any = None) -> None:
        super().__init__(session_of(mode), options)  # type: ignore[call-arg]  # of the runtime's class, which follows

    @property
    def mode(self) -> Any:
        """The session or batch of the primitive, or None if it has a backend alone."""
        session = self._mode  # type: ignore[attr-defined]  # of the runtime's class
        return None if isinstance(session, BackendSession) else session


class Executor(Here, qiskit_ibm_runtime.Executor):
    """Runs a `QuantumProgram` on the engine; see `qiskit_ibm_runtime.Executor`.

    mode: a `QsimExBackend`, or another backend of Qiskit's, which is simulated with its noise; a session or a batch.
    options: as there; `simulator` holds `seed_simulator`, `angle_decimals`, `layer_noise_model` and `warn_absent`.
    """


class Sampler(Here, executor_sampler.SamplerV2):
    """Samples circuits, twirled where its options say so; see `qiskit_ibm_runtime.executor_sampler.Sampler`."""


class Estimator(Here, executor_estimator.EstimatorV2):
    """Estimates values with error mitigation; see `qiskit_ibm_runtime.executor_estimator.Estimator`."""
