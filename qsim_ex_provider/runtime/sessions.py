"""Sessions and batches of the runtime whose jobs run on the engine, and the local service behind them.

A primitive of the runtime takes its service and its backend from its session, and gives the session on to the executor
that does its work. So a session of ours is all that leads a job here, through classes of the runtime that stay as they
are.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import qiskit_ibm_runtime
from qiskit_ibm_runtime.fake_provider.local_runtime_job import LocalRuntimeJob
from qiskit_ibm_runtime.fake_provider.local_service import QiskitRuntimeLocalService
from qiskit_ibm_runtime.utils.default_session import get_cm_session

from qsim_ex_provider.backend import QsimExBackend
from qsim_ex_provider.runtime.program import run_program

if TYPE_CHECKING:
    from qiskit.providers import BackendV2
    from qiskit_ibm_runtime.options_models.simulator import SimulatorOptions
    from qiskit_ibm_runtime.quantum_program import QuantumProgram


class LocalService(QiskitRuntimeLocalService):
    """The runtime's local service, whose executor runs programs on the engine."""

    def _run_executor(
        self, backend: QsimExBackend, options: SimulatorOptions, inputs: QuantumProgram, dry_run: bool = False
    ) -> LocalRuntimeJob:
        if dry_run:
            warnings.warn("dry_run has no effect where jobs run on qsim-ex.", stacklevel=2)
        job = LocalRuntimeJob(
            function=run_program, backend=backend, primitive="executor", inputs=inputs, options=options
        )
        job._submit()
        return job


class Session(qiskit_ibm_runtime.Session):
    """A session of the runtime on the engine; any primitive of the runtime takes it as its mode.

    backend: a `QsimExBackend`, or another backend of Qiskit's, which is simulated with its noise and asked for nothing
    more. max_time and create_new mean nothing here, as in the runtime's local mode.
    """

    def __init__(
        self, backend: BackendV2, max_time: int | str | None = None, *, create_new: bool | None = True
    ) -> None:
        super().__init__(simulated(backend), max_time, create_new=create_new)
        self._service = LocalService()


class Batch(qiskit_ibm_runtime.Batch):
    """A batch of the runtime on the engine; see `Session`."""

    def __init__(
        self, backend: BackendV2, max_time: int | str | None = None, *, create_new: bool | None = True
    ) -> None:
        super().__init__(simulated(backend), max_time, create_new=create_new)
        self._service = LocalService()


class BackendSession(Session):
    """The session of a primitive that was given a backend alone; users do not see it."""


def simulated(backend: BackendV2) -> QsimExBackend:
    """Return a backend of ours as it is, and for another one of Qiskit's the backend that simulates it."""
    return backend if isinstance(backend, QsimExBackend) else QsimExBackend.from_backend(backend)


def session_of(mode: BackendV2 | qiskit_ibm_runtime.Session | None) -> qiskit_ibm_runtime.Session | None:
    """Return the session of ours for the `mode` of a primitive: a backend, a session, or None for the present one.

    Return None where no session is open, for which the runtime has its own error.
    """
    given = get_cm_session() if mode is None else mode
    if given is None or isinstance(given, Session | Batch):
        return given
    if isinstance(given, qiskit_ibm_runtime.Session):  # one of the runtime's own, with the same backend
        kind = Batch if isinstance(given, qiskit_ibm_runtime.Batch) else Session
        return kind(given._backend)
    return BackendSession(given)


def given_mode(session: qiskit_ibm_runtime.Session) -> qiskit_ibm_runtime.Session | None:
    """Return a primitive's session as its user sees it: None where the user gave a backend."""
    return None if isinstance(session, BackendSession) else session
