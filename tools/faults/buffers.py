"""Buffers of NumPy that are refused: the error says so, nothing is lost, and the next run is right.

NumPy asks a handler for the memory of its arrays (its C API, "Memory management in NumPy"). Ours asks NumPy's own
one, but for one drawn buffer, which it refuses, whatever has NumPy allocate it: `np.empty`, or a sum of two arrays.
Buffers of functions of NumPy's own that our code calls count as well; those of other packages do not.
"""

from __future__ import annotations

import ctypes
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # it has the table of functions

from qsim_ex.errors import QsimExError
from tools.faults.caches import caches, forget
from tools.faults.runs import Found, same

Run = Callable[[Path], Found]

_SET, _GET = 304, 305
"""The places of PyDataMem_SetHandler and PyDataMem_GetHandler in NumPy's table of functions."""

_OURS = re.compile(r".*/(core/qsim_ex|qsim_ex_cirq|qsim_ex_provider)/")
_NUMPY = str(Path(np.__file__).parent)

_Malloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_Calloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)


class _Handler(ctypes.Structure):
    """PyDataMem_Handler, version 1."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class Refusing:
    """A handler of NumPy's memory that refuses one buffer of our code.

    left: how many buffers are still granted; negative: all of them. where: the line that asked for the refused one.
    """

    def __init__(self) -> None:
        api = ctypes.pythonapi
        api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = (
            ctypes.c_void_p,
            [ctypes.py_object, ctypes.c_char_p],
        )
        api.PyCapsule_New.restype = ctypes.py_object
        api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        table = api.PyCapsule_GetPointer(_multiarray_umath._ARRAY_API, None)
        functions: Any = (ctypes.c_void_p * (_GET + 1)).from_address(table)
        self._set = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(functions[_SET])
        before = ctypes.PYFUNCTYPE(ctypes.py_object)(functions[_GET])()
        plain: Any = _Handler.from_address(api.PyCapsule_GetPointer(before, b"mem_handler"))
        malloc, calloc = _Malloc(plain.malloc), _Calloc(plain.calloc)
        self._calls = (
            _Malloc(lambda context, size: None if self._refuses() else malloc(context, size)),
            _Calloc(lambda context, count, size: None if self._refuses() else calloc(context, count, size)),
        )
        own: Any = _Handler.from_buffer_copy(plain)  # memory is given back by NumPy's own functions
        own.name = b"refusing"
        own.malloc, own.calloc = (ctypes.cast(call, ctypes.c_void_p).value for call in self._calls)
        self._own, self.left, self.where = own, -1, ""
        self._capsule = api.PyCapsule_New(ctypes.addressof(own), b"mem_handler", None)

    @contextmanager
    def after(self, granted: int) -> Iterator[None]:
        """Refuse the buffer after so many others, in this thread."""
        self.left, self.where = granted, ""
        before = self._set(self._capsule)
        try:
            yield
        finally:
            self._set(before)

    def _refuses(self) -> bool:
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith((_NUMPY, __file__)):
            frame = frame.f_back
        if frame is None or not _OURS.match(frame.f_code.co_filename):
            return False
        self.left -= 1
        if self.left == -1:
            self.where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        return self.left == -1


class Refused:
    """One kind of run, and how many buffers a first run of its circuit asks for."""

    def __init__(self, run: Run, refusing: Refusing) -> None:
        self._run, self._refusing = run, refusing
        with TemporaryDirectory() as folder:
            self._wanted = run(Path(folder))
            self._caches = caches()
            forget(self._caches)
            with refusing.after(sys.maxsize):
                run(Path(folder))
            self.buffers = sys.maxsize - refusing.left

    def after(self, granted: int) -> tuple[str, list[str]]:
        """Refuse the buffer after so many others; return how the run ended, and all that was wrong."""
        forget(self._caches)
        faults, how = [], "not asked for"
        with TemporaryDirectory() as name:
            folder = Path(name)
            try:
                with self._refusing.after(granted):
                    found = self._run(folder)
                if self._refusing.where:
                    how = "done without it"
                if not same(found, self._wanted):
                    faults.append("the run went on and is wrong")
            except MemoryError as error:
                how = type(error).__name__.strip("_")
                if not re.search(r"memory|allocate", str(error)):
                    faults.append(f"the error does not say what was refused: {error!r}")
            except (QsimExError, Exception) as error:  # noqa: BLE001  (any other is a fault)
                faults.append(f"expected MemoryError, got {error!r}")
            if parts := [path.name for path in folder.iterdir() if path.name not in ("c", "c.found")]:
                faults.append(f"it left {parts}")
            if not same(self._run(folder), self._wanted):
                faults.append("the next run is wrong")
        return how, [f"{self._refusing.where}: {fault}" for fault in faults]


@cache
def refusing() -> Refusing:
    """Return the one handler of this process, which arrays have for as long as they last."""
    return Refusing()


def refuse(run: Run, count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Refuse drawn buffers to a run; return how many ended in which way, and all faults."""
    subject, chance = Refused(run, refusing()), random.Random(seed)
    how, faults = Counter[str](), []
    for _ in range(count):
        ended, wrong = subject.after(chance.randrange(subject.buffers))
        how[ended] += 1
        faults += wrong
    return how, faults
