"""The CPU: every core, NumPy buffers, kernels in Numba.

Nothing here knows how a kernel works, and no kernel knows what a device is. Numba is imported when the first kernel
is needed, not when this module is.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Literal, assert_never

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.circuit.ops import ALWAYS, When, mask_of
from qsim_ex.devices import locked, search
from qsim_ex.devices.channels import HostCopies
from qsim_ex.errors import InvalidInput, OutOfMemory
from qsim_ex.kernels.cpu import host, pool
from qsim_ex.steps import Clear, Shape, Shuffle, Spread, Step, Sweep, Wide

Buffer = NDArray[np.complexfloating]

_KEPT = 256
"""Plans whose encoded sweeps a device remembers."""

_ALIGNMENT = 64  # bytes: one cache line, one vector of AVX-512
_UNIT_BITS = 16  # sums: at least 2^16 amplitudes for each unit
_BLOCK_BITS = 10  # sums: amplitudes that are neighbours in memory
_CHUNK_BITS = 18  # amplitudes that one thread handles between two looks at Ctrl-C, where it only moves them
_WORKSPACE = 32 << 20  # bytes, for each of the matrices of a product


class CpuDevice(HostCopies):
    """The cores of this machine and its memory.

    threads: how many threads to use; all cores this process may use if None.
    """

    kind: Literal["cpu", "gpu"] = "cpu"
    grows = True
    name = "cpu"

    def __init__(self, threads: int | None = None) -> None:
        self.threads = host.cores() if threads is None else threads
        self._prepared: OrderedDict[tuple[Any, ...], Prepared] = OrderedDict()
        self._lock = threading.Lock()
        self.description = f"{host.processor()}, {self.threads} thread{'s' * (self.threads != 1)}"

    def shape(self, dtype: DTypeLike) -> Shape:
        """A tile fills half of a small L2 cache. All its bits are near, since the encoder sees to the lanes.

        Measured on Zen 4 at 20 and 23 wires: tiles of 14 and 16 bits and 4 to 6 low ones were within 10 % of this.
        """
        tile = 15 if np.dtype(dtype) == np.complex64 else 14
        return Shape(tile=tile, near=tile, low=5, edge=0, phases=3, dense=5, item_work=0.5)

    def memory(self) -> tuple[int, int]:
        """Free and total bytes, for this process; what is kept locked for the next state on GPUs counts as free."""
        free, total = host.memory()
        return free + locked.kept_bytes(), total

    def allocate(self, num_amplitudes: int, dtype: DTypeLike) -> Buffer:
        """A buffer whose contents are undefined, on a cache line; raises `OutOfMemory`."""
        size = num_amplitudes * np.dtype(dtype).itemsize
        if size <= _UNASKED:
            return aligned(num_amplitudes, np.dtype(dtype))
        free, total = host.memory()
        if size > free and locked.kept_bytes():
            locked.release()
            free, total = host.memory()
        if size > free:
            raise OutOfMemory(
                f"{num_amplitudes} amplitudes in {np.dtype(dtype).name} need {_gib(size)}; this machine has "
                f"{_gib(free)} free of {_gib(total)}. Use precision='single', fewer wires, or more memory."
            )
        try:
            return aligned(num_amplitudes, np.dtype(dtype))
        except MemoryError as error:
            raise OutOfMemory(f"the system refused {_gib(size)}, though {_gib(free)} seem free.") from error

    def set_basis(self, buffer: Buffer, index: int) -> None:
        """All amplitudes 0 but the one at `index`, which is 1."""

        def clear(first: int, last: int) -> None:
            buffer[first:last] = 0

        self._in_chunks(buffer.size, clear)
        buffer[index] = 1

    def begin(self, buffer: Buffer) -> None:
        """Amplitude 0 becomes 1; the others are left."""
        buffer[0] = 1

    def write(self, buffer: Buffer, start: int, values: NDArray[np.complexfloating]) -> None:
        """Copy amplitudes to ``buffer[start : start + len(values)]``."""
        target = buffer[start : start + len(values)]

        def copy(first: int, last: int) -> None:
            target[first:last] = values[first:last]

        self._in_chunks(len(values), copy)

    def read(self, buffer: Buffer, start: int, stop: int) -> NDArray[np.complexfloating]:
        """Copy ``buffer[start:stop]`` to a new array."""
        source = buffer[start:stop]
        out = np.empty_like(source)

        def copy(first: int, last: int) -> None:
            out[first:last] = source[first:last]

        self._in_chunks(source.size, copy)
        return out

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Overwrite amplitudes by others."""
        self.write(to, 0, source)

    def prepare(self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike, compile: str = "auto") -> Prepared:  # noqa: ARG002
        """Encode the sweeps, and compile the kernels or fetch them from disk; `compile` is for GPUs."""
        key = (tuple(map(id, steps)), num_bits, np.dtype(dtype))
        with self._lock:
            found = self._prepared.get(key)
            if found is not None:
                self._prepared.move_to_end(key)
                return found
        prepared = Prepared(num_bits, np.dtype(dtype))
        for step in steps:
            prepared.program(step)
        if any(isinstance(step, Sweep) for step in steps):
            _compiled(np.dtype(dtype))
        with self._lock:  # what is kept holds its steps, so that no other step gets their identity
            self._prepared[key] = prepared
            while len(self._prepared) > _KEPT:
                self._prepared.popitem(last=False)
        return prepared

    def run(
        self,
        buffer: Buffer,
        num_bits: int,
        step: Step,
        numbers: NDArray[np.complex128],
        prepared: Any = None,
        high: int = 0,
    ) -> None:
        """Apply one step in place."""
        match step:
            case Sweep():
                if prepared is None or (prepared.num_bits, prepared.dtype) != (num_bits, buffer.dtype):
                    prepared = Prepared(num_bits, buffer.dtype)
                self._sweep(buffer, prepared.program(step), prepared.kind, numbers, high)
            case Wide():
                self._wide(buffer, num_bits, step, numbers, high)
            case Shuffle():
                self._shuffle(buffer, num_bits, step)
            case Spread():
                self._spread(buffer, num_bits, step, numbers)
            case Clear(fresh):
                self._clear(buffer, fresh)
            case _:
                assert_never(step)

    def _sweep(self, buffer: Buffer, program: Any, kind: tuple[Any, ...], numbers: Any, high: int) -> None:
        """Look up the coefficients, then share out the tiles."""
        from qsim_ex.kernels.cpu import sweep

        real = _real(buffer.dtype)
        coefficients = aligned(program.coefficients, real)
        floats = np.ascontiguousarray(numbers, dtype=np.complex128).view(np.float64)
        sweep.expand(kind, floats, program.fills, program.codes, program.integers, coefficients)
        state = buffer.view(real)
        tiles = 1 << program.outside_bits
        step = max(1, min(_TILES, tiles // (4 * self.threads)))
        scratch_size = ((1 << program.row_bits) + _ASIDE) * (2 << len(kind))

        def work(chunk: int) -> None:
            first = chunk * step
            sweep.run_tiles(
                kind, state, _scratch(scratch_size, real), coefficients, program.instructions, program.integers,
                program.geometry, first, min(tiles, first + step), high,
            )  # fmt: skip

        pool.share(work, -(-tiles // step), self.threads)

    def _wide(self, buffer: Buffer, num_bits: int, step: Wide, numbers: Any, high: int) -> None:
        """One matrix product for every chunk of columns, or one for each block that reads select there."""
        size = 1 << len(step.bits)
        matrices = numbers.reshape(-1, size, size).astype(buffer.dtype)
        inside = (1 << num_bits) - 1
        if high << num_bits & step.when.mask != step.when.value & ~inside:
            return
        when = When(step.when.mask & inside, step.when.value & inside)
        offsets = _offsets(step.bits)

        def work(columns: NDArray[np.int64]) -> None:
            block = np.zeros(len(columns), dtype=np.int64)
            for k, mask in enumerate(step.reads):
                outside = (high << num_bits & mask).bit_count()
                block |= (np.bitwise_count(columns & (mask & inside)).astype(np.int64) + outside & 1) << k
            for selected in np.unique(block):
                chosen = columns[block == selected]
                values = self._gather(buffer, offsets, chosen)
                self._scatter(buffer, offsets, chosen, matrices[selected] @ values)

        self._columns(buffer, num_bits, step.bits, when, work)

    def _clear(self, buffer: Buffer, fresh: int) -> None:
        """Write zeros where nothing was written; what is there may be no number, so it can not be scaled."""
        from qsim_ex.kernels.cpu import blocks

        self._in_chunks(buffer.size, lambda first, last: blocks.clear(buffer, fresh, first, last))

    def _shuffle(self, buffer: Buffer, num_bits: int, step: Shuffle) -> None:
        """Gather, and scatter to other rows. A permutation of all bits needs a second copy of the state."""
        offsets = _offsets(step.bits)
        targets = offsets[np.array(step.to, dtype=np.int64)]

        def work(columns: NDArray[np.int64]) -> None:
            self._scatter(buffer, targets, columns, self._gather(buffer, offsets, columns))

        self._columns(buffer, num_bits, step.bits, ALWAYS, work)

    def _spread(self, buffer: Buffer, num_bits: int, step: Spread, numbers: Any) -> None:
        """An outer product, in place."""
        from qsim_ex.kernels.cpu import blocks

        offsets = _offsets(step.bits)
        amplitudes = numbers.astype(buffer.dtype)

        def work(columns: NDArray[np.int64]) -> None:
            self._over(columns, len(offsets), lambda part: blocks.spread(
                buffer, offsets, offsets[step.held], columns[part], amplitudes))  # fmt: skip

        self._columns(buffer, num_bits, step.bits, ALWAYS, work)

    def permute(self, buffer: Buffer, num_bits: int, sources: Sequence[int], flip: int = 0) -> None:
        """Move index bits, a tile at a time, in as many passes as it takes: no second copy of the state."""
        from qsim_ex.kernels.cpu import blocks
        from qsim_ex.kernels.cpu.passes import passes

        for tile, moves, turn in passes(tuple(sources), flip):
            free = ((1 << num_bits) - 1) & ~mask_of(tile)
            tiles = 1 << num_bits - len(tile)
            step = max(1, min(_TILES, tiles // (4 * self.threads)))
            bits, origin = np.array(tile, dtype=np.int64), np.array(moves, dtype=np.int64)

            def work(
                chunk: int, bits: Any = bits, origin: Any = origin, turn: int = turn, free: int = free,
                step: int = step, tiles: int = tiles,
            ) -> None:  # fmt: skip
                last = min(tiles, chunk * step + step)
                blocks.permute_tiles(buffer, bits, origin, turn, free, chunk * step, last)

            pool.share(work, -(-tiles // step), self._threads(buffer.size))

    def gather(self, buffer: Buffer, indices: NDArray[np.int64]) -> NDArray[np.complexfloating]:
        """Amplitudes at chosen indices."""
        return buffer[np.asarray(indices, dtype=np.int64)]

    def marginal(self, buffer: Buffer, num_bits: int, bits: Sequence[int], when: When) -> NDArray[np.float64]:
        """Sums of |amplitude|² over all indices at which `when` holds, float64 [2^bits]."""
        from qsim_ex.kernels.cpu import sums

        width = min(num_bits, _BLOCK_BITS)
        inside = (1 << width) - 1
        below = np.arange(1 << width, dtype=np.int64)
        bins = np.zeros_like(below)
        for k, bit in enumerate(bits):
            if bit < width:
                bins |= (below >> bit & 1) << k
        bins[below & when.mask != when.value & inside] = -1
        chosen_bits = sorted(bit for bit in bits if bit >= width)
        groups = np.arange(1 << len(chosen_bits), dtype=np.int64)
        group_bin = np.zeros_like(groups)
        for k, bit in enumerate(chosen_bits):
            group_bin |= (groups >> k & 1) << list(bits).index(bit)
        chosen = mask_of(tuple(chosen_bits))
        rest = ((1 << num_bits) - 1) & ~inside & ~chosen & ~when.mask
        share = max(0, min(6 - len(chosen_bits), width + rest.bit_count() - _UNIT_BITS))
        out = np.zeros((1 << share, 1 << len(bits)), dtype=np.float64)
        state, fixed = buffer.view(_real(buffer.dtype)), when.value & ~inside
        units = len(groups) << share
        step = max(1, min(units // 64, (1 << _CHUNK_BITS) >> width))

        def work(chunk: int) -> None:
            for unit in range(chunk * step, min(units, chunk * step + step)):
                sums.marginal(state, bins, chosen, rest, fixed, share, unit, group_bin, out[unit % (1 << share)])

        pool.share(work, -(-units // step), self._threads(buffer.size))
        return np.asarray(out.sum(axis=0))

    def searched_bits(self, num_bits: int, shots: int) -> int:
        """As many as the host reads in one go."""
        return search.searched_bits(num_bits, shots)

    def search(
        self,
        buffer: Buffer,
        bits: Sequence[int],
        bases: NDArray[np.int64],
        runs: NDArray[np.int64],
        targets: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """The value of `bits` that each target falls on."""
        return search.search(lambda indices: self.gather(buffer, indices), bits, bases, runs, targets)

    def norms(self, buffer: Buffer, blocks: int) -> NDArray[np.float64]:
        """|amplitude|² of contiguous blocks summed: the marginal of the highest bits."""
        num_bits = buffer.size.bit_length() - 1
        top = blocks.bit_length() - 1
        return self.marginal(buffer, num_bits, range(num_bits - top, num_bits), ALWAYS)

    def inner(self, left: Buffer, right: Buffer) -> complex:
        """Σ conj(left)·right."""
        from qsim_ex.kernels.cpu import sums

        if left.dtype != right.dtype:
            raise InvalidInput(f"an inner product of {left.dtype} with {right.dtype}: one dtype is wanted.")
        real = _real(left.dtype)
        width = min(left.size, 1 << _BLOCK_BITS)
        units = _units(left.size)
        results = np.empty((units, 2), dtype=np.float64)
        size = left.size // units
        a, b = left.view(real), right.view(real)

        def work(unit: int) -> None:
            results[unit] = sums.inner(a, b, width, unit * size, unit * size + size)

        pool.share(work, units, self._threads(left.size))
        return complex(*results.sum(axis=0))

    def pauli(self, buffer: Buffer, num_bits: int, x: int, zs: Sequence[int]) -> NDArray[np.complex128]:
        """For each mask z: Σ_i conj(a[i XOR x]) · (−1)^parity(i & z) · a[i]; masks share passes, 256 a pass."""
        if len(zs) > 256:
            return np.concatenate([self.pauli(buffer, num_bits, x, zs[k : k + 256]) for k in range(0, len(zs), 256)])
        from qsim_ex.kernels.cpu import sums

        width = min(buffer.size, 1 << _BLOCK_BITS)
        masks = np.array(zs, dtype=np.int64)
        above, of = np.unique(masks & -width, return_inverse=True)
        units = _units(buffer.size)
        size = buffer.size // units
        results = np.zeros((units, len(zs), 2), dtype=np.float64)
        state = buffer.view(_real(buffer.dtype))

        def work(unit: int) -> None:
            sums.pauli(state, x, masks, above, of, width, unit * size, unit * size + size, results[unit])

        pool.share(work, units, self._threads(buffer.size))
        return np.asarray(results.sum(axis=0).view(np.complex128)[:, 0], dtype=np.complex128)

    def density(self, buffer: Buffer, num_bits: int, bits: Sequence[int]) -> NDArray[np.complex128]:
        """The reduced density matrix of some bits: a matrix product for every chunk of columns, in complex128."""
        offsets = _offsets(bits)
        out = np.zeros((len(offsets), len(offsets)), dtype=np.complex128)

        def work(columns: NDArray[np.int64]) -> None:
            values = self._gather(buffer, offsets, columns).astype(np.complex128)
            out[...] += values @ values.conj().T

        self._columns(buffer, num_bits, bits, ALWAYS, work)
        return out

    def scale(
        self,
        buffer: Buffer,
        num_bits: int,  # noqa: ARG002  (the protocol's)
        when: When,
        inside: float,
        outside: float,
    ) -> None:
        """Multiply the amplitudes at which `when` holds by `inside` and all others by `outside`."""
        from qsim_ex.kernels.cpu import blocks

        real = _real(buffer.dtype)
        state = buffer.view(real)
        factors = real.type(inside), real.type(outside)
        self._in_chunks(
            buffer.size, lambda first, last: blocks.scale(state, when.mask, when.value, *factors, first, last)
        )

    def move(self, buffer: Buffer, num_bits: int, when: When, to: int) -> None:
        """Exchange the amplitudes at which bits under `when.mask` are `when.value` with those where they are `to`."""
        from qsim_ex.kernels.cpu import blocks

        if to == when.value:
            return
        bits = tuple(bit for bit in range(num_bits) if when.mask >> bit & 1)

        def work(columns: NDArray[np.int64]) -> None:
            self._over(columns, 2, lambda part: blocks.exchange(buffer, columns[part], when.value, to))

        self._columns(buffer, num_bits, bits, ALWAYS, work, rows=2)

    def synchronize(self) -> None:
        """Nothing is ever left to wait for."""

    def _threads(self, amplitudes: int) -> int:
        """Small states are not worth waking a thread for."""
        return self.threads if amplitudes > 1 << 15 else 1

    def _in_chunks(self, size: int, work: Callable[[int, int], object]) -> None:
        """Call ``work(first, last)`` for chunks of 0 … size − 1."""
        step = 1 << _CHUNK_BITS
        pool.share(
            lambda chunk: work(chunk * step, min(size, chunk * step + step)), -(-size // step), self._threads(size)
        )

    def _columns(
        self,
        buffer: Buffer,
        num_bits: int,
        bits: Sequence[int],
        when: When,
        work: Callable[[NDArray[np.int64]], object],
        rows: int = 0,
    ) -> None:
        """Call `work` with the bases of all columns at which `when` holds, as many at a time as workspace allows."""
        from qsim_ex.kernels.cpu import blocks

        free = ((1 << num_bits) - 1) & ~mask_of(tuple(bits)) & ~when.mask
        total = 1 << free.bit_count()
        rows = rows or 1 << len(bits)
        step = max(1, min(total, _WORKSPACE // (rows * buffer.itemsize)))
        for first in range(0, total, step):
            columns = np.empty(min(step, total - first), dtype=np.int64)
            blocks.bases(free, when.value, first, columns)
            work(columns)

    def _over(self, columns: NDArray[np.int64], rows: int, work: Callable[[slice], object]) -> None:
        """Share out columns among threads."""
        step = max(1, (1 << _CHUNK_BITS) // rows)
        chunks = -(-len(columns) // step)
        pool.share(lambda k: work(slice(k * step, k * step + step)), chunks, self._threads(len(columns) * rows))

    def _gather(self, buffer: Buffer, offsets: NDArray[np.int64], columns: NDArray[np.int64]) -> Buffer:
        from qsim_ex.kernels.cpu import blocks

        out = np.empty((len(offsets), len(columns)), dtype=buffer.dtype)
        self._over(columns, len(offsets), lambda part: blocks.gather(buffer, offsets, columns[part], out[:, part]))
        return out

    def _scatter(self, buffer: Buffer, offsets: NDArray[np.int64], columns: NDArray[np.int64], values: Buffer) -> None:
        from qsim_ex.kernels.cpu import blocks

        self._over(columns, len(offsets), lambda part: blocks.scatter(buffer, offsets, columns[part], values[:, part]))


_TILES = 32
"""Tiles that one thread handles between two looks at Ctrl-C: some 10 ms."""
_ASIDE = 32
"""Rows of scratch memory behind a tile, for the inputs of one large matrix."""


class Prepared:
    """Encoded sweeps of one plan, for one size and dtype.

    lane_bits: log2 of the lanes of a vector; the processor's if None.
    """

    def __init__(self, num_bits: int, dtype: np.dtype[Any], lane_bits: int | None = None) -> None:
        self.num_bits = num_bits
        self.dtype = dtype
        self.kind = (_real(dtype).type(0),) * (host.lane_bits(dtype) if lane_bits is None else lane_bits)
        self._programs: dict[int, tuple[Step, Any]] = {}

    def program(self, step: Step) -> Any:
        """The encoded sweep; None for another step, which needs nothing."""
        found = self._programs.get(id(step))
        if found is None or found[0] is not step:
            from qsim_ex.kernels.cpu.encode import encode

            program = None
            if isinstance(step, Sweep):
                program = encode(step, self.num_bits, len(self.kind), _real(self.dtype).itemsize)
            found = self._programs[id(step)] = (step, program)
        return found[1]


_UNASKED = 1 << 24
"""Bytes that every machine has; to ask how much is free takes 40 of the 60 µs of a small state."""


def aligned(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array whose first element is on a cache line."""
    raw = np.empty(count * dtype.itemsize + _ALIGNMENT, dtype=np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + count * dtype.itemsize].view(dtype)


_local = threading.local()


def _scratch(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """This thread's tile; it is kept, since a new one would have to be brought into the cache."""
    raw = getattr(_local, "scratch", None)
    size = count * dtype.itemsize
    if raw is None or raw.size < size:
        raw = _local.scratch = aligned(size, np.dtype(np.uint8))
    view: NDArray[Any] = raw[:size].view(dtype)
    return view


def _compiled(dtype: np.dtype[Any]) -> None:
    """Compile the kernels of sweeps for one dtype, by running them on no tile at all."""
    device, empty = CpuDevice(1), Sweep((), (), 0, 0)
    device.run(aligned(1, dtype), 0, empty, np.zeros(0, dtype=np.complex128))


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype not in (np.complex64, np.complex128):
        raise InvalidInput(f"amplitudes in {dtype}: complex64 or complex128 is wanted.")
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)


def _units(size: int) -> int:
    """Into how many units a sum over `size` amplitudes is cut, whatever the number of threads."""
    return max(1, min(256, size >> _UNIT_BITS))


def _offsets(bits: Sequence[int]) -> NDArray[np.int64]:
    """For each value of `bits`, the index that has it there and 0 elsewhere."""
    offsets = np.zeros(1, dtype=np.int64)
    for bit in bits:
        offsets = np.concatenate([offsets, offsets | 1 << bit])
    return offsets


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 / 10 else f"{size / 2**20:.1f} MiB"
