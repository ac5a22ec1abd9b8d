"""The disk cache of Numba's kernels, so that only the first process compiles them.

Numba's own cache checks one source file and would miss an edited vector operation in another. Here the folder is
named after a digest of all sources that Numba compiles, the versions and the processor.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from qsim_ex.display.bar import notice
from qsim_ex.display.log import LOGGER
from qsim_ex.kernels import cache_folder, host
from qsim_ex.kernels.interrupts import uninterrupted

with uninterrupted():
    import llvmlite
    import numba
    from numba.core import caching

_DIGEST = 32

_HERE = Path(__file__).parent
_SOURCES = ("*.py", "cpu/*.py", "cuda/launch/*.py")
"""The sources of kernels on the CPU, of the host's part of launches on a GPU, and of what they share."""

part = numba.njit(nogil=True, error_model="numpy")
"""Compile a function that only kernels call."""

inlined = numba.njit(inline="always")
"""Compile a function as a part of each kernel that calls it."""


@lru_cache(maxsize=1)
def digest() -> str:
    """Return a digest of everything that compiled kernels depend on."""
    sha = hashlib.sha256(repr((numba.__version__, llvmlite.__version__, *host.features())).encode())
    for source in sorted(chain.from_iterable(map(_HERE.glob, _SOURCES))):
        sha.update(source.name.encode() + b"\0" + source.read_bytes())
    return sha.hexdigest()[:20]


def name() -> str:
    """Return the name of these kernels' folder in that of all compiled kernels."""
    return f"cpu-{digest()}"


@lru_cache(maxsize=1)
def folder() -> Path | None:
    """Return the folder of these kernels, None if they cannot be kept: then every process compiles its own."""
    return cache_folder.made(name())


class _Locator(caching._CacheLocator):
    """Gives Numba the folder to use; see the head of this file."""

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


class _Files(caching.IndexDataCacheFile):
    """A file for each signature, with a digest in front.

    Numba's own class has an index beside them, which two processes can damage for each other, and trusts its files.
    """

    def _path(self, key: Any) -> Path:
        number = hashlib.sha256(repr((self._source_stamp, key)).encode()).hexdigest()[:32]
        return Path(self._cache_path) / f"{self._index_name.removesuffix('.nbi')}.{number}.nbc"

    def load(self, key: Any) -> Any:
        """Return the kept data, None if there is none or it is damaged; Numba compiles the kernel then."""
        try:
            data = self._path(key).read_bytes()
        except OSError:
            data = b""
        told, kept = data[:_DIGEST], data[_DIGEST:]
        if hashlib.sha256(kept).digest() != told:
            LOGGER.debug("CPU kernel %s is compiled", self._index_name.removesuffix(".nbi"))
            _announce()
            return None
        LOGGER.debug("CPU kernel %s was in the cache", self._index_name.removesuffix(".nbi"))
        return pickle.loads(kept)

    def save(self, key: Any, data: Any) -> None:
        """Keep data; if the folder cannot be written to, the next process compiles again."""
        kept = self._dump(data)
        with suppress(OSError):
            handle, part = tempfile.mkstemp(dir=self._cache_path, suffix=".tmp")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(kept).digest() + kept)
                Path(part).replace(self._path(key))
            except BaseException:
                with suppress(OSError):
                    Path(part).unlink()
                raise


@lru_cache(maxsize=1)
def _announce() -> None:
    """Say once in a process why its first run takes so long."""
    LOGGER.info("compiling CPU kernels, once on a machine")
    notice("compiling CPU kernels; this happens once on a machine and takes up to a minute …")


class _KernelCache(caching.FunctionCache):
    _impl_class = _Results

    def __init__(self, py_func):
        super().__init__(py_func)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

    def save_overload(self, sig, data):
        with suppress(OSError):  # Numba raises if the folder cannot be written to
            super().save_overload(sig, data)


def kernel(function):
    """Compile `function` on first use for each signature, without the interpreter lock, and keep the result."""
    compiled = numba.njit(nogil=True, error_model="numpy")(function)
    if folder() is not None:
        setattr(compiled, "_cache", _KernelCache(function))  # noqa: B010  (what `cache=True` does, with our folder)
    return compiled
