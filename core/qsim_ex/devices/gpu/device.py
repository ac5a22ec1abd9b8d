"""A GPU: sweeps by generated or interpreted kernels, sums and moves by fixed ones. CuPy is imported when one is made.

Buffers are CuPy arrays of 2^n amplitudes, also a caller's own. Work is queued on the given stream, or on CuPy's current
one; several threads may use several devices, or one device on streams of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.circuit.ops import When
from qsim_ex.devices.base import Buffer, CopyQueue, KeepsKernels, LoadsNumbers
from qsim_ex.devices.drawing import Drawing, DrawsShots
from qsim_ex.devices.gpu import shared
from qsim_ex.devices.gpu.adjoint import GpuAdjoints
from qsim_ex.devices.gpu.batch import GpuBatches
from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.devices.gpu.streams import copies_of
from qsim_ex.devices.sharing import Handle, SharedBuffer, SharesMemory
from qsim_ex.display.log import LOGGER
from qsim_ex.kernels.cuda.cupy_runtime import CupyRuntime
from qsim_ex.kernels.cuda.fixed import drawing, fixed
from qsim_ex.kernels.cuda.fixed.permute import permute
from qsim_ex.kernels.cuda.interpret import interpreter
from qsim_ex.kernels.cuda.launch.loading import Loaded
from qsim_ex.kernels.cuda.runtime import Array, Runtime
from qsim_ex.kernels.cuda.sweeps import PreparedSweeps, Sweeps
from qsim_ex.later import later
from qsim_ex.planning.cost.rates import H200, Rates
from qsim_ex.precision import BY_DTYPE, PRECISIONS, Amplitudes, Precision
from qsim_ex.steps.coefficients import Bound
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.step import BasisPermutation, DenseMatrix, InitialAmplitudes, Step, Sweep, ZeroFill

if TYPE_CHECKING:
    from qsim_ex.kernels.cuda.fixed import wide
else:
    wide = later("qsim_ex.kernels.cuda.fixed.wide")


class GpuDevice(GpuBatches, GpuAdjoints, LoadsNumbers, KeepsKernels, DrawsShots, SharesMemory):
    """One NVIDIA GPU.

    device_id: the driver's number of the GPU.
    stream: a CuPy stream on which all work is queued; CuPy's current one at each call if None.
    allocator: a function from bytes to a `cupy.cuda.MemoryPointer`, for states and workspaces; CuPy's pool if None.

    Raises `MissingPackage` without CuPy, or without NVRTC once a kernel has to be compiled, and `DeviceError` if there
    is no such GPU.
    """

    kind: str = "gpu"
    in_host_memory = False
    interprets = True
    grows = True

    def __init__(
        self, device_id: int = 0, stream: object = None, allocator: Callable[[int], Any] | None = None
    ) -> None:
        runtime = CupyRuntime(device_id, stream, allocator)
        self._use(runtime)
        # Any first run on a machine needs these kernels; meanwhile circuits are read and planned.
        wanted = [(*interpreter.texts(precision), *fixed.first(precision)) for precision in PRECISIONS.values()]
        runtime.begin([text for texts in wanted for text in texts])

    @classmethod
    def on(cls, runtime: Runtime) -> GpuDevice:
        """Return a device over another runtime, such as one that emulates kernels."""
        device = cls.__new__(cls)
        device._use(runtime)
        return device

    def _use(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._begun_with: set[Precision] = set()
        self._sweeps = Sweeps(runtime)
        self._copies = copies_of(runtime)
        self.name = runtime.name
        self.description = runtime.description

    @property
    def stream(self) -> Any:
        """The CuPy stream on which work is queued now."""
        return self._runtime.queue() if isinstance(self._runtime, CupyRuntime) else None

    def shape(self, dtype: DTypeLike) -> Shape:
        """Return the limits of sweeps: the shared memory of a thread block and the registers of a thread."""
        return shape_of(BY_DTYPE[np.dtype(dtype)], self._runtime.tensor)

    def rates(self, dtype: DTypeLike, threads: int | None) -> Rates:  # noqa: ARG002  (the protocol's)
        """Return the rates of an H200; of another GPU all are lower, and two ways compare as they do there."""
        return H200

    def memory(self) -> tuple[int, int]:
        """Return free and total bytes; memory that CuPy's pool keeps for reuse counts as free."""
        return self._runtime.memory()

    def allocate(self, num_amplitudes: int, dtype: DTypeLike) -> Array:
        """Return a buffer whose contents are undefined; raises `OutOfMemory`."""
        return self._runtime.empty(num_amplitudes, dtype)

    def set_basis(self, buffer: Array, index: int) -> None:
        """Set all amplitudes to 0 except the one at `index`, which is 1."""
        fixed.set_basis(self._runtime, buffer, index)

    def begin(self, buffer: Array) -> None:
        """Set amplitude 0 to 1; the others are unchanged."""
        fixed.begin(self._runtime, buffer)

    def write(self, buffer: Array, start: int, values: Amplitudes) -> None:
        """Copy host amplitudes to ``buffer[start : start + len(values)]``."""
        if len(values):
            self._runtime.copy_in(buffer[start : start + len(values)], np.asarray(values, dtype=buffer.dtype))

    def read(self, buffer: Array, start: int, stop: int) -> Amplitudes:
        """Copy ``buffer[start:stop]`` to a new NumPy array of the buffer's dtype."""
        return self._runtime.download(buffer[start:stop])

    def copy(self, to: Array, source: Array) -> None:
        """Overwrite amplitudes with others of this device."""
        self._runtime.copy(to, source)

    def prepare(self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike, compile: str = "auto") -> PreparedSweeps:
        """Choose which sweeps get kernels of their own, and compile them at the same time.

        In the background all kernels are loaded that another first run may need: each takes about a millisecond.
        """
        precision = BY_DTYPE[np.dtype(dtype)]
        if precision not in self._begun_with and isinstance(self._runtime, CupyRuntime):
            self._runtime.later(partial(self._load_kernels, precision))
        self._begun_with.add(precision)
        return self._sweeps.prepare(steps, num_bits, precision, compile)

    def _load_kernels(self, precision: Precision) -> None:
        try:
            self._runtime.kernels([*interpreter.texts(precision), *fixed.first(precision, fixed.OF_FIRST_RUNS)])
        except Exception as error:  # noqa: BLE001 - the run that needs one of them raises it
            LOGGER.debug("the kernels of first runs could not be loaded beforehand: %s", error)

    def kept_kernels(self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike) -> int:
        """Return how many kernels a run of some steps would load from disk."""
        return self._sweeps.kept(steps, num_bits, BY_DTYPE[np.dtype(dtype)])

    def load(self, prepared: PreparedSweeps, numbers: Bound) -> Loaded:
        """Send all numbers of a run to the device in one transfer, and return them."""
        return prepared.load(self._runtime, numbers)

    def queue(self, buffer: Array, loaded: Iterable[object], begin: bool, at_once: int) -> Iterator[None] | None:
        """Queue all steps, if they are laid out so: see `kernels.cuda.launch.launches`."""
        return loaded.queue(buffer, begin, at_once) if isinstance(loaded, Loaded) else None

    def run(
        self,
        buffer: Array,
        num_bits: int,
        step: Step,
        numbers: Any,
        prepared: PreparedSweeps | None = None,
        high: int = 0,
    ) -> None:
        """Apply one step in place; `numbers` is its packed array, or the result of `load` for it."""
        match step:
            case Sweep():
                if prepared is None or not prepared.knows(step):
                    prepared = self.prepare((step,), num_bits, buffer.dtype)
                prepared.run(self._runtime, buffer, num_bits, step, numbers, high)
            case DenseMatrix() | BasisPermutation() | InitialAmplitudes():
                wide.run(self._runtime, buffer, num_bits, step, numbers, high)
            case ZeroFill(fresh):
                fixed.scale(self._runtime, buffer, When(fresh, 0), 1.0, 0.0)
            case _:
                assert_never(step)

    def permute(self, buffer: Array, num_bits: int, sources: Sequence[int], flip: int = 0) -> None:
        """Move index bits in place: new bit k is old bit ``sources[k]``, XOR bit k of `flip`."""
        permute(self._runtime, buffer, num_bits, sources, flip)

    def gather(self, buffer: Array, indices: NDArray[np.int64]) -> Amplitudes:
        """Return the amplitudes at chosen indices."""
        return fixed.take(self._runtime, buffer, indices)

    def marginal(self, buffer: Array, num_bits: int, bits: Sequence[int], when: When) -> NDArray[np.float64]:
        """Return the sums of |amplitude|² for each value of `bits`, over the indices at which `when` holds."""
        return fixed.marginal(self._runtime, buffer, num_bits, tuple(bits), when)

    def searched_bits(self, num_bits: int, shots: int) -> int:  # noqa: ARG002  (the protocol's)
        """Return as many bits as a thread block adds up at once."""
        return min(num_bits, fixed.SEARCHED_BITS)

    def search(
        self,
        buffer: Array,
        bits: Sequence[int],
        bases: NDArray[np.int64],
        runs: NDArray[np.int64],
        targets: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Return the value of `bits` that each target falls on."""
        return fixed.search(self._runtime, buffer, bits, bases, runs, targets)

    most_drawn = drawing.MOST_SHOTS

    def weigh(self, buffer: Array, bits: Sequence[int], flip: int) -> Drawing:
        """Queue the sums from which shots are drawn, and return what draws them."""
        runtime = self._runtime
        return partial(drawing.draw, runtime, buffer, bits, flip, drawing.weigh(runtime, buffer, bits, flip))

    def norms(self, buffer: Array, blocks: int) -> NDArray[np.float64]:
        """Return |amplitude|² summed over contiguous blocks."""
        return fixed.norms(self._runtime, buffer, blocks)

    def inner(self, left: Array, right: Array) -> complex:
        """Return Σ conj(left)·right."""
        return fixed.inner(self._runtime, left, right)

    def pauli(
        self,
        buffer: Array,
        num_bits: int,  # noqa: ARG002  (the protocol's; the buffer knows its size)
        x: int,
        zs: Sequence[int],
    ) -> NDArray[np.complex128]:
        """Return Σ_i conj(a[i XOR x])·(−1)^parity(i & z)·a[i] for each mask z."""
        return fixed.pauli(self._runtime, buffer, x, zs)

    def density(self, buffer: Array, num_bits: int, bits: Sequence[int]) -> NDArray[np.complex128]:
        """Return the reduced density matrix of some bits, not normalised."""
        return wide.density(self._runtime, buffer, num_bits, bits)

    def scale(
        self,
        buffer: Array,
        num_bits: int,  # noqa: ARG002  (the protocol's; the buffer knows its size)
        when: When,
        inside: float,
        outside: float,
    ) -> None:
        """Multiply by one factor where `when` holds, by another where it does not."""
        fixed.scale(self._runtime, buffer, when, inside, outside)

    def move(self, buffer: Array, num_bits: int, when: When, to: int) -> None:  # noqa: ARG002  (as in scale)
        """Exchange the amplitudes at which bits under `when.mask` have one value with those where they equal `to`."""
        fixed.move(self._runtime, buffer, when, to)

    def synchronize(self) -> None:
        """Wait until all queued work is done."""
        self._runtime.synchronize()

    def copy_queue(self) -> CopyQueue:
        """Return a new queue of copies, on a stream of its own."""
        return self._copies.copy_queue()

    def mark(self) -> object:
        """Return a mark behind all work that is queued so far."""
        return self._copies.mark()

    def wait(self, mark: object) -> None:
        """Let later work begin after a copy queue's mark."""
        self._copies.wait(mark)

    def reach(self, mark: object) -> None:
        """Wait on the host until all work before a mark is done."""
        self._copies.reach(mark)

    def host_memory(self, num_amplitudes: int, dtype: DTypeLike) -> tuple[Amplitudes, str]:
        """Return page-locked memory where it can be had, and its kind; raises `OutOfMemory`."""
        return self._copies.host_memory(num_amplitudes, dtype)

    def lock(self, memory: NDArray[np.generic]) -> str:
        """Lock host memory where the system allows it, and return its kind."""
        return self._copies.lock(memory)

    def allocate_shared(self, num_amplitudes: int, dtype: DTypeLike) -> SharedBuffer:
        """Return memory that other processes can map, by a file descriptor or a fabric handle; raises `OutOfMemory`."""
        return shared.allocate(self._runtime, num_amplitudes, dtype)

    def map_shared(self, handle: Handle, num_amplitudes: int, dtype: DTypeLike) -> Buffer:
        """Return the buffer of another process; raise `DeviceError` if this GPU cannot reach it."""
        return shared.mapped(self._runtime, handle, num_amplitudes, dtype)

    def swap_half(self, mine: Buffer, theirs: Buffer, half: int) -> None:
        """Queue a swap of one half of a view with that of another process."""
        fixed.trade_parts(self._runtime, mine, theirs, half)

    def pull(self, mine: Buffer, theirs: Buffer) -> None:
        """Queue a copy of a view of another process."""
        fixed.trade_parts(self._runtime, mine, theirs, None)
