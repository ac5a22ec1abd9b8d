"""Which version of qiskit-ibm-runtime is installed, by the modules that it has; importing this asks for 0.49."""

import importlib.util

from qsim_ex.errors import MissingPackage


def has(module: str) -> bool:
    """Whether the installed qiskit-ibm-runtime has a module."""
    return importlib.util.find_spec(f"qiskit_ibm_runtime.{module}") is not None


EXPERIMENTAL = "executor_local_mode"
"""A module that version 0.49 alone has: the executor's local mode, as an experiment."""

LEARNER = "executor_noise_learner"
"""A module that versions from 0.51 on have."""

if importlib.util.find_spec("qiskit_ibm_runtime") is None or not (has("fake_provider.executor") or has(EXPERIMENTAL)):
    raise MissingPackage(
        "qsim_ex_provider.runtime needs qiskit-ibm-runtime 0.49 or later. Run: pip install --upgrade 'qsim-ex[runtime]'"
    )
