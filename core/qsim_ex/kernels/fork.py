"""Locks and imports in a child of `os.fork`, which has none of its parent's threads."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from contextlib import ExitStack
from typing import Any
from weakref import WeakSet

from qsim_ex.errors import DeviceError

_locks: WeakSet[Any] = WeakSet()


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
    for made in list(_locks):
        made._at_fork_reinit()  # what the standard library does with its own


def _importing() -> list[str]:
    """Return the modules of this package, Numba and NumPy that are being imported; Numba imports `numpy.ma` late."""
    ours = [name for name in list(sys.modules) if name.partition(".")[0] in ("qsim_ex", "numba", "llvmlite", "numpy")]
    return [name for name in ours if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False)]


_held = ExitStack()


def _wait() -> None:
    """Wait for other threads' imports and Numba compilations, which would never end in a forked child."""
    for _ in range(10):
        for name in _importing():
            importlib.import_module(name)  # waits for the thread that has begun
        numba, llvm = sys.modules.get("numba.core.compiler_lock"), sys.modules.get("llvmlite.binding.ffi")
        if numba is not None:
            _held.enter_context(numba.global_compiler_lock)
        if llvm is not None:
            _held.enter_context(llvm.lib._lock)
        if not _importing():
            return
        _held.close()


def _go_on() -> None:
    _held.close()


def _in_child() -> None:
    _open_locks()
    _go_on()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_in_child)
