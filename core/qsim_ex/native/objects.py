"""Functions of the native library that read Python's objects.

The library is linked against no Python: it calls functions of Python's stable ABI, whose addresses it is given here. So
one file serves every version of Python, as everything else in it does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from qsim_ex.native import library

Value = TypeVar("Value")

_FUNCTIONS = (
    "PyTuple_Size",
    "PyTuple_GetItem",
    "PyList_GetItem",
    "PyLong_AsLongLong",
    "PyBytes_AsString",
    "PyBytes_Size",
    "PyUnicode_AsUTF8AndSize",
    "PyErr_Occurred",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyLong_FromLongLong",
    "PyList_Append",
    "Py_IncRef",
    "Py_DecRef",
    "PyType_GetSlot",
    "PyObject_GC_UnTrack",
    "PyObject_GetAttr",
    "PyObject_Type",
    "PyFloat_AsDouble",
    "PyErr_Clear",
    "PyObject_Repr",
)
"""The functions of the stable ABI that native code calls, in the order of core/native/readers/python.hpp."""

_KINDS = {**library.KINDS, "o": ctypes.py_object}


def function(name: str, kinds: str) -> Callable[..., int]:
    """Return a function of the library that reads Python's objects: it runs with the interpreter's lock held.

    kinds: as in `library.function`, and o for an object. An exception that the function leaves is raised.
    """
    found = getattr(_library(), f"qx_{name}")
    found.argtypes = [_KINDS[kind] for kind in kinds]
    found.restype = ctypes.c_int64
    called: Callable[..., int] = found
    return called


def numbered(values: list[Value]) -> tuple[list[Value], NDArray[np.uint32]]:
    """Return the distinct objects of a list, by their identity, and which of these each one is."""
    numbers, first = np.empty(len(values), dtype=np.uint32), np.empty(len(values), dtype=np.int64)
    count = _number()(values, len(values), library.address(numbers), library.address(first))
    return [values[place] for place in first[:count].tolist()], numbers


@lru_cache(maxsize=1)
def _number() -> Callable[..., int]:
    return function("objects_number", "oipp")


@lru_cache(maxsize=1)
def _library() -> ctypes.PyDLL:
    """Return the library as one whose functions hold the interpreter's lock, with the addresses that it needs."""
    library.instruction_set()  # which checks that the library fits its sources
    found = ctypes.PyDLL(str(library.FILE))
    addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in _FUNCTIONS]
    found.qx_python_functions((ctypes.c_void_p * len(addresses))(*addresses))
    return found
