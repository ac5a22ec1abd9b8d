"""The primitives of qiskit-ibm-runtime on the engine: change one import, and twirled and mitigated jobs run here.

`Executor`, `Sampler`, `Estimator`, `NoiseLearnerV3`, `Session` and `Batch` are the runtime's own classes with its own
signatures. They take a `QsimExBackend`, or any other backend of Qiskit's, which is then simulated with its noise. The
runtime is imported when this package is: ``pip install 'qsim-ex[runtime]'``.
"""

import importlib
from typing import TYPE_CHECKING

from qsim_ex.errors import MissingPackage
from qsim_ex_provider.runtime.versions import EXPERIMENTAL, LEARNER, has  # the first, since it asks for a version

if TYPE_CHECKING or not has(EXPERIMENTAL):
    from qsim_ex_provider.runtime.primitives import Estimator, Executor, Sampler
else:
    from qsim_ex_provider.runtime.experimental import Estimator, Executor, Sampler

from qsim_ex_provider.runtime.sessions import Batch, Session

if TYPE_CHECKING:
    from qsim_ex_provider.runtime.noise_learner import NoiseLearnerV3

EstimatorV2, SamplerV2 = Estimator, Sampler

__all__ = ["Batch", "Estimator", "EstimatorV2", "Executor", "Sampler", "SamplerV2", "Session"]

if has(LEARNER):
    __all__ += ["NoiseLearnerV3"]


def __getattr__(name: str) -> object:
    if name != "NoiseLearnerV3":
        raise AttributeError(f"module 'qsim_ex_provider.runtime' has no attribute {name!r}")
    if not has(LEARNER):
        raise MissingPackage(
            "NoiseLearnerV3 runs here with qiskit-ibm-runtime 0.51 or later. Run: pip install --upgrade "
            "'qsim-ex[runtime]'"
        )
    return importlib.import_module("qsim_ex_provider.runtime.noise_learner").NoiseLearnerV3
