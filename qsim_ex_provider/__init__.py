"""Qiskit on qsim-ex: a backend, a provider, primitives, and instructions that save and set the state."""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

import qsim_ex
from qsim_ex import uninterrupted
from qsim_ex.errors import MissingPackage, nearest

if importlib.util.find_spec("qiskit") is None:
    raise MissingPackage("qsim_ex_provider needs Qiskit. Run: pip install 'qsim-ex[qiskit]'")

with uninterrupted():
    from qsim_ex_provider.backend import QsimExBackend
    from qsim_ex_provider.job import QsimExJob
    from qsim_ex_provider.provider import QsimExProvider
    from qsim_ex_provider.saves import instructions
    from qsim_ex_provider.saves.instructions import (
        SaveInstruction,
        SaveStatevector,
        SetStatevector,
        set_statevector,
    )
    from qsim_ex_provider.saves.kinds import FUNCTIONS

if TYPE_CHECKING:
    from qsim_ex_provider.primitives.estimator import EstimatorV2
    from qsim_ex_provider.primitives.gradients import differentiated, value_and_gradient
    from qsim_ex_provider.primitives.sampler import SamplerV2
    from qsim_ex_provider.translation.device_noise import DeviceNoise

_LATER = {
    "DeviceNoise": "qsim_ex_provider.translation.device_noise",
    "EstimatorV2": "qsim_ex_provider.primitives.estimator",
    "SamplerV2": "qsim_ex_provider.primitives.sampler",
    "differentiated": "qsim_ex_provider.primitives.gradients",
    "value_and_gradient": "qsim_ex_provider.primitives.gradients",
}
"""Names that are loaded when they are first used, and where they are."""

__all__ = [
    "DeviceNoise",
    "EstimatorV2",
    "QsimExBackend",
    "QsimExJob",
    "QsimExProvider",
    "SamplerV2",
    "SaveInstruction",
    "SaveStatevector",
    "SetStatevector",
    "differentiated",
    "set_statevector",
    "value_and_gradient",
]
__all__ += list(FUNCTIONS)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return qsim_ex.__version__
    if name in FUNCTIONS:
        return getattr(instructions, name)
    if name in _LATER:
        with uninterrupted():
            return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'qsim_ex_provider' has no attribute {name!r}.{nearest(name, __all__)}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
