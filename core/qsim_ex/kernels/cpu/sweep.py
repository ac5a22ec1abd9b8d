"""The interpreter of encoded sweeps: core/native/sweep.cpp, called from here."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cpu import pool
from qsim_ex.kernels.cpu.encoding import EncodedSweep
from qsim_ex.native import library
from qsim_ex.precision import BY_DTYPE

_run = lru_cache(maxsize=8)(library.kernel)


class NativeSweep:
    """An encoded sweep as the interpreter takes it: the addresses of its arrays, which it keeps.

    dtype: of the amplitudes. chosen: the instruction set; see `library.kernel`.
    """

    def __init__(self, encoded: EncodedSweep, dtype: np.dtype[Any], chosen: str = "") -> None:
        self.encoded = encoded
        self._run = _run(f"run_sweep_{BY_DTYPE[dtype].name}", "ppipiiiiii", chosen)
        self._words = np.array(
            [
                encoded.instructions.ctypes.data,
                len(encoded.instructions),
                encoded.fills.ctypes.data,
                len(encoded.fills),
                encoded.codes.ctypes.data,
                encoded.integers.ctypes.data,
                encoded.geometry.ctypes.data,
                encoded.coefficients,
            ],
            dtype=np.int64,
        )
        self._address = self._words.ctypes.data

    def run(self, state: int, rows: int, numbers: NDArray[np.float64], high: int, threads: int) -> None:
        """Run the sweep on states that follow each other in memory, from the address `state` on.

        numbers: real and imaginary parts in turn, [1, count] for all states together or [rows, count].
        high: the value of all index bits outside the states.
        """
        chunk = 0
        where = self._address, state, rows, numbers.ctypes.data, *numbers.shape, high
        while chunk := self._run(*where, chunk, threads, pool.SLICE):
            pass
