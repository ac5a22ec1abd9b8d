"""The runtime's executor and what stands on it, on the engine: the same classes, led here by their session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import qiskit_ibm_runtime
from qiskit_ibm_runtime import executor_estimator, executor_sampler

from qsim_ex_provider.runtime.sessions import given_mode, session_of

if TYPE_CHECKING:
    from qiskit.providers import BackendV2
    from qiskit_ibm_runtime.options_models import EstimatorOptions, ExecutorOptions, SamplerOptions

    Mode: TypeAlias = BackendV2 | qiskit_ibm_runtime.Session | None
    Fields: TypeAlias = Mapping[str, object]


class Executor(qiskit_ibm_runtime.Executor):
    """Runs a `QuantumProgram` on the engine; see `qiskit_ibm_runtime.Executor`.

    mode: a `QsimExBackend`, or another backend of Qiskit's, which is simulated with its noise; a session or a batch.
    options: as there; `simulator` holds `seed_simulator`, `angle_decimals`, `layer_noise_model` and `warn_absent`.
    """

    def __init__(self, mode: Mode = None, options: ExecutorOptions | Fields | None = None) -> None:
        super().__init__(session_of(mode), options)

    @property
    def mode(self) -> qiskit_ibm_runtime.Session | None:
        """The session or batch of the executor, or None if it has a backend alone."""
        return given_mode(self._mode)


class Sampler(executor_sampler.SamplerV2):
    """Samples circuits, twirled where its options say so; see `qiskit_ibm_runtime.executor_sampler.Sampler`.

    mode: as of `Executor`. options: as there.
    """

    def __init__(self, mode: Mode = None, options: SamplerOptions | Fields | None = None) -> None:
        super().__init__(session_of(mode), options)

    @property
    def mode(self) -> qiskit_ibm_runtime.Session | None:
        """The session or batch of the sampler, or None if it has a backend alone."""
        return given_mode(self._mode)


class Estimator(executor_estimator.EstimatorV2):
    """Estimates values with error mitigation; see `qiskit_ibm_runtime.executor_estimator.Estimator`.

    mode: as of `Executor`. options: as there.
    """

    def __init__(self, mode: Mode = None, options: EstimatorOptions | Fields | None = None) -> None:
        super().__init__(session_of(mode), options)

    @property
    def mode(self) -> qiskit_ibm_runtime.Session | None:
        """The session or batch of the estimator, or None if it has a backend alone."""
        return given_mode(self._mode)
