"""The host's part of a run on a GPU: it evaluates a plan's coefficient program and queues all kernels.

`core/native/kernels/enqueue.cpp` does it; `run_words.hpp` beside it has the form of its input.
"""

from __future__ import annotations

from qsim_ex.native.library import function


class RunWords:
    """The words and places of a plan, as the native code reads them, in memory that others keep."""

    def __init__(self, words: int, places: int) -> None:
        self._at = words, places
        self._call = function("enqueue")

    def __call__(
        self, driver: int, stream: int, state: int, tables: int, first: int, most: int, position: int, operands: int,
        room: int,
    ) -> int:  # fmt: skip
        """Queue a run, except launches before number `first`, until `most` are queued; return the driver's status.

        driver: the address of `cuLaunchKernel`. stream: the stream's handle. state, tables: addresses on the device.
        position: the address of the word to go on with, 0 at the beginning and when all is done. operands: the address
        of the circuit's, complex128 [total]. room: the address of a room, which is for one run at a time.
        """
        status: int = self._call(driver, stream, state, tables, first, most, position, operands, *self._at, room)
        return status
