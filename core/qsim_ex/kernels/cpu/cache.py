"""Compiled kernels are kept on disk, so that only the first process ever compiles them.

Numba's own cache looks at one source file and would miss an edited vector operation in another. Here the folder is
named after a digest of all kernel sources, the versions and the processor.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import caching

from qsim_ex.kernels.cpu import host


@lru_cache(maxsize=1)
def digest() -> str:
    """Return a digest of everything that compiled kernels depend on."""
    sha = hashlib.sha256(repr((numba.__version__, llvmlite.__version__, *host.features())).encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        sha.update(source.name.encode() + b"\0" + source.read_bytes())
    return sha.hexdigest()[:20]


@lru_cache(maxsize=1)
def folder() -> Path:
    """Return the folder of compiled kernels: under QSIM_EX_CACHE_DIR, or the user's cache folder."""
    named = os.environ.get("QSIM_EX_CACHE_DIR")
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "qsim-ex"
    return (Path(named) if named else usual) / f"cpu-{digest()}"


class _Locator(caching._CacheLocator):
    """Tells Numba which folder to use; see the head of this file."""

    def __init__(self, py_file):
        self._py_file = py_file

    def get_cache_path(self):
        return str(folder())

    def get_source_stamp(self):
        return digest()

    def get_disambiguator(self):
        return None

    @classmethod
    def from_function(cls, py_func, py_file):  # noqa: ARG003  (Numba's)
        return cls(py_file)


class _Results(caching.CompileResultCacheImpl):
    _locator_classes: list[Any] = [_Locator]  # noqa: RUF012  (Numba's)


class _KernelCache(caching.FunctionCache):
    _impl_class = _Results


@lru_cache(maxsize=1)
def _writable() -> bool:
    """Say whether compiled kernels can be kept; where nothing can be written, every process compiles its own."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        return os.access(folder(), os.W_OK)
    except OSError:
        return False


def kernel(function):
    """Compile `function` on first use for each signature, without the interpreter lock, and keep the result."""
    compiled = numba.njit(nogil=True, error_model="numpy")(function)
    if _writable():
        setattr(compiled, "_cache", _KernelCache(function))  # noqa: B010  (what `cache=True` does, with our folder)
    return compiled
