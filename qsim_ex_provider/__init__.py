"""Qiskit on qsim-ex: a backend, a provider, primitives, and an instruction that saves the state vector."""

import importlib.util

from qsim_ex import uninterrupted
from qsim_ex.errors import MissingPackage

if importlib.util.find_spec("qiskit") is None:
    raise MissingPackage("qsim_ex_provider needs Qiskit. Run: pip install 'qsim-ex[qiskit]'")

with uninterrupted():
    from qsim_ex_provider.backend import QsimExBackend
    from qsim_ex_provider.job import QsimExJob
    from qsim_ex_provider.primitives.estimator import EstimatorV2
    from qsim_ex_provider.primitives.sampler import SamplerV2
    from qsim_ex_provider.provider import QsimExProvider
    from qsim_ex_provider.save import SaveStatevector, save_statevector
    from qsim_ex_provider.translation.device_noise import DeviceNoise

__all__ = [
    "DeviceNoise",
    "EstimatorV2",
    "QsimExBackend",
    "QsimExJob",
    "QsimExProvider",
    "SamplerV2",
    "SaveStatevector",
    "save_statevector",
]
