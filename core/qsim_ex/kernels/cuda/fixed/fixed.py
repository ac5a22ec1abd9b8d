"""Operations that are the same for every circuit: sums, factors, moves of index bits. Kernels are in fixed_kernels.

Each function takes the runtime first and a buffer of 2^n amplitudes. Sums are in float64 and always run in the same
order; the memory that a function allocates is bounded and given in its docstring.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import When
from qsim_ex.kernels.cuda.runtime import Array, ByValue, HostArray, KernelText, Runtime
from qsim_ex.precision import BY_DTYPE, PRECISIONS, SINGLE, Precision

THREADS = 256
PARTIAL_SUMS = 1024
"""The blocks of a kernel that adds up a whole state; each writes a partial sum."""

MOST_BLOCKS = 1 << 20
_BITS = 44
"""The bits of `struct Bits` of the kernels, at most."""

_WORDS = {row.storage.bytes: row for row in PRECISIONS.values()}
"""The precision whose amplitudes are words of so many bytes, for a kernel that copies them."""

WIDEST = max(_WORDS)
"""The bytes of the largest amplitude, as many as a thread loads at once."""

OF_SUMS = SINGLE
"""The precision for which kernels are made that add up partial sums: they touch no amplitude, so one text is enough."""


_BEFORE = {"numbers.cu": ("made.cu",), "numbers_rows.cu": ("made.cu",)}
"""The files that precede a file's kernels, besides the prelude."""


@functools.cache
def text(file: str, name: str, precision: Precision) -> KernelText:
    """Return a kernel of `fixed_kernels`, complete and without comments."""
    folder = resources.files(__package__).joinpath("fixed_kernels")
    cuda = precision.storage.cuda
    lines = [*cuda.head(), f"#define TILE {precision.geometry.tile_bits}"]
    for part in ("prelude.cu", *_BEFORE.get(file, ()), file):
        lines += cuda.written(folder.joinpath(part).read_text(encoding="utf-8")).splitlines()
    return KernelText("\n".join(line for line in (line.split("//", 1)[0].rstrip() for line in lines) if line), name)


KERNELS = (
    ("marginal.cu", "marginal"),
    ("marginal.cu", "marginal_pairs"),
    ("fold.cu", "fold"),
    ("inner.cu", "inner"),
    ("pauli.cu", "pauli"),
    ("change.cu", "scale"),
    ("change.cu", "move"),
    ("change.cu", "basis"),
    ("change.cu", "take"),
    ("parts.cu", "trade_parts"),
    ("permute.cu", "permute"),
    ("columns.cu", "gather"),
    ("columns.cu", "gather_double"),
    ("columns.cu", "scatter"),
    ("columns.cu", "spread"),
    ("search.cu", "search"),
    ("drawing.cu", "group_weights"),
    ("drawing.cu", "draw_shots"),
    ("product.cu", "product"),
    ("product.cu", "gram"),
    ("product.cu", "gram_small"),
    ("numbers.cu", "numbers_few"),
    ("numbers.cu", "numbers_some"),
    ("numbers.cu", "numbers_many"),
    ("numbers.cu", "numbers"),
    ("numbers_rows.cu", "numbers_rows"),
    ("program.cu", "products"),
    ("program.cu", "eulers"),
    ("rows.cu", "begin_rows"),
    ("rows.cu", "take_rows"),
    ("rows.cu", "fold_rows"),
    ("marginals.cu", "marginals"),
    ("paulis.cu", "paulis"),
    ("pauli_products.cu", "pauli_products"),
    ("pauli_tiles.cu", "pauli_tiles"),
    ("pauli_tiles.cu", "pauli_tiles_weighed"),
)
"""Every fixed kernel: its file and its name."""

FIRST = ("basis", "numbers_many", "marginal", "marginal_pairs", "group_weights", "draw_shots")
"""The kernels that a first run is likely to need: to begin a state, to make its numbers, and to sample it."""

OF_FIRST_RUNS = ("numbers_few", "numbers_some", "numbers_many", "scale")
"""The kernels besides `basis` that some first runs launch."""

FIRST_OF_ROWS = ("begin_rows", "numbers_rows", "marginals", "take_rows")
"""The kernels that a first batch needs besides."""

_FILES = {name: file for file, name in KERNELS}


def first(precision: Precision, names: tuple[str, ...] = FIRST) -> list[KernelText]:
    """Return the texts of `FIRST`, or of other kernels."""
    return [text(_FILES[name], name, precision) for name in names]


def launch(runtime: Runtime, name: str, precision: Precision, blocks: int, threads: int, *arguments: object) -> None:
    """Queue a fixed kernel; whole numbers among the arguments are passed as 64-bit indices."""
    kernel = runtime.kernels([text(_FILES[name], name, precision)])[0]
    plain = [np.uint64(argument) if isinstance(argument, int) else argument for argument in arguments]
    runtime.launch(kernel, blocks, threads, *plain)


def over(runtime: Runtime, name: str, precision: Precision, size: int, *arguments: object) -> None:
    """Queue a kernel whose threads share `size` pieces of work."""
    launch(runtime, name, precision, _blocks(size), THREADS, *arguments)


def _blocks(size: int) -> int:
    return max(1, min(MOST_BLOCKS, -(-size // THREADS)))


SEARCHED_BITS = 12
"""log2 of the amplitudes behind one prefix that `search` scans: their sums fit into a block's shared memory."""


def search(
    runtime: Runtime,
    buffer: Array,
    bits: Sequence[int],
    bases: NDArray[np.int64],
    runs: NDArray[np.int64],
    targets: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return for each target the value of `bits` that it falls on; needs 12 bytes for each target."""
    found = runtime.empty(len(targets), np.uint32)
    given, ends = np.empty(len(bases) + len(runs) + len(targets), dtype=np.int64), np.cumsum([len(bases), len(runs)])
    for part, values in zip(np.split(given, ends), (bases, runs, targets.view(np.int64)), strict=True):
        part[:] = values
    sent = runtime.upload(given)  # one transfer costs half as much as three small ones
    places = sent[: ends[0]], sent[ends[0] : ends[1]], sent[ends[1] :]
    launch(runtime, "search", BY_DTYPE[buffer.dtype], len(bases), THREADS, buffer, *places, found, bits_of(bits))
    return runtime.download(found).astype(np.int64)


def bits_of(bits: Sequence[int]) -> ByValue:
    """Return the struct `Bits` of the kernels."""
    raw = np.zeros(4 + _BITS, dtype=np.uint8)
    raw[:4] = np.array([len(bits)], dtype=np.int32).view(np.uint8)
    raw[4 : 4 + len(bits)] = bits
    return ByValue(raw)


def trade_parts(runtime: Runtime, mine: Array, theirs: Array, half: int | None) -> None:
    """Swap one half of a part with that of another one, or, if `half` is None, copy all of the other one.

    Both are views of one shape and stride, [k] or [rows, k]; theirs may be memory of another process. A thread moves as
    many small amplitudes at a time as take the room of the largest, where rows allow it.
    """
    width, storage = int(mine.shape[-1]), BY_DTYPE[mine.dtype].storage
    stride = storage.count(int(mine.strides[0])) if mine.ndim == 2 and len(mine) > 1 else width
    together = min(width, storage.count(WIDEST))
    size, width, stride = int(mine.size) // together, width // together, stride // together
    middle = (size + 1) // 2
    first, end = (0, size) if half is None else ((0, middle), (middle, size))[half]
    if end > first:
        over(
            runtime, "trade_parts", _WORDS[storage.nbytes(together)], end - first,
            mine, theirs, first, end, width - 1, stride // width, int(half is not None),
        )  # fmt: skip


def set_basis(runtime: Runtime, buffer: Array, index: int) -> None:
    """Set all amplitudes to 0 except one, which is 1."""
    runtime.clear(buffer)
    launch(runtime, "basis", BY_DTYPE[buffer.dtype], 1, 1, buffer, index)


def begin(runtime: Runtime, buffer: Array) -> None:
    """Set amplitude 0 to 1; the others are unchanged."""
    launch(runtime, "basis", BY_DTYPE[buffer.dtype], 1, 1, buffer, 0)


def marginal(runtime: Runtime, buffer: Array, num_bits: int, bits: Sequence[int], when: When) -> NDArray[np.float64]:
    """Return sums of |amplitude|² for each value of some bits; needs 8 bytes for each, and a 32nd of the state."""
    if when.value & ~when.mask:
        return np.zeros(1 << len(bits))
    return folded(runtime, *partial_sums(runtime, buffer, num_bits, bits, when), 1 << len(bits))


def partial_sums(runtime: Runtime, buffer: Array, num_bits: int, bits: Sequence[int], when: When) -> tuple[Array, int]:
    """Return the rows of partial sums whose sum `marginal` is, float64 [rows · 2^bits], and how many they are."""
    free = [bit for bit in range(num_bits) if not when.mask >> bit & 1]
    low, above = free[:8], free[8:]
    in_block = [bit for bit in above if bit in bits]
    in_loop = [bit for bit in above if bit not in bits]
    parts = 1 << max(0, min(12 - len(in_block), len(in_loop) - 4))
    parts = min(parts, max(1, int(buffer.nbytes) // 32 >> 3 + len(bits)))
    unwanted = sum(1 << k for k, bit in enumerate(low) if bit not in bits)
    sums = runtime.empty(parts << len(bits), np.float64)
    precision = BY_DTYPE[buffer.dtype]
    pairs = len(low) == 8 and low[0] == 0 and precision.storage.cuda.stored_pair is not None
    masks = [sum(1 << bit for bit in chosen) for chosen in (low[pairs:], in_block, in_loop)]
    launch(
        runtime, "marginal_pairs" if pairs else "marginal", precision, parts << len(in_block), 1 << len(low) - pairs,
        buffer, sums, *masks, when.value, (1 << len(in_loop)) // parts, np.uint32(unwanted), 1 << len(in_block),
        bits_of(bits),
    )  # fmt: skip
    return sums, parts


def folded(runtime: Runtime, sums: Array, rows: int, width: int) -> NDArray[np.float64]:
    """Return the sum of rows of partial sums, on the host."""
    if rows == 1:
        return np.asarray(runtime.download(sums))
    total = runtime.empty(width, np.float64)
    launch(runtime, "fold", OF_SUMS, -(-width // THREADS), THREADS, sums, total, rows, width)
    return np.asarray(runtime.download(total))


def norms(runtime: Runtime, buffer: Array, blocks: int) -> NDArray[np.float64]:
    """Return |amplitude|² of contiguous blocks: the marginal of the highest bits."""
    num_bits = int(buffer.size).bit_length() - 1
    top = blocks.bit_length() - 1
    return marginal(runtime, buffer, num_bits, range(num_bits - top, num_bits), When(0, 0))


def inner(runtime: Runtime, left: Array, right: Array) -> complex:
    """Return Σ conj(left)·right; needs 16 KiB."""
    blocks = max(1, min(PARTIAL_SUMS, left.size // THREADS))
    sums = runtime.empty(2 * blocks, np.float64)
    launch(runtime, "inner", BY_DTYPE[left.dtype], blocks, THREADS, left, right, sums, int(left.size))
    real, imaginary = folded(runtime, sums, blocks, 2)
    return complex(real, imaginary)


def pauli(runtime: Runtime, buffer: Array, x: int, zs: Sequence[int]) -> NDArray[np.complex128]:
    """Return Σ_i conj(a[i XOR x])·(−1)^parity(i & z)·a[i] for each z, eight masks in a pass; needs 128 KiB."""
    found: list[NDArray[np.float64]] = []
    blocks = max(1, min(PARTIAL_SUMS, buffer.size // THREADS))
    for start in range(0, len(zs), 8):
        masks = np.zeros(8, dtype=np.uint64)
        chosen = zs[start : start + 8]
        masks[: len(chosen)] = chosen
        sums = runtime.empty(16 * blocks, np.float64)
        size = int(buffer.size)
        launch(runtime, "pauli", BY_DTYPE[buffer.dtype], blocks, THREADS, buffer, sums, size, x, ByValue(masks))
        found.append(folded(runtime, sums, blocks, 16)[: 2 * len(chosen)])
    return np.concatenate(found).view(np.complex128) if found else np.zeros(0, dtype=np.complex128)


def scale(runtime: Runtime, buffer: Array, when: When, inside: float, outside: float) -> None:
    """Multiply by one factor where the condition holds, by another where it does not."""
    size = int(buffer.size)
    factors = (np.float64(inside), np.float64(outside))
    over(runtime, "scale", BY_DTYPE[buffer.dtype], size, buffer, size, when.mask, when.value, *factors)


def move(runtime: Runtime, buffer: Array, when: When, to: int) -> None:
    """Exchange the amplitudes at which bits under a mask have one value with those at which they have another."""
    if to != when.value:
        size = int(buffer.size) >> when.mask.bit_count()
        over(runtime, "move", BY_DTYPE[buffer.dtype], size, buffer, size, when.mask, when.value, to)


def take(runtime: Runtime, buffer: Array, indices: NDArray[np.int64]) -> HostArray:
    """Return the amplitudes at chosen indices; needs 8 bytes and an amplitude for each."""
    size = len(indices)
    if not size:
        return np.zeros(0, dtype=buffer.dtype)
    out = runtime.empty(size, buffer.dtype)
    chosen = runtime.upload(np.ascontiguousarray(indices, dtype=np.int64))
    over(runtime, "take", BY_DTYPE[buffer.dtype], size, buffer, chosen, out, size)
    return runtime.download(out)
