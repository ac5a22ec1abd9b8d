"""The native library: where it is, whether it fits its sources, and its functions, which a table of its own declares.

`tools/native.py` builds it, when the package is built or installed as editable. It has a C interface, so one file
serves every version of Python.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qsim_ex.errors import Cancelled, MissingPackage, OptionError, OutOfMemory
from qsim_ex.native.thresholds import Native

if TYPE_CHECKING:  # the build loads this module without NumPy
    from numpy.typing import NDArray

FILE = Path(__file__).parent / "built" / f"libqsim_ex_{platform.machine()}.so"
SOURCES = Path(__file__).parents[2] / "native"
"""The C++ sources: in a checkout only."""

_COMPILED = re.compile(r"(?<!\.test)\.[ch]pp$|\.(def|map)$")

_KINDS = {"p": ctypes.c_void_p, "i": ctypes.c_int64, "d": ctypes.c_double, "o": ctypes.py_object}
"""The types of arguments by their letters in core/native/exports.def."""

_SETS = ("v4", "v3", "v2")
"""The instruction sets of x86-64 that kernels are compiled for, the best first; "neon" is the one of aarch64."""

_BUILD = "build it with: pip install --editable . (or python -m tools.native, which needs the package ziglang)"


def digest(folder: Path = SOURCES) -> str:
    """Return a digest of what a folder, with those in it, has for the compiler and the linker."""
    import hashlib  # an installed package needs no digest

    sha, top = hashlib.sha256(), str(folder)
    files = [f"{at}/{name}" for at, _, names in os.walk(top) for name in names if _COMPILED.search(name)]
    for file in sorted(files, key=lambda file: file.split("/")):
        sha.update(file[len(top) + 1 :].encode() + b"\0")
        with open(file, "rb") as source:  # noqa: PTH123  (each process of a checkout reads hundreds)
            sha.update(source.read())
    return sha.hexdigest()[:20]


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    """Return the library; raises `MissingPackage` if it is absent or was built from other sources."""
    if not FILE.exists():
        for archive in filter(Path.is_file, FILE.parents):
            raise MissingPackage(f"qsim-ex cannot run from an archive, got {archive}; run: pip install {archive}.")
        raise MissingPackage(f"the compiled part of qsim-ex is missing (expected {FILE}); {_BUILD}.")
    library = ctypes.CDLL(str(FILE))
    library.qx_digest.restype = ctypes.c_char_p
    if (SOURCES / "library.cpp").is_file() and library.qx_digest().decode() != digest():
        raise MissingPackage(f"the compiled part of qsim-ex was built from other sources than {SOURCES}; {_BUILD}.")
    numbers = Native().numbers().values()
    library.qx_thresholds_set((ctypes.c_int64 * len(numbers))(*numbers))
    return library


def built_from() -> str:
    """Return the digest of the C++ sources that the library was built from."""
    return str(_library().qx_digest().decode())


@lru_cache(maxsize=1)
def instruction_sets() -> tuple[str, ...]:
    """Return the instruction sets that this processor can run, the best first."""
    level = int(_library().qx_level())
    return _SETS[4 - level :] if level else ("neon",)


@lru_cache(maxsize=1)
def instruction_set() -> str:
    """Return the instruction set that kernels use: the best one, or the one that QSIM_EX_INSTRUCTION_SET names.

    Raises `OptionError` if this processor lacks the named one.
    """
    present = instruction_sets()
    chosen = os.environ.get("QSIM_EX_INSTRUCTION_SET") or present[0]
    if chosen not in present:
        raise OptionError(
            f"expected QSIM_EX_INSTRUCTION_SET to be one of {', '.join(present)} on this processor, got {chosen!r}; "
            "unset it."
        )
    return chosen


@cache
def function(name: str, chosen: str = "") -> Callable[..., int]:
    """Return a function of the library, which returns an integer; core/native/exports.def has its arguments.

    It runs without Python's interpreter lock, unless the table says that it reads Python's objects; then an exception
    that it leaves is raised. So is `OutOfMemory` where it is refused memory. chosen: for one that is compiled for each
    instruction set, which one, of `instruction_sets()`; by default `instruction_set()`.
    """
    found = unchecked(name, chosen)
    if found.purpose:
        found.errcheck = _checked
    called: Callable[..., int] = found
    return called


@cache
def unchecked(name: str, chosen: str = "") -> Any:
    """Return a function as `function` does, but one whose caller looks for `REFUSED` and raises `refusal`.

    For loops in which that costs nothing; the look of `function` takes a quarter of a microsecond.
    """
    sort, kinds, purpose = _exports()[name]
    library = _library_of_objects() if sort == "objects" else _library()
    end = f"_{chosen or instruction_set()}" if sort == "kernel" else ""
    found: Any = library[f"qx_{name}{end}"]  # a new object, whose `errcheck` is its own
    found.argtypes = [_KINDS[kind] for kind in kinds]
    found.restype = ctypes.c_int64
    found.purpose = purpose
    return found


REFUSED = -(1 << 63)
"""What a function returns where the system refused it memory; then nothing is left of what it began."""


def refusal(function: Any) -> OutOfMemory:
    """Return the error for a function of the library that was refused memory in this thread."""
    size = unchecked("refused_bytes")()
    return OutOfMemory(
        f"{function.purpose} needs another {size:,} bytes of host memory, which the system refused. Close states that "
        "are not used, divide the circuit or its shots, or let this process have more memory."
    )


def _checked(returned: int, function: object, _arguments: tuple[object, ...]) -> int:
    if returned == REFUSED:
        raise refusal(function)
    return returned


@lru_cache(maxsize=1)
def _exports() -> dict[str, tuple[str, str, str]]:
    """Return the rows of core/native/exports.def, which the library carries, by the names of the functions.

    A row has the function's sort, its arguments, and what it needs memory for, "" if it allocates none.
    """
    found = _library().qx_exports
    found.restype = ctypes.c_char_p
    rows = [row.split(" ", 3) for row in found().decode().splitlines()]
    return {name: (sort, kinds, purpose) for sort, name, kinds, purpose in rows}


def address(array: NDArray[Any]) -> int:
    """Return the address of an array, which must be in C order; its caller keeps the array alive.

    This takes a third of a microsecond, of an array that is empty or read only 1.3 µs; so a loop over parts of an array
    looks it up once.
    """
    if array.size and array.flags.writeable:
        return ctypes.addressof(_BYTE.from_buffer(array))  # type: ignore[arg-type]  # before 3.12 there is no such type
    assert array.flags.c_contiguous
    return array.ctypes.data


_BYTE = ctypes.c_char
"""The start of any array: `from_buffer` raises TypeError for one that is not in C order."""


def integers(count: int) -> ctypes.Array[ctypes.c_int64]:
    """Return room for so many integers that a function of the library writes, which takes it as it is.

    ``room[:]`` is their list. To make an array of NumPy, to address it and to read it takes several times as long.
    """
    return _integers(count)()


@cache
def _integers(count: int) -> type[ctypes.Array[ctypes.c_int64]]:
    return ctypes.c_int64 * count  # a type that nobody keeps is made anew


def structure(names: str) -> type[ctypes.Structure]:
    """Return the type of a C structure of 64-bit integers and addresses, for the names of its fields in order."""
    fields = [(name, ctypes.c_int64) for name in names.split()]
    return type("Structure", (ctypes.Structure,), {"_fields_": fields})


# --- cancelling long calls, which return now and then ----------------------------------------------------------------

CANCEL: ContextVar[threading.Event | None] = ContextVar("cancel", default=None)
"""The event that ends planning when it is set; None for a run that cannot be cancelled."""


@contextmanager
def cancelled_by(cancel: threading.Event | None) -> Iterator[None]:
    """Let an event end the planning inside this block; a finished plan is kept, an unfinished one is discarded."""
    token = CANCEL.set(cancel)
    try:
        yield
    finally:
        CANCEL.reset(token)


def check_cancelled() -> None:
    """Raise `Cancelled` if the event of `cancelled_by` is set."""
    cancel = CANCEL.get()
    if cancel is not None and cancel.is_set():
        raise Cancelled("cancelled while the circuit was planned.")


# --- Python's objects -------------------------------------------------------------------------------------------------
# The library is linked against no Python: it calls functions of Python's stable ABI, whose addresses it is given here.
# So one file serves every version of Python, as everything else in it does.

_OF_PYTHON = (
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
    "PyUnicode_FromStringAndSize",
    "PyDict_SetItem",
    "PyObject_Hash",
)
"""The functions of the stable ABI that native code calls, in the order of core/native/readers/python.hpp."""


@lru_cache(maxsize=1)
def _library_of_objects() -> ctypes.PyDLL:
    """Return the library as one whose functions hold the interpreter's lock, with the addresses that it needs."""
    addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in _OF_PYTHON]
    function("python_functions")((ctypes.c_void_p * len(addresses))(*addresses))
    return ctypes.PyDLL(str(FILE))
