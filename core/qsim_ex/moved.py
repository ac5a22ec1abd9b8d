"""Old public paths, which work for one more version and warn.

`MODULES` has the modules that users may have imported, each with the module that has their names now and the public
home that the warning recommends. `NAMES` has single names. Version 0.3 empties both tables.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.abc import Loader

MODULES = {
    "qsim_ex.batched": ("qsim_ex.state.batch.vector", "qsim_ex.BatchedStateVector"),
    "qsim_ex.circuit.bindings": ("qsim_ex.circuit.parameters.bindings", "qsim_ex.Bindings"),
    "qsim_ex.circuit.noise_model": ("qsim_ex.circuit.noise.model", "qsim_ex.NoiseModel and qsim_ex.NoisyBuilder"),
    "qsim_ex.circuit.readout": ("qsim_ex.circuit.noise.readout", "qsim_ex.ReadoutError and qsim_ex.confusion"),
    "qsim_ex.saving": ("qsim_ex.files.saved_state", "qsim_ex.StateVector.save and qsim_ex.StateVector.load"),
}
"""Each old module with the module that has its names now, and their public home."""

_CHANNELS = (
    "amplitude_damping", "bit_flip", "depolarizing", "mixed_unitary", "phase_damping", "phase_flip",
    "thermal_relaxation", "uniform_pauli",
)  # fmt: skip

NAMES = {
    "qsim_ex.circuit.noise": {
        **{name: name for name in _CHANNELS},
        "pauli": "pauli_channel",
        "reset": "reset_channel",
    },
    "qsim_ex.circuit.circuit": {"CircuitBuilder": "CircuitBuilder"},
    "qsim_ex.circuit.readout": {"Misread": "ReadoutError"},
    "qsim_ex.state": {"StateVector": "StateVector"},
}
"""Names of `qsim_ex`, by the names that they had in packages that were modules and in modules that have moved."""


def warn(old: str, public: str, stacklevel: int) -> None:
    """Say that an old path was used."""
    warnings.warn(
        f"{old} has moved: use {public}. The old path works until version 0.3.", DeprecationWarning, stacklevel + 1
    )


def names_of(package: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that was a module before."""

    def found(name: str) -> Any:
        if name not in NAMES[package]:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        warn(f"{package}.{name}", f"qsim_ex.{NAMES[package][name]}", 2)
        return getattr(import_module("qsim_ex"), NAMES[package][name])

    return found


class _Alias:
    """A loader that makes a module with the names of another one."""

    def __init__(self, home: str) -> None:
        self._home = home

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a module that has the names of the home, and old names of what was renamed."""
        module, home = ModuleType(spec.name), vars(import_module(self._home))
        vars(module).update({name: value for name, value in home.items() if not name.startswith("__")})
        vars(module).update({old: home[new] for old, new in NAMES.get(spec.name, {}).items()})
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Everything was done when the module was created."""


class _Finder:
    """Finds the modules of `MODULES`; Python asks it after all others.

    It derives from no class of `importlib.abc`, whose import would take a third of ours.
    """

    def find_spec(self, fullname: str, *_path_and_target: object) -> ModuleSpec | None:
        """Return the spec of an alias, and warn; None for all other modules."""
        if fullname not in MODULES:
            return None
        home, public = MODULES[fullname]
        warn(fullname, public, 2)
        return ModuleSpec(fullname, cast("Loader", _Alias(home)))


def install() -> None:
    """Let Python find the old paths."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
