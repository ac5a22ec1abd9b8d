"""Many states of one structure: rows of one buffer on a device that works on batches, or one state in any placement.

All rows have one layout and one set of fresh bits, since they have one plan. Questions are answered for all rows at
once; a single row is an ordinary placement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.devices.base import Batches, Buffer, Device
from qsim_ex.placement import executor
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import Floats, Parts, Rows, States, Tick
from qsim_ex.placement.single import Single
from qsim_ex.precision import AmplitudeDtype, Amplitudes
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan
from qsim_ex.steps.step import ZeroFill

GPU_BYTES = 1 << 32
"""The bytes of states and numbers that a GPU works on at a time; more costs nothing but memory."""


def rows_at_once(device: Device, state: int, numbers: int, times: int = 1) -> int:
    """Return how many rows should be worked on at a time.

    state, numbers: the bytes of each row. times: a factor of the rows where they lie in caches.
    """
    if device.in_host_memory:
        wanted = max(2 * getattr(device, "threads", 1), times * thresholds.now.batch_bytes // max(state, numbers))
    else:
        wanted = GPU_BYTES // state
    return max(1, min(wanted, thresholds.now.number_bytes // max(1, numbers), thresholds.now.batch_rows))


class BatchDevice(Device, Batches):
    """A device that works on batches."""


class Batch:
    """States in one buffer of rows · 2^n amplitudes, state after state; each begins as |0…0>."""

    def __init__(self, device: BatchDevice, num_wires: int, rows: int, dtype: AmplitudeDtype) -> None:
        self.device = device
        self.num_wires = num_wires
        self.rows = rows
        self.layout = Layout.identity(num_wires)
        self.fresh = (1 << num_wires) - 1 if device.grows else 0
        self._buffer = device.allocate(rows << num_wires, dtype)
        if device.grows:
            device.begin_batch(self._buffer, num_wires)
        else:
            for row in range(rows):
                device.set_basis(self._row(row), 0)

    @classmethod
    def over(cls, device: BatchDevice, buffer: Buffer, layout: Layout, fresh: int = 0) -> Batch:
        """Return the states that a buffer holds already."""
        made = cls.__new__(cls)
        made.device, made.layout, made.fresh = device, layout, fresh
        made.num_wires = len(layout)
        made.rows = buffer.size >> made.num_wires
        made._buffer = buffer
        return made

    @property
    def buffer(self) -> Buffer:
        """All amplitudes, [rows · 2^n]; zeros that growing states had not written yet are written now."""
        if self.fresh:
            nothing = np.zeros((1, 0), dtype=np.complex128)
            self.device.run_batch(self._buffer, self.num_wires, ZeroFill(self.fresh), nothing)
            self.fresh = 0
        return self._buffer

    def run(self, plan: Plan, work: Sequence[tuple[Any, Iterable[object]]], tick: Tick) -> None:
        """Run a plan on all rows; each step is one call."""
        ((prepared, numbers),) = work
        target = executor.ManyStates(self.device, self._buffer, self.num_wires, prepared, numbers)
        executor.execute(plan.steps, (target,), tick)
        self.layout, self.fresh = plan.end, plan.left

    single = None
    bytes_moved = 0

    def passes(self, plan: Plan) -> Iterable[tuple[int, int]]:
        """Return the number of steps of each stage; each is one call for all rows."""
        return ((1, len(stage.steps)) for stage in plan.stages)

    def report(self) -> dict[str, object]:
        """Return an empty report."""
        return {}

    def norm_check(self, num_gates: int, told: Callable[[], str] = str) -> None:
        """Return None: amplitudes are not moved between memories."""

    def read_in_order(self) -> Amplitudes:
        """Return all amplitudes after moving the states to the order of the wires."""
        self.arrange(Layout.identity(self.num_wires))
        return self.read()

    def take(self, rows: Rows) -> Batch:
        """Return copies of rows."""
        buffer = self.device.allocate(len(rows) << self.num_wires, self._buffer.dtype)
        self.device.take_rows(buffer, self._buffer, self.num_wires, rows)
        return Batch.over(self.device, buffer, self.layout, self.fresh)

    @classmethod
    def joined(cls, parts: Sequence[Batch]) -> Batch:
        """Return copies of all rows of some states of one device, part after part, in the layout of the first."""
        first, n = parts[0], parts[0].num_wires
        fresh = first.fresh if all(one.fresh == first.fresh and one.layout == first.layout for one in parts) else 0
        buffer = first.device.allocate(sum(one.rows for one in parts) << n, first._buffer.dtype)
        at = 0
        for one in parts:
            if one.layout != first.layout:
                one.arrange(first.layout)
            source = one._buffer if fresh else one.buffer
            to = buffer[at << n : at + one.rows << n]
            first.device.take_rows(to, source, n, np.arange(one.rows, dtype=np.int64))
            at += one.rows
        return cls.over(first.device, buffer, first.layout, fresh)

    def parts(self, rows: int) -> Iterator[tuple[int, Batch]]:
        """Yield all states in place, at most `rows` at a time: the first row of each part, and the part.

        A part has the current layout and fresh bits. A plan that runs on one part must run on all parts; the caller
        then sets `layout` and `fresh` here.
        """
        for first in range(0, self.rows, rows):
            last = min(first + rows, self.rows)
            part = self._buffer[first << self.num_wires : last << self.num_wires]
            yield first, Batch.over(self.device, part, self.layout, self.fresh)

    def row(self, row: int) -> Single:
        """Return one row, in place."""
        if self.fresh:
            _ = self.buffer
        return Single(self.device, self._row(row), self.layout)

    def _row(self, row: int) -> Buffer:
        return self._buffer[row << self.num_wires : row + 1 << self.num_wires]

    def arrange(self, layout: Layout) -> None:
        """Move amplitudes to another layout, alike in every row.

        2^k rows are a state with k more index bits, so all rows are moved in as many calls as their number has ones.
        """
        sources, flip = at.moves(self.layout, layout)
        n, buffer, first = self.num_wires, self.buffer, 0
        for k in reversed(range(self.rows.bit_length())):
            if (flip or sources != tuple(range(n))) and self.rows >> k & 1:
                last = first + (1 << k)
                self.device.permute(buffer[first << n : last << n], n + k, (*sources, *range(n, n + k)), flip)
                first = last
        self.layout = layout

    def forget(self) -> None:
        """Prepare for overwriting all amplitudes: they may be anything, and the layout becomes the wires' order."""
        self.layout, self.fresh = Layout.identity(self.num_wires), 0

    def write(self, start: int, values: Amplitudes) -> None:
        """Overwrite amplitudes from basis value `start` on, [rows, k]; requires the layout of the wires' order."""
        n = self.num_wires
        if values.shape[1] < 1 << n:
            for row in range(self.rows):
                self.device.write(self.buffer, (row << n) + start, values[row])
            return
        step = max(1, thresholds.now.copied_at_once >> n)
        for row in range(0, self.rows, step):
            piece = np.ascontiguousarray(values[row : row + step], dtype=self._buffer.dtype)
            self.device.write(self.buffer, row << n, piece.reshape(-1))

    def overwrite(self, amplitudes: Amplitudes) -> None:
        """Overwrite all amplitudes, [rows, 2^n] or, if they are equal in all rows, [1, 2^n], in the wires' order."""
        if len(amplitudes) == 1:
            self.fill(amplitudes[0])
        else:
            self.forget()
            self.write(0, amplitudes)

    def fill(self, values: Amplitudes | int) -> None:
        """Set every row to the same state: 2^n amplitudes, or a basis value; in the order of the wires."""
        self.forget()
        one = self.device.allocate(1 << self.num_wires, self._buffer.dtype)
        if isinstance(values, int):
            self.device.set_basis(one, values)
        else:
            self.device.write(one, 0, values.astype(self._buffer.dtype, copy=False))
        self.device.take_rows(self._buffer, one, self.num_wires, np.zeros(self.rows, dtype=np.int64))

    def marginals(self, wires: Sequence[int], when: When = ALWAYS) -> Floats:
        """Return the marginal of each row, over the basis values at which `when` (on wires) holds."""
        if len(wires) > thresholds.now.marginal_wires:
            low, high = wires[: thresholds.now.marginal_wires], wires[thresholds.now.marginal_wires :]
            parts = [self.marginals(low, at.held(when, high, value)) for value in range(1 << len(high))]
            return np.concatenate(parts, axis=1)
        bits = at.index_bits(self.layout, wires)
        sums = self.device.marginals(self.buffer, self.num_wires, bits, at.stored_when(self.layout, when))
        flipped = at.flipped_values(self.layout, wires)
        return sums[:, np.arange(sums.shape[1]) ^ flipped] if flipped else sums

    def paulis(self, parts: Parts) -> NDArray[np.complex128]:
        """Return <ψ| X-part · Z-part |ψ> of each row; see `States.paulis`."""
        bits, signs, _ = at.strings(self.layout, tuple([(x, tuple(zs)) for x, zs in parts]))
        return signs * self.device.paulis(self.buffer, self.num_wires, bits)

    def search(self, rows: Rows, wires: int, prefixes: Rows, runs: Rows, targets: Floats) -> Rows:
        """Return for each target the value of the lowest `wires` wires that it falls on, in a row behind a prefix.

        rows, prefixes: of each run of targets (see `Device.search`); a prefix is shifted to its bits in a basis value.
        """
        bases = at.indices(self.layout, prefixes, range(self.num_wires)) | rows << self.num_wires
        return self.device.search(self.buffer, at.index_bits(self.layout, range(wires)), bases, runs, targets)

    def gather(self, values: Rows, wires: Sequence[int]) -> Amplitudes:
        """Return amplitudes of basis values, [rows, values], in pieces; bit k of a value is wire ``wires[k]``."""
        places = at.indices(self.layout, values, wires)
        out = np.empty((self.rows, len(values)), dtype=self._buffer.dtype)
        step = max(1, thresholds.now.amplitudes_at_once // max(1, len(values)))
        for first in range(0, self.rows, step):
            rows = np.arange(first, min(first + step, self.rows), dtype=np.int64)
            found = self.device.gather(self.buffer, (rows[:, None] << self.num_wires | places).reshape(-1))
            out[first : first + len(rows)] = found.reshape(len(rows), len(values))
        return out

    def read(self, start: int = 0, stop: int | None = None, wires: Sequence[int] | None = None) -> Amplitudes:
        """Return the amplitudes of basis values from `start` up to `stop`, read in pieces: [rows, stop − start]."""
        size, wires = 1 << self.num_wires, range(self.num_wires) if wires is None else wires
        stop = size if stop is None else stop
        in_order = self.layout.flip == 0 and at.index_bits(self.layout, wires) == tuple(range(self.num_wires))
        if in_order and stop - start == size:
            return self.device.read(self.buffer, 0, self.rows * size).reshape(self.rows, size)
        out = np.empty((self.rows, stop - start), dtype=self._buffer.dtype)
        for first in range(start, stop, thresholds.now.amplitudes_at_once):
            values = np.arange(first, min(first + thresholds.now.amplitudes_at_once, stop), dtype=np.int64)
            out[:, first - start : first - start + len(values)] = self.gather(values, wires)
        return out

    def release(self) -> None:
        """Release the buffer."""
        self.__dict__.pop("_buffer", None)


Begin = Callable[[int], States]
"""Makes a number of states |0…0>."""
