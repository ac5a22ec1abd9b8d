"""A plan's coefficient program, run on the device for every row of a batch: only operands are sent there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cuda.fixed import fixed
from qsim_ex.kernels.cuda.runtime import Array, Runtime
from qsim_ex.precision import DOUBLE
from qsim_ex.steps.coefficients import Coefficients, Euler, Fold, Product


class DeviceNumbers(NamedTuple):
    """The numbers of some rows on the device, as reals: number k of a row is in `given` for k < known, else in `made`.

    width, others: reals in a row of `given` and of `made`.
    """

    given: Array
    made: Array | None
    width: int
    others: int
    known: int


def sent(runtime: Runtime, numbers: NDArray[np.complex128]) -> DeviceNumbers:
    """Send numbers that are known on the host, [rows, total], to the device."""
    width = 2 * numbers.shape[1]
    return DeviceNumbers(runtime.upload(np.ascontiguousarray(numbers).view(np.float64)), None, width, 0, width)


class DeviceCoefficientProgram:
    """The instructions of a coefficient program except for its tables, which `tables` makes.

    Its arrays of places are sent to the device once.
    """

    def __init__(self, numbers: Coefficients) -> None:
        self._known = numbers.num_operands
        self._others = numbers.tables_at() - numbers.num_operands
        self._work: list[tuple[str, NDArray[np.int64], tuple[int, ...], int]] = []
        for instruction in numbers.program:
            match instruction:
                case Product():
                    pairs = instruction.pairs()
                    self._work.append(("products", pairs, pairs.shape[1:], instruction.size))
                case Euler(places, imaginary):
                    shape = int(imaginary), len(places)
                    self._work.append(("eulers", np.ascontiguousarray(places.T), shape, instruction.size))
                case Fold():
                    pass
        self._sent: list[Array] | None = None

    def __call__(self, runtime: Runtime, operands: NDArray[np.complex128]) -> DeviceNumbers:
        """Send operands [rows, total], and queue the kernels that make all other numbers from them."""
        if not self._others:
            return sent(runtime, operands)
        rows, width = operands.shape
        given = sent(runtime, operands).given
        if self._sent is None:
            self._sent = [runtime.upload(places.astype(np.uint32)) for _, places, _, _ in self._work]
        made, at = runtime.empty(rows * 2 * self._others, np.float64), 0
        for (name, _, shape, size), places in zip(self._work, self._sent, strict=True):
            if size:
                count = rows * shape[-1]
                common: tuple[object, ...] = (given, made, width, self._others, np.uint32(self._known), places)
                fixed.over(runtime, name, DOUBLE, count, *common, *shape, at, count)
            at += size
        return DeviceNumbers(given, made, 2 * width, 2 * self._others, 2 * self._known)
