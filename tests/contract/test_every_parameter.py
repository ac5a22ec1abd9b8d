"""Every parameter of every method that runs or asks something has a visible effect, or is refused.

Methods and parameters are read from signatures, so this test names each new one until it is decided. Options, which a
method takes under any name, are those of `test_every_option`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import pytest
from contract.batch_parameters import BATCH
from contract.cirq_parameters import CIRQ
from contract.decided import Method
from contract.engine_parameters import SIMULATOR
from contract.qiskit_parameters import QISKIT
from contract.state_parameters import STATE

from qsim_ex import BatchedStateVector, Simulator, StateVector
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_provider import EstimatorV2, QsimExBackend, SamplerV2

METHODS: Mapping[str, Method] = {**SIMULATOR, **STATE, **BATCH, **QISKIT, **CIRQ}
OWNERS = (Simulator, StateVector, BatchedStateVector, QsimExBackend, SamplerV2, EstimatorV2, QsimExSimulator)

WITHOUT = {
    "BatchedStateVector": {"canonical", "clone", "close", "norm", "synchronize"},
    "StateVector": {"canonical", "clone", "close", "expose", "norm", "own_slices", "placed", "synchronize"},
    "QsimExBackend": {"available_devices", "available_methods", "set_options"},
}
"""Methods that have no parameters but options."""

APART = {
    "StateVector.of": "the engine makes states of its own placements with it",
    "QsimExBackend.qubit_properties": "Qiskit's, of the target's physical qubits, and a simulator has none",
}
"""Methods that neither run nor ask anything, and what they are."""


def _methods(owner: type) -> dict[str, list[str]]:
    """The parameters of the constructor and of each public method, by the method's name."""
    found = {owner.__name__: _parameters(owner.__init__)}
    for name in dir(owner):
        if name.startswith("_") or isinstance(inspect.getattr_static(owner, name), property):
            continue
        if callable(method := getattr(owner, name)):
            found[f"{owner.__name__}.{name}"] = _parameters(method)
    return {name: parameters for name, parameters in found.items() if name not in APART}


def _parameters(method: Any) -> list[str]:
    signature = inspect.signature(method).parameters.values()
    return [one.name for one in signature if one.name not in ("self", "_") and one.kind is not one.VAR_KEYWORD]


DERIVED = {name: parameters for owner in OWNERS for name, parameters in _methods(owner).items()}


def test_every_parameter_is_decided() -> None:
    """Every parameter of a signature is decided, and every decision is about a parameter that exists."""
    derived = {(method, name) for method, parameters in DERIVED.items() for name in parameters}
    decided = {(method, name) for method, known in METHODS.items() for name in known.decided}
    assert sorted(derived - decided) == [], "decide what can be seen of these parameters, or who refuses them"
    assert sorted(decided - derived) == [], "these decisions are about parameters that there are no more"


def test_every_method_is_known() -> None:
    """Every method without parameters stands in the list of those that were looked at."""
    without = {f"{owner}.{name}" for owner, names in WITHOUT.items() for name in names}
    assert {method for method, parameters in DERIVED.items() if not parameters} == without


@pytest.mark.parametrize(
    ("method", "name"),
    [(method, name) for method, known in METHODS.items() for name in known.decided],
    ids=str,
)
def test_a_parameter_does_what_was_decided(method: str, name: str) -> None:
    """The effect of a parameter is seen in the result, or the error that refuses it is raised."""
    METHODS[method].decided[name](METHODS[method], name)
