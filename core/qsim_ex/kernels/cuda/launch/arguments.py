"""The arguments of one launch as the driver reads them: their values, and pointers to these."""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from qsim_ex.kernels.cuda.runtime import ByValue

MOST_ARGUMENTS = 12


class ArgumentBuffer(threading.local):
    """Memory for the arguments of one launch and for the pointers to them, which the driver reads during the call.

    has_context: whether the thread was given a GPU's context.
    """

    def __init__(self) -> None:
        self._room = np.zeros(2 * MOST_ARGUMENTS, dtype=np.uint64)
        self._begin: int = self._room.ctypes.data
        self._view = self._room.data
        self._pack = struct.Struct(f"={2 * MOST_ARGUMENTS}Q").pack_into
        self.has_context = False

    def write(self, arguments: Sequence[Any]) -> int:
        """Lay out arguments; return the address of the pointers to them."""
        words, pointers = [0] * MOST_ARGUMENTS, [0] * MOST_ARGUMENTS
        for k, argument in enumerate(arguments):
            pointers[k] = self._begin + 8 * k
            if isinstance(argument, ByValue):
                pointers[k] = argument.address or argument.array.ctypes.data
            elif isinstance(argument, np.floating):
                words[k] = int.from_bytes(argument.tobytes(), "little")
            elif isinstance(argument, np.integer):
                words[k] = int(argument)
            elif argument is not None:
                words[k] = argument.data.ptr
        self._pack(self._view, 0, *words, *pointers)
        return self._begin + 8 * MOST_ARGUMENTS


frame = ArgumentBuffer()
"""The buffer of each thread."""
