"""Arguments of native functions: addresses of arrays, and structures of integers.

Looking up an address takes a microsecond, so a loop over parts of an array looks it up once.
"""

from __future__ import annotations

import ctypes
from typing import Any

from numpy.typing import NDArray


def address(array: NDArray[Any]) -> int:
    """Return the address of an array, which must be in C order; its caller keeps the array alive."""
    assert array.flags.c_contiguous
    return array.ctypes.data


def structure(names: str) -> type[ctypes.Structure]:
    """Return the type of a C structure of 64-bit integers and addresses, for the names of its fields in order."""
    fields = [(name, ctypes.c_int64) for name in names.split()]
    return type("Structure", (ctypes.Structure,), {"_fields_": fields})
