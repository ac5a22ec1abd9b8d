"""Rotations by their tangents, which take half of the multiply-adds: their cosine is left out of both states.

A rotation x·[1, t; −t, 1] is applied without x. Inner products of the two states are then too large by 1/x² for each
rotation so far, which the host knows, and both states are scaled once behind the last one. So a kernel is for numbers
that are rotations, and of which all cosines together are not too small; with others the kernel runs that has matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import pattern
from qsim_ex.kernels.cuda.runtime import HostArray
from qsim_ex.kernels.cuda.write.body import BlockText, KernelBody
from qsim_ex.steps.step import Item, Mix

Complex = NDArray[np.complex128]
Places = NDArray[np.int64]

FUNCTIONS = """\
__device__ __forceinline__ void turned(amp& a, amp& b, const real t)  // (a, b) ← [1, t; −t, 1] (a, b)
{
    const amp c = a;
    a.x += t * b.x;
    a.y += t * b.y;
    b.x -= t * c.x;
    b.y -= t * c.y;
}
__device__ __forceinline__ void turned(two& a, two& b, const real t)
{
    turned(a.x, b.x, t);
    turned(a.l, b.l, t);
}
__device__ __forceinline__ void turned_imaginary(amp& a, amp& b, const real t)  // (a, b) ← [1, i t; i t, 1] (a, b)
{
    const amp c = a;
    a.x -= t * b.y;
    a.y += t * b.x;
    b.x -= t * c.y;
    b.y += t * c.x;
}
__device__ __forceinline__ void turned_imaginary(two& a, two& b, const real t)
{
    turned_imaginary(a.x, b.x, t);
    turned_imaginary(a.l, b.l, t);
}
"""

SMALLEST = 2.0**-40
"""The least product of all cosines: amplitudes grow by its inverse, and sums by the square of that."""

_CLOSE = 1e-9
_REAL, _IMAGINARY = pattern("rrrr"), pattern("riir")


class KernelNumbers(NamedTuple):
    """A kernel's numbers by value, and what its sums are multiplied by."""

    values: HostArray
    factors: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tangents:
    """The rotations of a kernel.

    places: where their tangents are among the numbers by value. first: the first packed number of each, of four.
    imaginary: whether numbers beside the diagonal are. total: where the product of cosines is. before: the rotations in
    front of each sum.
    """

    places: Places
    first: Places
    imaginary: NDArray[np.bool_]
    total: int
    before: Places

    def bind(self, numbers: Complex, values: HostArray) -> KernelNumbers | None:
        """Put what is made of packed numbers among those by value; None if some are no rotations by small angles."""
        own = numbers[self.first[:, None] + np.arange(4)]
        x, w = own[:, 0].real, own[:, 3].real
        y = np.where(self.imaginary, own[:, 1].imag, own[:, 1].real)
        z = np.where(self.imaginary, own[:, 2].imag, -own[:, 2].real)
        scales = np.cumprod(np.append(1.0, np.abs(x)))
        if scales[-1] < SMALLEST or np.abs(x - w).max() > _CLOSE or np.abs(y - z).max() > _CLOSE:
            return None
        values[self.places] = y / x
        values[self.total] = scales[-1]
        return KernelNumbers(values, scales[self.before] ** 2)


@dataclass
class TangentLines:
    """The rotations of a kernel that is being written."""

    places: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    imaginary: list[bool] = field(default_factory=list)
    before: list[int] = field(default_factory=list)

    def lines(self, body: KernelBody, block: BlockText, item: Mix) -> list[str]:
        """Return the statements of a rotation; see `is_rotation`."""
        at, bit, turns = body.by_value([body.zero]), block.register(1 << item.bits[0]), item.pattern == _IMAGINARY
        self.places.append(at)
        self.first.append(item.slot.at)
        self.imaginary.append(turns)
        name = "turned_imaginary" if turns else "turned"
        pairs = [(block.a(r), block.a(r | bit)) for r in range(len(block.names)) if not r & bit]
        return [f"{name}({a}, {b}, v[{at}]);" for a, b in pairs]

    def scaled(self, body: KernelBody, block: BlockText) -> Tangents:
        """Append the statements that scale both states, and return the rotations."""
        total = body.by_value([body.zero + 1])
        block.add([body.call("scale", f"a{name}", f"v[{total}]") for name in block.names])
        return Tangents(
            np.array(self.places, dtype=np.int64),
            np.array(self.first, dtype=np.int64),
            np.array(self.imaginary, dtype=np.bool_),
            total,
            np.array(self.before, dtype=np.int64),
        )


def is_rotation(item: Item) -> bool:
    """Return whether an item may be a rotation, of all amplitudes alike."""
    return isinstance(item, Mix) and not item.reads and not item.when.mask and item.pattern in (_REAL, _IMAGINARY)
