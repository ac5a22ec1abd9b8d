"""Locks and imports in a child of `os.fork`, which has none of its parent's threads."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from contextlib import suppress
from functools import cached_property
from typing import Any
from weakref import WeakSet

from qsim_ex.errors import DeviceError

_locks: WeakSet[Any] = WeakSet()
_bootstrap: Any = importlib.import_module("importlib._bootstrap")  # it has the locks of imports


def lock() -> threading.Lock:
    """Return a lock that is open in a forked child, whoever held it in the parent."""
    made = threading.Lock()
    _locks.add(made)
    return made


def reentrant_lock() -> Any:
    """Return a lock that its owner may enter again, and that is open in a forked child."""
    made = threading.RLock()
    _locks.add(made)
    return made


def cuda_lost() -> DeviceError:
    """Return the error of a forked child, which cannot use a GPU that its parent has used."""
    return DeviceError(
        "no GPU can be used here: this process was forked from one that had used CUDA, which does not survive a fork. "
        "Start processes with multiprocessing.get_context('spawn'), or use device='cpu' here."
    )


def _open_locks() -> None:
    for made in [*_locks, *_locks_of_properties()]:
        made._at_fork_reinit()  # what the standard library does with its own


def _locks_of_properties() -> list[Any]:
    """Return the locks of our classes' cached properties: before Python 3.12 each has one for all objects."""
    if sys.version_info >= (3, 12):
        return []
    modules = [module for name, module in list(sys.modules.items()) if name.partition("_ex")[0] == "qsim"]
    classes = {one for module in modules for one in list(vars(module).values()) if isinstance(one, type)}
    found = (one for kind in classes for one in list(vars(kind).values()))
    return [one.lock for one in found if isinstance(one, cached_property) and hasattr(one, "lock")]


def _locked() -> list[str]:
    """Return the modules whose import other threads have begun, those that they are still searching for included."""
    held = [(name, found()) for name, found in list(_bootstrap._module_locks.items())]
    return [name for name, one in held if one is not None and one.owner not in (None, threading.get_ident())]


def _importing() -> list[str]:
    """Return the modules of this package and NumPy that other threads are importing."""
    begun = [name for name, module in list(sys.modules.items()) if _initializing(module)]
    return [name for name in {*begun, *_locked()} if name.partition(".")[0] in ("qsim_ex", "numpy")]


def _initializing(module: object) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _wait() -> None:
    """Wait for other threads' imports, which would never end in a forked child."""
    for _ in range(10):
        for name in _importing():
            with suppress(ImportError):  # of the other thread, which will say so
                importlib.import_module(name)  # waits for the thread that has begun
        if not _importing():
            return


def _in_child() -> None:
    """Open the locks; of a module that another thread began to search for between the wait and the fork, too."""
    _open_locks()
    for name in _locked():
        _bootstrap._module_locks.pop(name, None)  # the next import makes a new one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_child=_in_child)
