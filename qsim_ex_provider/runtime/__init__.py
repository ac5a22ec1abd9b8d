"""The primitives of qiskit-ibm-runtime on the engine: change one import, and twirled and mitigated jobs run here.

`Executor`, `Sampler`, `Estimator`, `NoiseLearnerV3`, `Session` and `Batch` are the runtime's own classes with its own
signatures. They take a `QsimExBackend`, or any other backend of Qiskit's, which is then simulated with its noise. The
runtime is imported when this package is: ``pip install 'qsim-ex[runtime]'``.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING

from qsim_ex.errors import MissingPackage

if (
    importlib.util.find_spec("qiskit_ibm_runtime") is None
    or importlib.util.find_spec("qiskit_ibm_runtime.fake_provider.executor") is None  # older ones have it elsewhere
):
    raise MissingPackage(
        "qsim_ex_provider.runtime needs qiskit-ibm-runtime 0.50 or later. Run: pip install --upgrade 'qsim-ex[runtime]'"
    )

from qsim_ex_provider.runtime.primitives import Estimator, Executor, Sampler
from qsim_ex_provider.runtime.sessions import Batch, Session

if TYPE_CHECKING:
    from qsim_ex_provider.runtime.noise_learner import NoiseLearnerV3

EstimatorV2, SamplerV2 = Estimator, Sampler

__all__ = ["Batch", "Estimator", "EstimatorV2", "Executor", "NoiseLearnerV3", "Sampler", "SamplerV2", "Session"]


def __getattr__(name: str) -> object:
    if name != "NoiseLearnerV3":
        raise AttributeError(f"module 'qsim_ex_provider.runtime' has no attribute {name!r}")
    if importlib.util.find_spec("qiskit_ibm_runtime.executor_noise_learner") is None:
        raise MissingPackage(
            "NoiseLearnerV3 runs here with qiskit-ibm-runtime 0.51 or later. Run: pip install --upgrade "
            "'qsim-ex[runtime]'"
        )
    return importlib.import_module("qsim_ex_provider.runtime.noise_learner").NoiseLearnerV3
