"""An open GPU engine for quantum state vectors.

The names below are loaded when they are first used, so that ``import qsim_ex`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qsim_ex import errors, reference
    from qsim_ex.circuit.circuit import Circuit, CircuitBuilder
    from qsim_ex.circuit.observables import PauliString, PauliSum
    from qsim_ex.circuit.parameters.bindings import Bindings
    from qsim_ex.execution.job_checkpoint import JobCheckpoint
    from qsim_ex.kernels.interrupts import uninterrupted as uninterrupted
    from qsim_ex.observe.readout import apply_readout
    from qsim_ex.options import Checkpoint, Options
    from qsim_ex.result import BatchResult, Result
    from qsim_ex.simulator import Simulator
    from qsim_ex.state.batch.vector import BatchedStateVector
    from qsim_ex.state.vector import StateVector

_HOMES = {
    "Checkpoint": "qsim_ex.options",
    "JobCheckpoint": "qsim_ex.execution.job_checkpoint",
    "BatchResult": "qsim_ex.result",
    "BatchedStateVector": "qsim_ex.state.batch.vector",
    "Bindings": "qsim_ex.circuit.parameters.bindings",
    "Circuit": "qsim_ex.circuit.circuit",
    "CircuitBuilder": "qsim_ex.circuit.circuit",
    "Options": "qsim_ex.options",
    "PauliString": "qsim_ex.circuit.observables",
    "PauliSum": "qsim_ex.circuit.observables",
    "Result": "qsim_ex.result",
    "Simulator": "qsim_ex.simulator",
    "StateVector": "qsim_ex.state.vector",
    "apply_readout": "qsim_ex.observe.readout",
    "uninterrupted": "qsim_ex.kernels.interrupts",
}

__all__ = [
    "BatchResult",
    "BatchedStateVector",
    "Bindings",
    "Checkpoint",
    "Circuit",
    "CircuitBuilder",
    "JobCheckpoint",
    "Options",
    "PauliString",
    "PauliSum",
    "Result",
    "Simulator",
    "StateVector",
    "apply_readout",
    "errors",
    "reference",
]


def __getattr__(name: str) -> Any:
    if name in ("errors", "reference"):
        return import_module(f"qsim_ex.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'qsim_ex' has no attribute {name!r}")
    from qsim_ex.kernels.interrupts import uninterrupted

    with uninterrupted():
        found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
