"""An open engine for quantum state vectors, on GPUs and CPUs.

The names below are loaded when they are first used, so that ``import qsim_ex`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qsim_ex import errors, reference
    from qsim_ex.circuit.builder import CircuitBuilder
    from qsim_ex.circuit.circuit import Circuit
    from qsim_ex.circuit.classical import Expression
    from qsim_ex.circuit.noise.channels import (
        amplitude_damping,
        bit_flip,
        depolarizing,
        mixed_unitary,
        pauli_channel,
        phase_damping,
        phase_flip,
        reset_channel,
        thermal_relaxation,
        uniform_pauli,
    )
    from qsim_ex.circuit.noise.leakage import heralded_loss, leakage
    from qsim_ex.circuit.noise.lindblad import pauli_lindblad
    from qsim_ex.circuit.noise.model import NoiseModel, NoisyBuilder
    from qsim_ex.circuit.noise.readout import ReadoutError, confusion
    from qsim_ex.circuit.observables import PauliString, PauliSum
    from qsim_ex.circuit.parameters.bindings import Bindings
    from qsim_ex.circuit.parameters.sweep import ParameterSweepBuilder
    from qsim_ex.comm.workers import share_gpus
    from qsim_ex.deployment.elsewhere import Cluster
    from qsim_ex.execution.job_checkpoint import JobCheckpoint
    from qsim_ex.kernels.interrupts import uninterrupted
    from qsim_ex.observe.readout import apply_readout
    from qsim_ex.options import Checkpoint, Options, Progress
    from qsim_ex.result import BatchResult, Result
    from qsim_ex.run.gradients.results import Gradient, Overlap, VectorJacobianProduct
    from qsim_ex.simulator import Simulator
    from qsim_ex.state.batch.vector import BatchedStateVector
    from qsim_ex.state.density_matrix import DensityMatrix
    from qsim_ex.state.vector import StateVector

    __version__: str

_HOMES = {
    "BatchResult": "qsim_ex.result",
    "BatchedStateVector": "qsim_ex.state.batch.vector",
    "Bindings": "qsim_ex.circuit.parameters.bindings",
    "Checkpoint": "qsim_ex.options",
    "Circuit": "qsim_ex.circuit.circuit",
    "CircuitBuilder": "qsim_ex.circuit.builder",
    "Cluster": "qsim_ex.deployment.elsewhere",
    "DensityMatrix": "qsim_ex.state.density_matrix",
    "Expression": "qsim_ex.circuit.classical",
    "Gradient": "qsim_ex.run.gradients.results",
    "JobCheckpoint": "qsim_ex.execution.job_checkpoint",
    "NoiseModel": "qsim_ex.circuit.noise.model",
    "NoisyBuilder": "qsim_ex.circuit.noise.model",
    "Options": "qsim_ex.options",
    "Overlap": "qsim_ex.run.gradients.results",
    "ParameterSweepBuilder": "qsim_ex.circuit.parameters.sweep",
    "PauliString": "qsim_ex.circuit.observables",
    "PauliSum": "qsim_ex.circuit.observables",
    "Progress": "qsim_ex.options",
    "ReadoutError": "qsim_ex.circuit.noise.readout",
    "Result": "qsim_ex.result",
    "Simulator": "qsim_ex.simulator",
    "StateVector": "qsim_ex.state.vector",
    "VectorJacobianProduct": "qsim_ex.run.gradients.results",
    "amplitude_damping": "qsim_ex.circuit.noise.channels",
    "apply_readout": "qsim_ex.observe.readout",
    "bit_flip": "qsim_ex.circuit.noise.channels",
    "confusion": "qsim_ex.circuit.noise.readout",
    "depolarizing": "qsim_ex.circuit.noise.channels",
    "heralded_loss": "qsim_ex.circuit.noise.leakage",
    "leakage": "qsim_ex.circuit.noise.leakage",
    "mixed_unitary": "qsim_ex.circuit.noise.channels",
    "pauli_channel": "qsim_ex.circuit.noise.channels",
    "pauli_lindblad": "qsim_ex.circuit.noise.lindblad",
    "phase_damping": "qsim_ex.circuit.noise.channels",
    "phase_flip": "qsim_ex.circuit.noise.channels",
    "reset_channel": "qsim_ex.circuit.noise.channels",
    "share_gpus": "qsim_ex.comm.workers",
    "thermal_relaxation": "qsim_ex.circuit.noise.channels",
    "uniform_pauli": "qsim_ex.circuit.noise.channels",
    "uninterrupted": "qsim_ex.kernels.interrupts",
}
"""The module of each public name."""

_MODULES = ("errors", "reference")
"""Modules that are public as a whole."""

__all__ = [
    "BatchResult",
    "BatchedStateVector",
    "Bindings",
    "Checkpoint",
    "Circuit",
    "CircuitBuilder",
    "Cluster",
    "DensityMatrix",
    "Expression",
    "Gradient",
    "JobCheckpoint",
    "NoiseModel",
    "NoisyBuilder",
    "Options",
    "Overlap",
    "ParameterSweepBuilder",
    "PauliString",
    "PauliSum",
    "Progress",
    "ReadoutError",
    "Result",
    "Simulator",
    "StateVector",
    "VectorJacobianProduct",
    "amplitude_damping",
    "apply_readout",
    "bit_flip",
    "confusion",
    "depolarizing",
    "errors",
    "heralded_loss",
    "leakage",
    "mixed_unitary",
    "pauli_channel",
    "pauli_lindblad",
    "phase_damping",
    "phase_flip",
    "reference",
    "reset_channel",
    "share_gpus",
    "thermal_relaxation",
    "uniform_pauli",
    "uninterrupted",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"qsim_ex.{name}")
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        like = import_module("qsim_ex.errors").nearest(name, __all__)
        raise AttributeError(f"module 'qsim_ex' has no attribute {name!r}.{like}")
    from qsim_ex.kernels.interrupts import uninterrupted  # here, since `import qsim_ex` loads nothing

    with uninterrupted():
        found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def _version() -> str:
    """Return the installed version; that of a checkout that is not installed is unknown."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("qsim-ex")
    except PackageNotFoundError:
        found = "0+unknown"
    globals()["__version__"] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
