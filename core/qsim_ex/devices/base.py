"""The protocol of a device, through which placements and `StateVector` use it.

A *buffer* is a one-dimensional array of 2^n complex64 or complex128 amplitudes in the device's memory (NumPy on the
CPU, CuPy on a GPU), indexed by n **index bits**. All sums are accumulated in float64. Work is queued in the
order of the calls; only methods that return NumPy arrays or numbers, and `synchronize`, wait for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.circuit.ops import When
from qsim_ex.planning.cost.rates import Rates
from qsim_ex.steps.coefficients import Bound
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.step import Step

Buffer = Any
"""A NumPy or CuPy array, as the device allocates it."""

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all) between steps; may raise `Cancelled`."""


class Device(Protocol):
    """A processor with memory of its own."""

    kind: str
    in_host_memory: bool  # whether its buffers are in the host's memory, where NumPy reads them in place
    interprets: bool  # whether it interprets a sweep until a kernel of it has been compiled
    grows: bool  # whether its sweeps use fresh bits (see `steps.Sweep`)
    name: str  # "cpu", "gpu:0"
    description: str  # "AMD EPYC …, 16 threads", "NVIDIA H200"

    def shape(self, dtype: DTypeLike) -> Shape:
        """Return the limits of sweeps that `planning` plans for."""

    def rates(self, dtype: DTypeLike, threads: int | None) -> Rates:
        """Return how fast it is with so many threads, as nearly as two ways to run one circuit are compared by it."""

    def memory(self) -> tuple[int, int]:
        """Return free and total bytes."""

    def allocate(self, num_amplitudes: int, dtype: DTypeLike) -> Buffer:
        """Return a buffer whose contents are undefined; raises `OutOfMemory`."""

    def set_basis(self, buffer: Buffer, index: int) -> None:
        """Set all amplitudes to 0 except the one at `index`, which is 1."""

    def begin(self, buffer: Buffer) -> None:
        """Set amplitude 0 to 1; all others may hold anything, their bits being fresh."""

    def write(self, buffer: Buffer, start: int, values: NDArray[np.complexfloating]) -> None:
        """Copy host amplitudes to ``buffer[start : start + len(values)]``."""

    def read(self, buffer: Buffer, start: int, stop: int) -> NDArray[np.complexfloating]:
        """Copy ``buffer[start:stop]`` to a new NumPy array of the buffer's dtype."""

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Overwrite amplitudes of this device with others of it: arrays [k] of one dtype that do not overlap."""

    def prepare(self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike, compile: str = "auto") -> Any:
        """Get ready to run steps (compile kernels in parallel) and return the argument `prepared` of `run`.

        If its `settled` is true, it is valid for all later runs of these steps; if not, each run calls `prepare` again.
        """

    def run(
        self,
        buffer: Buffer,
        num_bits: int,
        step: Step,
        numbers: NDArray[np.complex128],
        prepared: Any = None,
        high: int = 0,
    ) -> None:
        """Apply one step in place.

        numbers: the step's packed array. high: the value of all index bits from `num_bits` up, for a buffer that
        is one sub state vector of a larger state; steps may read those bits, never mix them.
        """

    def permute(self, buffer: Buffer, num_bits: int, sources: Sequence[int], flip: int = 0) -> None:
        """Move index bits: new bit k is old bit ``sources[k]``, XOR bit k of `flip`; in place for the caller."""

    def gather(self, buffer: Buffer, indices: NDArray[np.int64]) -> NDArray[np.complexfloating]:
        """Return the amplitudes at chosen indices, as a NumPy array of the buffer's dtype."""

    def marginal(self, buffer: Buffer, num_bits: int, bits: Sequence[int], when: When) -> NDArray[np.float64]:
        """Return the sums of |amplitude|² over all indices at which `when` holds, for each value of `bits`.

        float64 [2^bits], ``bits[0]`` least significant; `bits` and `when.mask` are disjoint; at most 2^24 entries.
        """

    def searched_bits(self, num_bits: int, shots: int) -> int:
        """Return how many bits one `search` should cover, for `shots` shots of a state of `num_bits` index bits."""

    def search(
        self,
        buffer: Buffer,
        bits: Sequence[int],
        bases: NDArray[np.int64],
        runs: NDArray[np.int64],
        targets: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Return for each target the value v of `bits` with S(v − 1) ≤ target < S(v); int64 [targets].

        S(v) is the running sum of |amplitude|² over the indices ``base XOR (v on bits)``. Targets of one base are
        adjacent: those of ``bases[k]`` are ``targets[runs[k] : runs[k + 1]]``. A target beyond the last sum, by
        rounding, falls on the last value that has any weight.
        """

    def norms(self, buffer: Buffer, blocks: int) -> NDArray[np.float64]:
        """Return |amplitude|² summed over contiguous blocks, float64 [blocks].

        blocks: their number, a power of two that divides the buffer's size.
        """

    def inner(self, left: Buffer, right: Buffer) -> complex:
        """Return Σ conj(left)·right."""

    def pauli(self, buffer: Buffer, num_bits: int, x: int, zs: Sequence[int]) -> NDArray[np.complex128]:
        """Return for each mask z in `zs`: Σ_i conj(a[i XOR x]) · (−1)^parity(i & z) · a[i]; complex128 [len(zs)].

        All masks z of one x share one pass.
        """

    def density(self, buffer: Buffer, num_bits: int, bits: Sequence[int]) -> NDArray[np.complex128]:
        """Return the reduced density matrix of some bits, complex128 [2^k, 2^k], not normalised; k at most 12."""

    def scale(self, buffer: Buffer, num_bits: int, when: When, inside: float, outside: float) -> None:
        """Multiply the amplitudes at which `when` holds by `inside` and all others by `outside`."""

    def move(self, buffer: Buffer, num_bits: int, when: When, to: int) -> None:
        """Exchange the amplitudes at which `when` holds with those where the bits under its mask equal `to`.

        This is a collapse with reset.
        """

    def synchronize(self) -> None:
        """Wait until all queued work is done."""


class CopyQueue(Protocol):
    """An ordered queue of copies beside a device's work: one for each direction, so that all run at once."""

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Queue a copy between arrays of one shape, on this device, a peer or the host.

        Both are views of amplitudes, [k] contiguous or [rows, k] with contiguous rows.
        """

    def mark(self) -> object:
        """Return a mark behind all that is queued so far."""

    def wait(self, mark: object) -> None:
        """Let later copies begin after the mark, which may be another queue's or `Copies.mark`'s."""

    def synchronize(self) -> None:
        """Wait on the host until all queued copies are done."""


class Copies(ABC):
    """A device whose memory can be filled during its work, as placements of several levels need.

    at_once: whether everything is done when a call returns (the CPU), so that marks are None and waiting is free.
    """

    at_once = False

    @abstractmethod
    def copy_queue(self) -> CopyQueue:
        """Return a new queue of copies."""

    @abstractmethod
    def mark(self) -> object:
        """Return a mark behind all work that is queued on the device so far."""

    @abstractmethod
    def wait(self, mark: object) -> None:
        """Let later work on the device begin after a copy queue's mark."""

    @abstractmethod
    def reach(self, mark: object) -> None:
        """Wait on the host until all work before a mark is done, the device's own or a copy queue's."""

    @abstractmethod
    def host_memory(self, num_amplitudes: int, dtype: DTypeLike) -> tuple[NDArray[np.complexfloating], str]:
        """Return host memory that this device copies from and to, and its kind: 'pinned', 'pageable' or 'plain'.

        'plain' if the device reads any host memory. Raises `OutOfMemory`.
        """

    def lock(self, memory: NDArray[np.generic]) -> str:  # noqa: ARG002
        """Get host memory that others share ready for copies, as long as it lasts; return its kind as `host_memory`."""
        return "plain"


class KeepsKernels(ABC):
    """Can keep kernels on disk, where first runs find them."""

    @abstractmethod
    def kept_kernels(self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike) -> int:
        """Return how many kernels a run of some steps would load from disk."""


class LoadsNumbers(ABC):
    """A device that takes all numbers of a run at once, since each transfer costs as much as a small sweep."""

    @abstractmethod
    def load(self, prepared: Any, numbers: Bound) -> Iterable[Any]:
        """Return what `Device.run` takes as `numbers`, for each step. `prepared` is for the steps of these numbers.

        numbers: of one state, ``numbers.given`` being complex128 [total]; for a batch see `Batches.load_batch`.
        """

    @abstractmethod
    def queue(self, buffer: Buffer, loaded: Iterable[object], begin: bool, at_once: int) -> Iterator[None] | None:
        """Queue all steps on a state in one piece, without Python between them; return None if this device cannot.

        The iterator yields when so many launches are queued, for which it then waits, and at the end.
        loaded: the result of `load`. begin: set amplitude 0 to 1 first, see `Device.begin`.
        """


class Batches(ABC):
    """A device that runs batches of many states of one structure.

    A *batch* is a buffer of rows · 2^num_bits amplitudes; row e, one state, begins at amplitude e · 2^num_bits.
    There may be any number of rows, also more than 65,535. Each method does for every row what the method of that name
    in `Device` does for a buffer; `Device.gather` and `Device.search` work for batches too, with the row as the high
    part of an index.
    """

    def batch_shape(self, dtype: DTypeLike) -> Shape:
        """Return the limits of sweeps over batches."""
        return self.shape(dtype)

    @abstractmethod
    def shape(self, dtype: DTypeLike) -> Shape:
        """Return the limits of sweeps, as `Device.shape`."""

    def prepare_batch(self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike, compile: str = "auto") -> Any:
        """Get ready to run steps on rows of 2^num_bits amplitudes; return the argument `prepared` of `load_batch`.

        The result of `Device.prepare` works as well, but a device may have other kernels for batches.
        """
        return self.prepare(steps, num_bits, dtype, compile)

    @abstractmethod
    def prepare(self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike, compile: str = "auto") -> Any:
        """Get ready to run steps, as `Device.prepare`."""

    @abstractmethod
    def run(self, buffer: Buffer, num_bits: int, step: Step, numbers: Any, prepared: Any = None, high: int = 0) -> None:
        """Apply one step to one state in place, as `Device.run`."""

    @abstractmethod
    def load_batch(self, prepared: Any, numbers: Bound) -> Iterable[Any]:
        """Return what `run_batch` takes as `numbers`, for each step.

        numbers: of all rows, ``numbers.given`` being complex128 [rows, total] or, the same for all rows, [1, total].
        """

    @abstractmethod
    def run_batch(self, buffer: Buffer, num_bits: int, step: Step, numbers: Any, prepared: Any = None) -> None:
        """Apply one step to every row in place.

        numbers: complex128 [rows, count] or [1, count], row e having the packed array of state e; or of `load_batch`.
        """

    @abstractmethod
    def begin_batch(self, buffer: Buffer, num_bits: int) -> None:
        """Set amplitude 0 of every row to 1; all others may hold anything, their bits being fresh."""

    @abstractmethod
    def take_rows(self, to: Buffer, source: Buffer, num_bits: int, rows: NDArray[np.int64]) -> None:
        """Copy row ``rows[k]`` of `source`, which is another buffer of this device, to row k of `to`."""

    @abstractmethod
    def marginals(self, buffer: Buffer, num_bits: int, bits: Sequence[int], when: When) -> NDArray[np.float64]:
        """Return for each row the sums of |amplitude|² at which `when` holds, for each value of `bits`: [rows, 2^bits].

        Without bits and without a condition these are the squared norms, [rows, 1].
        """

    @abstractmethod
    def paulis(
        self, buffer: Buffer, num_bits: int, parts: Sequence[tuple[int, Sequence[int]]]
    ) -> NDArray[np.complex128]:
        """Return for each row, (x, zs) of `parts` and z of zs: Σ_i conj(a[i XOR x]) · (−1)^parity(i & z) · a[i].

        complex128 [rows, all z of all parts in their order]; all masks z of one x share one pass.
        """
