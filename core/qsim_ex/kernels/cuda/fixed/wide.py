"""Steps on more bits than a register block has: matrices, basis permutations, initial states. All in place.

The state is treated as a matrix: rows are the values of the step's bits, columns those of all other bits at which the
step's condition holds. Columns are gathered in chunks, changed, and written back. The workspace is the larger of
64 MiB and 3 % of the state (but always holds one column, twice for a matrix).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.kernels.cuda.fixed.fixed import THREADS, bits_of, folded, launch, over
from qsim_ex.kernels.cuda.runtime import Array, ByValue, Runtime
from qsim_ex.precision import BY_DTYPE, DOUBLE, Precision
from qsim_ex.steps.step import BasisPermutation, DenseMatrix, InitialAmplitudes

LEAST_WORKSPACE = 64 << 20
SHARE = 0.03


@dataclass(frozen=True)
class Columns:
    """The columns of a state at which a condition holds and parities have given values.

    rows: the bits whose values are row numbers.
    high: the index bits outside the buffer, in place.
    masks, pivots: parities, each with a bit of its own that is set to give the parity its value.
    wanted: bit k is the value that parity k must have.
    """

    num_bits: int
    rows: tuple[int, ...]
    when: When = ALWAYS
    high: int = 0
    masks: tuple[int, ...] = ()
    pivots: tuple[int, ...] = ()
    wanted: int = 0

    @property
    def taken(self) -> int:
        """The bits that do not number columns."""
        return sum(1 << bit for bit in self.rows) | self.when.mask | sum(self.pivots)

    @property
    def count(self) -> int:
        """The number of columns."""
        return 1 << self.num_bits - self.taken.bit_count()

    def chunks(self, precision: Precision, copies: int) -> Iterator[tuple[int, int]]:
        """Yield (first column, columns, a power of two) of chunks of which `copies` fit into the workspace."""
        workspace = max(LEAST_WORKSPACE, int(SHARE * precision.storage.nbytes(1 << self.num_bits)))
        most = max(1, workspace // (copies * precision.storage.computed_bytes << len(self.rows)))
        count = min(self.count, 1 << most.bit_length() - 1)
        for first in range(0, self.count, count):
            yield first, count

    def arguments(self) -> tuple[object, ...]:
        """Return the arguments of `gather` and `scatter` in columns.cu between the row bits and the chunk."""
        raw = np.zeros(25, dtype=np.uint64)
        raw[: len(self.masks)] = self.masks
        raw[12 : 12 + len(self.pivots)] = self.pivots
        raw[24] = len(self.masks) | self.wanted << 32
        return bits_of(self.rows), self.taken, self.when.value, self.high, ByValue(raw)


def _log(count: int) -> Any:
    return np.uint32(count.bit_length() - 1)


def within(when: When, num_bits: int, high: int) -> When | None:
    """Return the part of a condition on the buffer's bits; None if the bits outside it break the condition."""
    inside = (1 << num_bits) - 1
    if (high << num_bits ^ when.value) & when.mask & ~inside:
        return None
    return When(when.mask & inside, when.value & inside)


def blocks(num_bits: int, step: DenseMatrix, when: When, high: int) -> Iterator[tuple[int, Columns]]:
    """Yield for each block of a matrix with reads the columns that it acts on; blocks that act on none are left out.

    Elimination over parities gives each independent one a pivot: a bit of its own that no other parity reads.
    """
    free = (1 << num_bits) - 1 & ~when.mask
    outside = high << num_bits
    known = when.value | outside
    rows: list[tuple[int, int, int]] = []  # (mask, combination of the reads that it is, pivot)
    fixed: list[tuple[int, int]] = []  # (combination, parity): reads that do not depend on free bits
    for k, read in enumerate(step.reads):
        mask, combination = read, 1 << k
        for other, with_, pivot in rows:
            if mask & pivot:
                mask, combination = mask ^ other, combination ^ with_
        if not mask & free:
            fixed.append((combination, (mask & known).bit_count() & 1))
            continue
        pivot = mask & free & -(mask & free)
        rows = [(o ^ mask, c ^ combination, p) if o & pivot else (o, c, p) for o, c, p in rows]
        rows.append((mask, combination, pivot))
    for block in range(1 << len(step.reads)):
        if any((block & combination).bit_count() & 1 != parity for combination, parity in fixed):
            continue
        wanted = sum(((block & c).bit_count() & 1) << k for k, (_, c, _) in enumerate(rows))
        masks, pivots = tuple(m for m, _, _ in rows), tuple(p for _, _, p in rows)
        yield block, Columns(num_bits, step.bits, when, outside, masks, pivots, wanted)


def run(
    runtime: Runtime,
    buffer: Array,
    num_bits: int,
    step: DenseMatrix | BasisPermutation | InitialAmplitudes,
    numbers: NDArray[np.complex128],
    high: int,
) -> None:
    """Apply one step in place; high: index bits outside the buffer, of which conditions and parities of a matrix may
    read some.
    """
    match step:
        case DenseMatrix():
            _multiply(runtime, buffer, num_bits, step, numbers, high)
        case BasisPermutation():
            _shuffle(runtime, buffer, num_bits, step)
        case InitialAmplitudes():
            _spread(runtime, buffer, num_bits, step, numbers)
        case _:
            assert_never(step)


def _multiply(
    runtime: Runtime, buffer: Array, num_bits: int, step: DenseMatrix, numbers: NDArray[np.complex128], high: int
) -> None:
    """Multiply by a matrix, or by the one that parities select."""
    when = within(step.when, num_bits, high)
    if when is None:
        return
    size = 1 << len(step.bits)
    matrices = numbers.reshape(-1, size, size).astype(buffer.dtype)
    precision = BY_DTYPE[buffer.dtype]
    for block, columns in blocks(num_bits, step, when, high):
        matrix = runtime.upload(matrices[block])
        for first, count in columns.chunks(precision, 2):
            old, new = (runtime.empty(count * size, buffer.dtype) for _ in range(2))
            chunk = (*columns.arguments(), first, _log(count))
            over(runtime, "gather", precision, count * size, buffer, old, *chunk)
            tiles = _tiles(size) * _tiles(count)
            launch(runtime, "product", precision, tiles, THREADS, matrix, old, new, size, size, count)
            over(runtime, "scatter", precision, count * size, buffer, new, None, *chunk)


def _shuffle(runtime: Runtime, buffer: Array, num_bits: int, step: BasisPermutation) -> None:
    """Move the amplitude at each value of some bits to another value."""
    columns = Columns(num_bits, step.bits)
    size = 1 << len(step.bits)
    precision = BY_DTYPE[buffer.dtype]
    to = runtime.upload(np.array(step.to, dtype=np.int32))
    for first, count in columns.chunks(precision, 1):
        work = runtime.empty(count * size, buffer.dtype)
        chunk = (*columns.arguments(), first, _log(count))
        over(runtime, "gather", precision, count * size, buffer, work, *chunk)
        over(runtime, "scatter", precision, count * size, buffer, work, to, *chunk)


def _spread(
    runtime: Runtime, buffer: Array, num_bits: int, step: InitialAmplitudes, numbers: NDArray[np.complex128]
) -> None:
    """Multiply the amplitudes at one value of some bits by a state of those bits."""
    precision = BY_DTYPE[buffer.dtype]
    held_at = sum((step.held >> k & 1) << bit for k, bit in enumerate(step.bits))
    mask = sum(1 << bit for bit in step.bits)
    alone = Columns(num_bits, (), When(mask, held_at))
    columns = Columns(num_bits, step.bits)
    rows = max(1, min(len(numbers), LEAST_WORKSPACE // (2 * precision.storage.computed_bytes)))
    for first, count in alone.chunks(precision, 2):
        held = runtime.empty(count, buffer.dtype)
        over(runtime, "gather", precision, count, buffer, held, *alone.arguments(), first, _log(count))
        for begin in range(0, len(numbers), rows):
            given = runtime.upload(numbers[begin : begin + rows].astype(buffer.dtype))
            chosen = len(numbers[begin : begin + rows])
            over(
                runtime, "spread", precision, count * chosen,
                buffer, given, held, bits_of(step.bits), columns.taken, first, _log(count), begin, chosen,
            )  # fmt: skip


PRODUCT_SIDE = 64
"""The rows and columns of the tiles of product.cu."""

MOST_SMALL = 16
"""The most rows of a matrix whose product with its adjoint has one thread or several for each entry."""

_PARTS = 512
"""The blocks that share a sum, if there is room for their results."""


def _tiles(length: int) -> int:
    return -(-length // PRODUCT_SIDE)


def density(runtime: Runtime, buffer: Array, num_bits: int, bits: Sequence[int]) -> NDArray[np.complex128]:
    """Return the reduced density matrix of some bits: the matrix of rows times its adjoint, in double precision.

    It needs, besides the workspace, up to 512 results of 2^bits × 2^bits, but at most 16 MiB for more than one.
    """
    columns = Columns(num_bits, tuple(bits))
    size = 1 << len(bits)
    exact = DOUBLE  # columns are multiplied in complex128, whatever the amplitudes are
    chunks = list(columns.chunks(exact, 1))
    inner = chunks[0][1]
    parts = max(1, min(_PARTS, (1 << 20) // size**2, inner // PRODUCT_SIDE))
    sums = runtime.empty(parts * size * size, np.complex128)
    runtime.clear(sums)
    tiles = _tiles(size) ** 2
    precision = BY_DTYPE[buffer.dtype]
    work = runtime.empty(inner * size, np.complex128)
    for first, count in chunks:
        over(
            runtime, "gather_double", precision, count * size,
            buffer, work, bits_of(bits), columns.taken, first, _log(count),
        )  # fmt: skip
        if size <= MOST_SMALL:
            launch(runtime, "gram_small", exact, parts, THREADS, work, sums, np.uint32(size), count, count // parts)
        else:
            launch(runtime, "gram", exact, parts * tiles, THREADS, work, sums, size, count, count // parts)
    return folded(runtime, sums.view(np.float64), parts, 2 * size * size).view(np.complex128).reshape(size, size)
