"""The primitives with qiskit-ibm-runtime 0.49, whose local mode of the executor is experimental and makes its jobs.

Its simulator options are `options.experimental["simulator_options"]`, an `ExperimentalSimulatorOptions` of the
runtime's, whose `noise_model` has the noise of layers by their tags.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, TypeVar

import qiskit_ibm_runtime
from qiskit.primitives.primitive_job import PrimitiveJob
from qiskit_ibm_runtime import executor_estimator, executor_sampler
from qiskit_ibm_runtime.executor_local_mode import SimRuntimeJob
from qiskit_ibm_runtime.options_models import ExecutorOptions
from qiskit_ibm_runtime.options_models.estimator import EstimatorOptions
from qiskit_ibm_runtime.options_models.sampler import SamplerOptions
from qiskit_ibm_runtime.options_models.simulator import ExperimentalSimulatorOptions
from qiskit_ibm_runtime.results.quantum_program import ItemMetadata

from qsim_ex_provider.runtime.layer_noise import LayerNoise
from qsim_ex_provider.runtime.program import run_with_noise
from qsim_ex_provider.runtime.sessions import given_mode, session_of

if TYPE_CHECKING:
    from qiskit_ibm_runtime.quantum_program import QuantumProgram
    from qiskit_ibm_runtime.results import QuantumProgramResult

    from qsim_ex_provider.backend import QsimExBackend
    from qsim_ex_provider.runtime.primitives import Fields, Mode

OptionsT = TypeVar("OptionsT", ExecutorOptions, SamplerOptions, EstimatorOptions)


def _run_program(
    backend: QsimExBackend, program: QuantumProgram, options: ExperimentalSimulatorOptions
) -> QuantumProgramResult:
    """Run a program; noise of layers stands right of their gates, where this version's local mode has it."""
    noise = {tag: LayerNoise(map_, "R") for tag, map_ in (options.noise_model or {}).items()}
    found = run_with_noise(backend, program, options, noise)
    for item in found:
        item.metadata = ItemMetadata()  # as there: what becomes of results reads timings of schedules in it
    return found


class _Job(SimRuntimeJob):
    """A job of the runtime's experimental local mode, whose function is ours."""

    def __init__(self, backend: QsimExBackend, program: QuantumProgram, options: ExperimentalSimulatorOptions) -> None:
        PrimitiveJob.__init__(self, _run_program, backend=backend, program=program, options=options)
        self._submit()


def _locally(options: OptionsT | Fields | None, kind: type[OptionsT]) -> OptionsT:
    """Return options with which a primitive takes the experimental local mode."""
    made = options if isinstance(options, kind) else kind(**(options or {}))
    simulator = made.experimental.get("simulator_options") or ExperimentalSimulatorOptions()
    made.experimental = {**made.experimental, "local_mode": True, "simulator_options": simulator}
    return made


class Executor(qiskit_ibm_runtime.Executor):
    """Runs a `QuantumProgram` on the engine; see `qsim_ex_provider.runtime.primitives.Executor`."""

    def __init__(self, mode: Mode = None, options: ExecutorOptions | Fields | None = None) -> None:
        super().__init__(session_of(mode), _locally(options, ExecutorOptions))

    def run(self, program: QuantumProgram) -> SimRuntimeJob:
        """Run a program, and return its job."""
        return _Job(self._backend, program, self.options.experimental["simulator_options"])


def _with_our_executor(run: Callable[..., object]) -> Callable[..., object]:
    """Return the runtime's own method, in which the name `Executor` is our class."""
    assert isinstance(run, FunctionType)
    names = {**run.__globals__, "Executor": Executor}
    made = FunctionType(run.__code__, names, run.__name__, run.__defaults__, run.__closure__)
    made.__kwdefaults__, made.__doc__ = run.__kwdefaults__, run.__doc__
    return made


class Sampler(executor_sampler.SamplerV2):
    """Samples circuits, twirled where its options say so; see `qsim_ex_provider.runtime.primitives.Sampler`."""

    run = _with_our_executor(executor_sampler.SamplerV2.run)

    def __init__(self, mode: Mode = None, options: SamplerOptions | Fields | None = None) -> None:
        super().__init__(session_of(mode), _locally(options, SamplerOptions))

    @property
    def mode(self) -> qiskit_ibm_runtime.Session | None:
        """The session or batch of the sampler, or None if it has a backend alone."""
        return given_mode(self._mode)


class Estimator(executor_estimator.EstimatorV2):
    """Estimates values with error mitigation; see `qsim_ex_provider.runtime.primitives.Estimator`."""

    run = _with_our_executor(executor_estimator.EstimatorV2.run)

    def __init__(self, mode: Mode = None, options: EstimatorOptions | Fields | None = None) -> None:
        super().__init__(session_of(mode), _locally(options, EstimatorOptions))

    @property
    def mode(self) -> qiskit_ibm_runtime.Session | None:
        """The session or batch of the estimator, or None if it has a backend alone."""
        return given_mode(self._mode)
