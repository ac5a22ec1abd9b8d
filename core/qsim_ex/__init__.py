"""An open engine for quantum state vectors, on GPUs and CPUs.

The names below are loaded when they are first used, so that ``import qsim_ex`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qsim_ex import errors as errors
    from qsim_ex import reference as reference
    from qsim_ex.circuit.builder import CircuitBuilder as CircuitBuilder
    from qsim_ex.circuit.circuit import Circuit as Circuit
    from qsim_ex.circuit.classical import Expression as Expression
    from qsim_ex.circuit.noise.channels import amplitude_damping as amplitude_damping
    from qsim_ex.circuit.noise.channels import bit_flip as bit_flip
    from qsim_ex.circuit.noise.channels import depolarizing as depolarizing
    from qsim_ex.circuit.noise.channels import mixed_unitary as mixed_unitary
    from qsim_ex.circuit.noise.channels import pauli_channel as pauli_channel
    from qsim_ex.circuit.noise.channels import phase_damping as phase_damping
    from qsim_ex.circuit.noise.channels import phase_flip as phase_flip
    from qsim_ex.circuit.noise.channels import reset_channel as reset_channel
    from qsim_ex.circuit.noise.channels import thermal_relaxation as thermal_relaxation
    from qsim_ex.circuit.noise.channels import uniform_pauli as uniform_pauli
    from qsim_ex.circuit.noise.leakage import heralded_loss as heralded_loss
    from qsim_ex.circuit.noise.leakage import leakage as leakage
    from qsim_ex.circuit.noise.lindblad import pauli_lindblad as pauli_lindblad
    from qsim_ex.circuit.noise.model import NoiseModel as NoiseModel
    from qsim_ex.circuit.noise.model import NoisyBuilder as NoisyBuilder
    from qsim_ex.circuit.noise.readout import ReadoutError as ReadoutError
    from qsim_ex.circuit.noise.readout import confusion as confusion
    from qsim_ex.circuit.observables import PauliString as PauliString
    from qsim_ex.circuit.observables import PauliSum as PauliSum
    from qsim_ex.circuit.parameters.bindings import Bindings as Bindings
    from qsim_ex.circuit.parameters.sweep import ParameterSweepBuilder as ParameterSweepBuilder
    from qsim_ex.comm.workers import share_gpus as share_gpus
    from qsim_ex.deployment.elsewhere import Cluster as Cluster
    from qsim_ex.execution.job_checkpoint import JobCheckpoint as JobCheckpoint
    from qsim_ex.kernels.interrupts import uninterrupted as uninterrupted
    from qsim_ex.observe.readout import apply_readout as apply_readout
    from qsim_ex.options import Checkpoint as Checkpoint
    from qsim_ex.options import Options as Options
    from qsim_ex.options import Progress as Progress
    from qsim_ex.result import BatchResult as BatchResult
    from qsim_ex.result import Result as Result
    from qsim_ex.run.gradients.results import Gradient as Gradient
    from qsim_ex.run.gradients.results import Overlap as Overlap
    from qsim_ex.run.gradients.results import VectorJacobianProduct as VectorJacobianProduct
    from qsim_ex.simulator import Simulator as Simulator
    from qsim_ex.state.batch.vector import BatchedStateVector as BatchedStateVector
    from qsim_ex.state.density_matrix import DensityMatrix as DensityMatrix
    from qsim_ex.state.vector import StateVector as StateVector

    __version__: str

_NAMES = {
    "qsim_ex.circuit.builder": "CircuitBuilder",
    "qsim_ex.circuit.circuit": "Circuit",
    "qsim_ex.circuit.classical": "Expression",
    "qsim_ex.circuit.noise.channels": "amplitude_damping bit_flip depolarizing mixed_unitary pauli_channel "
    "phase_damping phase_flip reset_channel thermal_relaxation uniform_pauli",
    "qsim_ex.circuit.noise.leakage": "heralded_loss leakage",
    "qsim_ex.circuit.noise.lindblad": "pauli_lindblad",
    "qsim_ex.circuit.noise.model": "NoiseModel NoisyBuilder",
    "qsim_ex.circuit.noise.readout": "ReadoutError confusion",
    "qsim_ex.circuit.observables": "PauliString PauliSum",
    "qsim_ex.circuit.parameters.bindings": "Bindings",
    "qsim_ex.circuit.parameters.sweep": "ParameterSweepBuilder",
    "qsim_ex.comm.workers": "share_gpus",
    "qsim_ex.deployment.elsewhere": "Cluster",
    "qsim_ex.execution.job_checkpoint": "JobCheckpoint",
    "qsim_ex.kernels.interrupts": "uninterrupted",
    "qsim_ex.observe.readout": "apply_readout",
    "qsim_ex.options": "Checkpoint Options Progress",
    "qsim_ex.result": "BatchResult Result",
    "qsim_ex.run.gradients.results": "Gradient Overlap VectorJacobianProduct",
    "qsim_ex.simulator": "Simulator",
    "qsim_ex.state.batch.vector": "BatchedStateVector",
    "qsim_ex.state.density_matrix": "DensityMatrix",
    "qsim_ex.state.vector": "StateVector",
}
"""The public names of each module."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

_MODULES = ("errors", "reference")
"""Modules that are public as a whole."""

__all__ = [*_HOMES, *_MODULES]  # noqa: PLE0604  (all of these are strings)


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
