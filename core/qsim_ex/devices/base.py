"""What a device can do. Placements and `StateVector` know devices through this protocol alone.

A *buffer* is a one-dimensional array of 2^n complex64 or complex128 amplitudes in the device's memory (NumPy on the
CPU, CuPy on a GPU), indexed by n **index bits**. All sums are accumulated in float64. Work is queued in the
order of the calls; only what returns NumPy arrays or numbers, and `synchronize`, waits for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.circuit.ops import When
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.numbers import Bound
from qsim_ex.steps.step import Step

Buffer = Any
"""A NumPy or CuPy array; which one is the device's business."""

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all) between steps; may raise `Cancelled`."""


class Device(Protocol):
    """A processor with memory of its own."""

    kind: Literal["cpu", "gpu"]
    grows: bool  # whether its sweeps know of fresh bits (see `steps.Sweep`)
    name: str  # "cpu", "gpu:0"
    description: str  # "AMD EPYC …, 16 threads", "NVIDIA H200"

    def shape(self, dtype: DTypeLike) -> Shape:
        """What `planning` should plan for."""

    def memory(self) -> tuple[int, int]:
        """Free and total bytes."""

    def allocate(self, num_amplitudes: int, dtype: DTypeLike) -> Buffer:
        """A buffer whose contents are undefined; raises `OutOfMemory`."""

    def set_basis(self, buffer: Buffer, index: int) -> None:
        """All amplitudes 0 but the one at `index`, which is 1."""

    def begin(self, buffer: Buffer) -> None:
        """Amplitude 0 becomes 1; all others may hold anything, their bits being fresh."""

    def write(self, buffer: Buffer, start: int, values: NDArray[np.complexfloating]) -> None:
        """Copy host amplitudes to ``buffer[start : start + len(values)]``."""

    def read(self, buffer: Buffer, start: int, stop: int) -> NDArray[np.complexfloating]:
        """Copy ``buffer[start:stop]`` to a new NumPy array of the buffer's dtype."""

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Overwrite amplitudes of this device by others of it: arrays [k] of one dtype that do not overlap."""

    def prepare(self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike, compile: str = "auto") -> Any:
        """Get ready to run steps (compile kernels in parallel) and return what `run` wants as `prepared`.

        If that has a true `settled`, it is good for every later run of these steps; if not, later runs ask again.
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
        """Move index bits: new bit k is old bit ``sources[k]``, XOR bit k of `flip`; in place as seen from outside."""

    def gather(self, buffer: Buffer, indices: NDArray[np.int64]) -> NDArray[np.complexfloating]:
        """Amplitudes at chosen indices, as a NumPy array of the buffer's dtype."""

    def marginal(self, buffer: Buffer, num_bits: int, bits: Sequence[int], when: When) -> NDArray[np.float64]:
        """Sums of |amplitude|² over all indices at which `when` holds, for each value of `bits`.

        float64 [2^bits], ``bits[0]`` least significant; `bits` and `when.mask` are disjoint; at most 2^24 entries.
        """

    def searched_bits(self, num_bits: int, shots: int) -> int:
        """How many bits one `search` should go through, for so many shots of a state of `num_bits` index bits."""

    def search(
        self,
        buffer: Buffer,
        bits: Sequence[int],
        bases: NDArray[np.int64],
        runs: NDArray[np.int64],
        targets: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """For each target the value v of `bits` with S(v − 1) ≤ target < S(v); int64 [targets].

        S(v) is the running sum of |amplitude|² over the indices ``base XOR (v on bits)``. Targets of one base stand
        together: those of ``bases[k]`` are ``targets[runs[k] : runs[k + 1]]``. A target beyond the last sum, by
        rounding, falls on the last value that has any weight.
        """

    def norms(self, buffer: Buffer, blocks: int) -> NDArray[np.float64]:
        """|amplitude|² of contiguous blocks summed: float64 [blocks], blocks a power of two that divides the size."""

    def inner(self, left: Buffer, right: Buffer) -> complex:
        """Σ conj(left)·right."""

    def pauli(self, buffer: Buffer, num_bits: int, x: int, zs: Sequence[int]) -> NDArray[np.complex128]:
        """For each mask z in `zs`: Σ_i conj(a[i XOR x]) · (−1)^parity(i & z) · a[i]; complex128 [len(zs)].

        Masks z that share x share one pass.
        """

    def density(self, buffer: Buffer, num_bits: int, bits: Sequence[int]) -> NDArray[np.complex128]:
        """The reduced density matrix of some bits, complex128 [2^k, 2^k], not normalised; k at most 12."""

    def scale(self, buffer: Buffer, num_bits: int, when: When, inside: float, outside: float) -> None:
        """Multiply the amplitudes at which `when` holds by `inside` and all others by `outside`."""

    def move(self, buffer: Buffer, num_bits: int, when: When, to: int) -> None:
        """Exchange the amplitudes at which `when` holds with those where the bits under its mask equal `to`.

        This is a collapse with reset.
        """

    def synchronize(self) -> None:
        """Wait until all queued work is done."""


class CopyQueue(Protocol):
    """An ordered queue of copies beside a device's work: one for each direction, so that all run at once.

    On a device that finishes every call before it returns (the CPU), marks are None and waiting is free.
    """

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Queue a copy between arrays of one shape, on this device, a peer or the host.

        Both are views of amplitudes, [k] contiguous or [rows, k] with contiguous rows.
        """

    def mark(self) -> Any:
        """A mark behind all that is queued so far."""

    def wait(self, mark: Any) -> None:
        """What is queued from now on begins after the mark, which may be another channel's or `Copies.mark`'s."""

    def synchronize(self) -> None:
        """Wait on the host until all that is queued is done."""


class Copies(ABC):
    """A device whose memory is filled from elsewhere while it works: what placements of several levels need."""

    @abstractmethod
    def channel(self) -> CopyQueue:
        """A new queue of copies."""

    @abstractmethod
    def mark(self) -> Any:
        """A mark behind all work that is queued on the device so far."""

    @abstractmethod
    def wait(self, mark: Any) -> None:
        """Work that is queued on the device from now on begins after a channel's mark."""

    @abstractmethod
    def reach(self, mark: Any) -> None:
        """Wait on the host until all before a mark is done, the device's own or a channel's."""

    @abstractmethod
    def host_memory(self, num_amplitudes: int, dtype: DTypeLike) -> tuple[NDArray[np.complexfloating[Any, Any]], str]:
        """Host memory that this device copies from and to, and its kind: 'pinned', 'pageable' or 'plain'.

        'plain' where the device reads any host memory. Raises `OutOfMemory`.
        """


class LoadsNumbers(ABC):
    """A device to which all numbers of a run go at once, since each transfer costs as much as a small sweep.

    Devices whose numbers stay where they are do without it.
    """

    @abstractmethod
    def load(self, prepared: Any, numbers: Bound) -> Iterable[Any]:
        """What `Device.run` then takes as `numbers`, for each step. `prepared` is for the steps of these numbers.

        numbers: of one state, ``numbers.given`` being complex128 [total]; those of a batch go by `Batches.load_batch`.
        """

    @abstractmethod
    def queue(self, buffer: Buffer, loaded: Iterable[Any], begin: bool) -> bool:
        """Queue all steps on a state in one piece at once, if this device can; if not, nothing happens.

        loaded: what `load` has made. begin: amplitude 0 becomes 1 first, see `Device.begin`.
        """


class Batches(ABC):
    """A device that works on many states of one structure at once.

    A *batch* is a buffer of rows · 2^num_bits amplitudes; row e, one state, begins at amplitude e · 2^num_bits.
    There may be any number of rows, also more than 65,535. Each method does for every row what its namesake in
    `Device` does for a buffer; `Device.gather` and `Device.search` serve batches as they are, with the row as the high
    part of an index.
    """

    def batch_shape(self, dtype: DTypeLike) -> Shape:
        """The limits of sweeps over batches."""
        return self.shape(dtype)

    @abstractmethod
    def shape(self, dtype: DTypeLike) -> Shape:
        """As `Device.shape`."""

    def prepare_batch(self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike, compile: str = "auto") -> Any:
        """Get ready to run steps on rows of 2^num_bits amplitudes; returns what `load_batch` wants as `prepared`.

        What `Device.prepare` returns will do as well, but a device may have other kernels for batches.
        """
        return self.prepare(steps, num_bits, dtype, compile)

    @abstractmethod
    def prepare(self, steps: Sequence[Step], num_bits: int, dtype: DTypeLike, compile: str = "auto") -> Any:
        """As `Device.prepare`."""

    @abstractmethod
    def load_batch(self, prepared: Any, numbers: Bound) -> Iterable[Any]:
        """What `run_batch` then takes as `numbers`, for each step.

        numbers: of all rows, ``numbers.given`` being complex128 [rows, total] or, alike for all rows, [1, total].
        """

    @abstractmethod
    def run_batch(self, buffer: Buffer, num_bits: int, step: Step, numbers: Any, prepared: Any = None) -> None:
        """Apply one step to every row in place.

        numbers: complex128 [rows, count] or [1, count], row e having the packed array of state e, or what `load_batch`
        has made of that.
        """

    @abstractmethod
    def begin_batch(self, buffer: Buffer, num_bits: int) -> None:
        """Amplitude 0 of every row becomes 1; all others may hold anything, their bits being fresh."""

    @abstractmethod
    def take_rows(self, to: Buffer, source: Buffer, num_bits: int, rows: NDArray[np.int64]) -> None:
        """Row k of `to` becomes row ``rows[k]`` of `source`, which is another buffer of this device."""

    @abstractmethod
    def marginals(self, buffer: Buffer, num_bits: int, bits: Sequence[int], when: When) -> NDArray[np.float64]:
        """For each row the sums of |amplitude|² at which `when` holds, for each value of `bits`: [rows, 2^bits].

        Without bits and without a condition these are the squared norms, [rows, 1].
        """

    @abstractmethod
    def paulis(
        self, buffer: Buffer, num_bits: int, parts: Sequence[tuple[int, Sequence[int]]]
    ) -> NDArray[np.complex128]:
        """For each row, each (x, zs) of `parts` and each z of zs: Σ_i conj(a[i XOR x]) · (−1)^parity(i & z) · a[i].

        complex128 [rows, all z of all parts in their order]; masks z that share x share one pass.
        """
