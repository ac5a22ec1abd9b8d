"""The CPU: all cores, NumPy buffers, compiled kernels.

This module does not depend on how a kernel works, nor a kernel on devices.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import ALWAYS, When, mask_of
from qsim_ex.devices.cpu import sums
from qsim_ex.devices.cpu.adjoint import CpuAdjoints
from qsim_ex.devices.cpu.batch import CpuBatches
from qsim_ex.devices.cpu.shape import shape_of
from qsim_ex.devices.memory import HostCopies, memory_of_host, require_amplitudes, take
from qsim_ex.devices.sharing import Handle, SharedBuffer, SharesMemory
from qsim_ex.display.amounts import human
from qsim_ex.errors import DeviceError, OutOfMemory
from qsim_ex.kernels import fork, host
from qsim_ex.kernels.cpu import blocks, pool
from qsim_ex.kernels.cpu.encoded_plan import EncodedSweeps, run_sweep
from qsim_ex.later import later
from qsim_ex.native.library import check_cancelled
from qsim_ex.planning.cost.rates import Rates, cpu_rates
from qsim_ex.precision import STORAGE, Amplitudes
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.step import BasisPermutation, DenseMatrix, InitialAmplitudes, Step, Sweep, ZeroFill

if TYPE_CHECKING:
    from qsim_ex.devices.cpu import columns, shared
    from qsim_ex.kernels.cpu import passes
else:
    passes = later("qsim_ex.kernels.cpu.passes")
    columns = later("qsim_ex.devices.cpu.columns")
    shared = later("qsim_ex.devices.cpu.shared")

_ALIGNMENT = 64  # bytes: one cache line, one vector of AVX-512

_KEPT, _KEPT_BYTES = 1 << 11, 256 << 20
"""The most plans whose encoded sweeps a device remembers, and their bytes; the last one is always kept."""


class CpuDevice(HostCopies, CpuBatches, CpuAdjoints, SharesMemory):
    """The cores of this machine and its memory.

    threads: how many threads to use; all cores this process may use if None.
    """

    kind: str = "cpu"
    in_host_memory = True
    interprets = False
    grows = True
    name = "cpu"

    @property
    def shares_from(self) -> int:
        """Return the bytes from which memory is kept."""
        return thresholds.now.large_bytes

    def __init__(self, threads: int | None = None) -> None:
        self.threads = host.cores() if threads is None else threads
        self._prepared: OrderedDict[tuple[object, ...], EncodedSweeps] = OrderedDict()
        self._prepared_bytes = 0
        self._lock = fork.lock()
        self.description = f"{host.processor()}, {self.threads} thread{'s' * (self.threads != 1)}"

    def rates(self, dtype: DTypeLike, threads: int | None) -> Rates:
        """Return how fast it is, as nearly as two ways to run one circuit are compared by it."""
        return cpu_rates(self.shape(dtype), threads or self.threads)

    def shape(self, dtype: DTypeLike) -> Shape:
        """Return the limits of sweeps; see `shape_of`."""
        return shape_of(np.dtype(dtype))

    memory = staticmethod(memory_of_host)

    def allocate(self, num_amplitudes: int, dtype: DTypeLike) -> Amplitudes:
        """Return a buffer on a cache line whose contents are undefined; raises `OutOfMemory`."""
        size = STORAGE[np.dtype(dtype)].nbytes(num_amplitudes)
        if size <= thresholds.now.unasked_bytes:
            return aligned(size).view(dtype)
        require_amplitudes(num_amplitudes, np.dtype(dtype))
        try:
            return aligned(size).view(dtype)
        except MemoryError as error:
            raise OutOfMemory(
                f"the system refused {human(size)}, though {human(host.memory()[0])} seem free; use fewer wires."
            ) from error

    def allocate_shared(self, num_amplitudes: int, dtype: DTypeLike) -> SharedBuffer:
        """Return memory in huge pages that other processes map by a file descriptor; else private memory, and why."""
        dtype = np.dtype(dtype)
        require_amplitudes(num_amplitudes, dtype)
        try:
            file = shared.make(STORAGE[dtype].nbytes(num_amplitudes))
        except OSError as error:
            return SharedBuffer(self.allocate(num_amplitudes, dtype), None, "", error.strerror or str(error))
        found = shared.mapped(file, num_amplitudes, dtype)
        shared.fill(found, self.threads)
        return SharedBuffer(found, file, shared.KIND, "")

    def map_shared(self, handle: Handle, num_amplitudes: int, dtype: DTypeLike) -> Amplitudes:
        """Return the buffer of another process of this host; raises `DeviceError`."""
        assert isinstance(handle, int)
        try:
            return shared.mapped(handle, num_amplitudes, dtype)
        except OSError as error:
            raise DeviceError(str(error)) from error

    def swap_half(self, mine: Amplitudes, theirs: Amplitudes, half: int) -> None:
        """Swap one half of a view with that of another process, which swaps the other."""
        where = _half(mine.shape, half)
        pool.swap(mine[where], theirs[where], self.threads)
        shared.unload(theirs[where])

    def pull(self, mine: Amplitudes, theirs: Amplitudes) -> None:
        """Copy a view of another process."""
        pool.copy(mine, theirs, self.threads)
        shared.unload(theirs)

    def set_basis(self, buffer: Amplitudes, index: int) -> None:
        """Set all amplitudes to 0 except the one at `index`, which is 1."""
        pool.clear(buffer, self.threads)
        buffer[index] = 1

    def begin(self, buffer: Amplitudes) -> None:
        """Set amplitude 0 to 1; the others are unchanged."""
        buffer[0] = 1

    def write(self, buffer: Amplitudes, start: int, values: NDArray[np.complexfloating]) -> None:
        """Copy amplitudes to ``buffer[start : start + len(values)]``."""
        pool.copy(buffer[start : start + len(values)], values, self.threads)

    def read(self, buffer: Amplitudes, start: int, stop: int) -> NDArray[np.complexfloating]:
        """Copy ``buffer[start:stop]`` to a new array."""
        source = buffer[start:stop]
        out = np.empty_like(source)
        pool.copy(out, source, self.threads)
        return out

    def copy(self, to: Amplitudes, source: Amplitudes) -> None:
        """Overwrite amplitudes with others."""
        self.write(to, 0, source)

    def prepare(self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike, compile: str = "auto") -> EncodedSweeps:  # noqa: ARG002
        """Encode the sweeps; `compile` is for GPUs."""
        key = (tuple(map(id, steps)), num_bits, np.dtype(dtype))
        with self._lock:
            found = self._prepared.get(key)
            if found is not None:
                self._prepared.move_to_end(key)
                return found
        prepared = EncodedSweeps(num_bits, np.dtype(dtype), check=check_cancelled, threads=self.threads)
        for step in steps:
            prepared.program(step)
        with self._lock:  # a kept entry holds its steps, so that no other step gets their identity
            if (other := self._prepared.pop(key, None)) is not None:  # another thread was faster
                self._prepared_bytes -= other.bytes
            self._prepared[key] = prepared
            self._prepared_bytes += prepared.bytes
            while len(self._prepared) > 1 and (len(self._prepared) > _KEPT or self._prepared_bytes > _KEPT_BYTES):
                self._prepared_bytes -= self._prepared.popitem(last=False)[1].bytes
        return prepared

    def run(
        self,
        buffer: Amplitudes,
        num_bits: int,
        step: Step,
        numbers: NDArray[np.complex128],
        prepared: Any = None,
        high: int = 0,
    ) -> None:
        """Apply one step in place."""
        match step:
            case Sweep():
                run_sweep(buffer, num_bits, step, numbers, prepared, high, self.threads)
            case DenseMatrix():
                columns.wide(buffer, num_bits, step, numbers, high, self.threads)
            case BasisPermutation():
                columns.shuffle(buffer, num_bits, step, self.threads)
            case InitialAmplitudes():
                columns.spread(buffer, num_bits, step, numbers, self.threads)
            case ZeroFill(fresh):
                self._clear(buffer, fresh)
            case _:
                assert_never(step)

    def _clear(self, buffer: Amplitudes, fresh: int) -> None:
        """Write zeros where nothing was written; memory there may hold NaN, so it cannot be scaled."""
        blocks.clear(buffer, fresh, self.threads)

    def permute(self, buffer: Amplitudes, num_bits: int, sources: Sequence[int], flip: int = 0) -> None:
        """Move index bits, a tile at a time, in as many passes as needed, without a second copy of the state."""
        for tile, moves, turn in passes.passes(tuple(sources), flip):
            free = ((1 << num_bits) - 1) & ~mask_of(tile)
            bits, origin = np.array(tile, dtype=np.int64), np.array(moves, dtype=np.int64)
            blocks.permute_tiles(buffer, bits, origin, turn, free, self.threads)

    def gather(self, buffer: Amplitudes, indices: NDArray[np.int64]) -> NDArray[np.complexfloating]:
        """Return the amplitudes at chosen indices."""
        return buffer[np.asarray(indices, dtype=np.int64)]

    def marginal(self, buffer: Amplitudes, num_bits: int, bits: Sequence[int], when: When) -> NDArray[np.float64]:
        """Return the sums of |amplitude|² over all indices at which `when` holds, float64 [2^bits]."""
        return np.asarray(sums.marginals(buffer, num_bits, bits, when, self.threads)[0])

    def searched_bits(self, num_bits: int, shots: int) -> int:
        """Return the bits that balance both sums: the marginal of the higher bits, and those behind the prefixes."""
        above = min(num_bits, (num_bits + shots.bit_length() + 1) // 2)
        return num_bits - above

    def search(
        self,
        buffer: Amplitudes,
        bits: Sequence[int],
        bases: NDArray[np.int64],
        runs: NDArray[np.int64],
        targets: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Return the value of `bits` that each target falls on."""
        return sums.search(buffer, bits, bases, runs, targets, self.threads)

    def norms(self, buffer: Amplitudes, blocks: int) -> NDArray[np.float64]:
        """Return |amplitude|² summed over contiguous blocks: the marginal of the highest bits."""
        num_bits = buffer.size.bit_length() - 1
        top = blocks.bit_length() - 1
        return self.marginal(buffer, num_bits, range(num_bits - top, num_bits), ALWAYS)

    def inner(self, left: Amplitudes, right: Amplitudes) -> complex:
        """Return Σ conj(left)·right."""
        return sums.inner(left, right, self.threads)

    def pauli(self, buffer: Amplitudes, num_bits: int, x: int, zs: Sequence[int]) -> NDArray[np.complex128]:
        """Return for each mask z: Σ_i conj(a[i XOR x]) · (−1)^parity(i & z) · a[i]; 256 masks share a pass."""
        return np.asarray(sums.paulis(buffer, num_bits, [(x, zs)], self.threads)[0])

    def density(self, buffer: Amplitudes, num_bits: int, bits: Sequence[int]) -> NDArray[np.complex128]:
        """Return the reduced density matrix of some bits."""
        return columns.density(buffer, num_bits, bits, self.threads)

    def scale(
        self,
        buffer: Amplitudes,
        num_bits: int,  # noqa: ARG002  (the protocol's)
        when: When,
        inside: float,
        outside: float,
    ) -> None:
        """Multiply the amplitudes at which `when` holds by `inside` and all others by `outside`."""
        blocks.scale(buffer, when.mask, when.value, inside, outside, self.threads)

    def move(self, buffer: Amplitudes, num_bits: int, when: When, to: int) -> None:
        """Exchange the amplitudes at which bits under `when.mask` are `when.value` with those where they are `to`."""
        columns.move(buffer, num_bits, when, to, self.threads)

    def synchronize(self) -> None:
        """Return at once, since nothing is pending."""


def aligned(size: int) -> NDArray[np.uint8]:
    """Return so many bytes, the first of them on a cache line; large blocks are kept."""
    if size >= thresholds.now.large_bytes:
        return take(size)
    raw = np.empty(size + _ALIGNMENT, dtype=np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + size]


def _half(shape: tuple[int, ...], half: int) -> slice:
    """Return one half of the rows of a view, or of its numbers if it has one dimension; the first one is the larger."""
    middle = (shape[0] + 1) // 2
    return slice(middle, None) if half else slice(middle)
