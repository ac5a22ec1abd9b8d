"""Modules that are named at the head of a file and loaded when something of them is used.

Importing the engine has to stay fast, and most runs need neither several devices nor checkpoints nor pictures::

    if TYPE_CHECKING:
        from qsim_ex.run import preview
    else:
        preview = later("qsim_ex.run.preview")

A type checker sees an import, and ``preview.explain(…)`` loads the module where it is called first.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["later"]


class _Later:
    """Has the attributes of a module, which it loads when it is asked for the first one."""

    __slots__ = ("_module", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, name: str) -> object:
        if self._module is None:
            self._module = import_module(self._name)
        return getattr(self._module, name)

    def __reduce__(self) -> tuple[object, ...]:  # for copies and pickles, which modules have none of
        return later, (self._name,)

    def __repr__(self) -> str:
        return f"<{self._name}, {'not loaded yet' if self._module is None else 'loaded'}>"


def later(name: str) -> Any:
    """Return what stands for a module of this name, which is loaded when an attribute of it is used first.

    Attributes are looked up in the module and never copied. The first use raises what an import of it raises.
    """
    return _Later(name)
