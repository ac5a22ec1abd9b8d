"""H|ψ⟩ for sums H of Pauli strings, on every row of a batch.

A few passes over tiles do where X-parts change few index bits (fixed_kernels/pauli_tiles.cu): each reads amplitudes
once. Elsewhere they are read once for each X-part, mostly from the second cache (pauli_products.cu).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.observables import StoredSum
from qsim_ex.kernels.cuda.fixed.fixed import THREADS, bits_of, launch
from qsim_ex.kernels.cuda.runtime import Array, ByValue, Runtime
from qsim_ex.kernels.cuda.write.register_layout import LANES, REGISTERS
from qsim_ex.precision import BY_DTYPE

_CHUNK = 11
"""log2 of the amplitudes that a thread block works on at a time: 256 threads with 8 each."""

_PARTS = 16
"""log2 of the thread blocks that share the amplitudes of a row, at most."""

_CACHED = 24
"""log2 of the bytes of a state that thread blocks at work together find in the second cache."""


_PASSES = 4
"""The passes over tiles, at most; with more, amplitudes are read for each X-part."""


class _Group(NamedTuple):
    """Some X-parts of a sum, by their numbers.

    order: of tiles, the index bits of a tile's positions and of its number; else the bits of chunks of amplitudes in
    the order of thread blocks. kernel: its name.
    """

    sum: int
    begin: int
    end: int
    order: tuple[int, ...]
    kernel: str


class _Words(NamedTuple):
    """Sums as the kernel reads them: X-parts with their strings' ends, and Z-parts, which begin at `strings_at`."""

    words: NDArray[np.uint64]
    coefficients: NDArray[np.complex128]
    strings_at: int
    groups: tuple[_Group, ...]


class DeviceProducts(NamedTuple):
    """States, where H|ψ⟩ goes, with which weights [rows, sums] if sums are added up, and whether it is added there."""

    states: Array
    to: Array
    num_bits: int
    weights: NDArray[np.float64] | None = None
    adds: bool = False

    @property
    def replaces(self) -> bool:
        """Whether each sum is written by itself over what is there, so that its value follows from what is written."""
        return self.weights is None and not self.adds


def pauli_products(
    runtime: Runtime, where: DeviceProducts, sums: Sequence[StoredSum]
) -> Callable[[], NDArray[np.float64]]:
    """Queue the writing of H|ψ⟩ of each row for each sum H, [rows, sums, 2^n], or of the weighted sum, [rows, 2^n].

    The result waits, and returns Re ⟨ψ|H|ψ⟩, float64 [rows, sums].
    """
    states, to, num_bits, weights, already = where
    rows, precision = int(states.size) >> num_bits, BY_DTYPE[states.dtype]
    cached, tile = _CACHED - (precision.storage.bytes.bit_length() - 1), precision.geometry.tile_bits
    given = _words(tuple(sums), num_bits, cached, tile if where.replaces else None)
    own = runtime.upload(np.ones(1) if weights is None else np.ascontiguousarray(weights, dtype=np.float64))
    words = runtime.upload(given.words)
    coefficients = runtime.upload(given.coefficients.view(np.float64).astype(precision.storage.real))
    parts = min(_PARTS, max(0, num_bits - max(_CHUNK, tile)))
    values = runtime.empty(rows * len(given.groups) << parts, np.float64)
    owners = [group.sum for group in given.groups]
    for number, group in enumerate(given.groups):
        tiled = group.kernel != "pauli_products"
        later = number > 0 and (weights is not None or owners[number - 1] == group.sum)
        last = group.sum not in owners[number + 1 :]
        run = max(0, num_bits - (tile if tiled else _CHUNK) - parts)
        sizes = (
            group.begin, group.end, group.sum, len(sums), given.strings_at, num_bits, parts, run, already or later,
            last, weights is not None,
        )  # fmt: skip
        launch(
            runtime, group.kernel, precision, rows << parts, 1 << tile - REGISTERS if tiled else THREADS,
            states, to, values[number * rows << parts :], words, coefficients, own,
            ByValue(np.array(sizes, dtype=np.uint64)), bits_of(group.order),
        )  # fmt: skip

    def found() -> NDArray[np.float64]:
        every = np.zeros((rows, len(sums)))
        shares = runtime.download(values).reshape(len(owners), rows, -1).sum(axis=2)
        for owner, share in zip(owners, shares, strict=True):
            every[:, owner] += share
        return every

    return found


@lru_cache(maxsize=64)
def _words(sums: tuple[StoredSum, ...], num_bits: int, cached: int, tile: int | None) -> _Words:
    """Return sums in the kernels' form, without passes over tiles if `tile` is None; cached for loops."""
    parts: list[int] = []
    zs: list[int] = []
    coefficients: list[complex] = []
    groups: list[_Group] = []
    for number, one in enumerate(sums):
        by_x: dict[int, list[tuple[int, complex]]] = {}
        for x, z, coefficient in one:
            sign = -1 if (x & z).bit_count() & 1 else 1  # of z at the amplitude that is read, of i ^ x
            by_x.setdefault(x, []).append((z, sign * coefficient))
        passes = [] if tile is None else _tiled(sorted(by_x), num_bits, tile)
        for some, order in passes or _grouped(sorted(by_x), num_bits, cached):
            begin = len(parts) // 2
            registers = order[tile - REGISTERS : tile] if tile and passes else (8, 9, 10)  # as in the kernels
            for x in some:
                placed = [(_on(z, registers), z, coefficient) for z, coefficient in by_x[x]]
                strings = sorted(placed, key=itemgetter(0, 1))  # some are equal on this device
                zs += [z | place << _PLACE if passes else z for place, z, _ in strings]
                coefficients += [coefficient for *_, coefficient in strings]
                parts += [_on(x, order[:tile]) if passes else x, len(zs)]
            weighed = any(_on(z, registers) for x in some for z, _ in by_x[x])
            tiled = "pauli_tiles_weighed" if weighed else "pauli_tiles"
            groups.append(_Group(number, begin, len(parts) // 2, tuple(order), tiled if passes else "pauli_products"))
    words = np.array([*parts, *zs, 0], dtype=np.uint64)
    return _Words(words, np.array([*coefficients, 0], dtype=np.complex128), len(parts), tuple(groups))


_PLACE = 60
"""Where a word of a Z-part has the part of it that is on the index bits of registers."""


def _on(mask: int, bits: Sequence[int]) -> int:
    """Return the part of a mask that is on some bits, bit k for ``bits[k]``."""
    return sum((mask >> bit & 1) << k for k, bit in enumerate(bits))


def _tiled(xs: Sequence[int], num_bits: int, tile: int) -> list[tuple[list[int], tuple[int, ...]]]:
    """Return X-parts for each pass over tiles, and the index bits of a tile and of its number; none if it takes many.

    A tile has the lowest bits, so that whole lines are read.
    """
    passes: list[tuple[list[int], tuple[int, ...]]] = []
    left, low = list(xs), (1 << LANES) - 1
    while left and tile <= num_bits:
        bits = low
        for x in left:
            bits |= x if (bits | x).bit_count() <= tile else 0
        some = [x for x in left if not x & ~bits]
        if not some or len(passes) == _PASSES:
            return []
        left = [x for x in left if x & ~bits]
        inside = [bit for bit in range(num_bits) if bits >> bit & 1]
        inside = sorted([*inside, *[bit for bit in range(num_bits) if not bits >> bit & 1][: tile - len(inside)]])
        passes.append((some, (*inside, *(bit for bit in range(num_bits) if bit not in inside))))
    return passes


def _grouped(xs: Sequence[int], num_bits: int, cached: int) -> Iterator[tuple[list[int], tuple[int, ...]]]:
    """Yield X-parts that change few bits above a chunk, and an order of thread blocks in which these come first.

    A group more costs three passes over a state, and as many X-parts or fewer are read in their own passes.
    """
    low = min(_CHUNK, num_bits)
    above = range(low, num_bits)
    left, room = list(xs), max(1, cached - low)
    while True:
        bits = 0
        for x in left:
            if ((bits | x) >> low).bit_count() <= room:
                bits |= x
        some = [x for x in left if not (x & ~bits) >> low]
        rest = [x for x in left if (x & ~bits) >> low]
        if len(rest) <= _FEW:
            some, rest = left, []
        near = [bit for bit in above if bits >> bit & 1]
        yield some, (*near, *(bit for bit in above if not bits >> bit & 1))
        if not rest:
            return
        left = rest


_FEW = 3
"""So many X-parts are read past the cache in a pass over the state that is there."""
