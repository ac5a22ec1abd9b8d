"""Many states of one structure: rows of one buffer on a device that works on batches, or a single state anywhere.

All rows have one layout and one set of fresh bits, since they have one plan. What is asked of them is answered for
all rows at once; a row by itself is a placement like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS
from qsim_ex.devices.base import Batches, Buffer, Device
from qsim_ex.placement import layout as at
from qsim_ex.placement.base import CHUNK, Amplitudes, Placement, Tick
from qsim_ex.placement.single import Single
from qsim_ex.steps import Layout, Plan

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Parts = Sequence[tuple[int, Sequence[int]]]


class BatchDevice(Device, Batches):
    """A device that works on batches."""


class States(Protocol):
    """Some states of one structure.

    rows: how many. layout, fresh: of all of them, see `Placement`.
    """

    rows: int

    @property
    def layout(self) -> Layout:
        """The index bit of each wire."""

    @property
    def fresh(self) -> int:
        """Mask of index bits that are 0 all over (see `steps.Sweep`)."""

    def run(self, plan: Plan, work: Sequence[tuple[Any, Iterable[Any]]], tick: Tick) -> None:
        """Run a plan that starts in this layout; `work` holds what was prepared and the numbers of all rows."""

    def take(self, rows: Rows) -> Self:
        """New states, in memory of their own: row k is row ``rows[k]`` of these."""

    def row(self, row: int) -> Placement:
        """One row; it shares its memory with this."""

    def marginals(self, wires: Sequence[int]) -> Floats:
        """Σ |amplitude|² for each row and each value of `wires`, [rows, 2^wires], ``wires[0]`` least significant."""

    def paulis(self, parts: Parts) -> NDArray[np.complex128]:
        """<ψ| X-part · Z-part |ψ> of each row, for each z of each part (x, zs), masks of wires: [rows, all z]."""

    def read(self) -> Amplitudes:
        """All amplitudes in the order of the wires, [rows, 2^n]."""

    def release(self) -> None:
        """Let go of the memory; may be called again."""


class Batch:
    """States in one buffer of rows · 2^n amplitudes, state after state; |0…0> each when it is made."""

    def __init__(self, device: BatchDevice, num_wires: int, rows: int, dtype: np.dtype[Any]) -> None:
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

    @property
    def buffer(self) -> Buffer:
        """All amplitudes, [rows · 2^n]; zeros that growing states had not written yet are written now."""
        if self.fresh:
            from qsim_ex.steps import Clear

            nothing = np.zeros((1, 0), dtype=np.complex128)
            self.device.run_batch(self._buffer, self.num_wires, Clear(self.fresh), nothing)
            self.fresh = 0
        return self._buffer

    def run(self, plan: Plan, work: Sequence[tuple[Any, Iterable[Any]]], tick: Tick) -> None:
        """Run a plan on all rows; each step is one call."""
        ((prepared, numbers),) = work
        for step, packed in zip(plan.steps, numbers, strict=True):
            tick()
            self.device.run_batch(self._buffer, self.num_wires, step, packed, prepared)
        self.layout, self.fresh = plan.end, plan.left

    def take(self, rows: Rows) -> Batch:
        """Copies of rows."""
        made = Batch.__new__(Batch)
        made.device, made.num_wires, made.rows = self.device, self.num_wires, len(rows)
        made.layout, made.fresh = self.layout, self.fresh
        made._buffer = self.device.allocate(len(rows) << self.num_wires, self._buffer.dtype)
        self.device.take_rows(made._buffer, self._buffer, self.num_wires, rows)
        return made

    def row(self, row: int) -> Single:
        """One row, in place."""
        if self.fresh:
            _ = self.buffer
        return Single(self.device, self._row(row), self.layout)

    def _row(self, row: int) -> Buffer:
        return self._buffer[row << self.num_wires : row + 1 << self.num_wires]

    def marginals(self, wires: Sequence[int]) -> Floats:
        """Sums for each row."""
        bits = at.index_bits(self.layout, wires)
        sums = self.device.marginals(self.buffer, self.num_wires, bits, ALWAYS)
        flipped = at.flipped_values(self.layout, wires)
        return sums[:, np.arange(sums.shape[1]) ^ flipped] if flipped else sums

    def paulis(self, parts: Parts) -> NDArray[np.complex128]:
        """Sums for each row."""
        stored, signs = [], []
        for x, zs in parts:
            bits = [at.index_mask(self.layout, z) for z in zs]
            signs += [at.parity_sign(self.layout, mask) for mask in bits]
            stored.append((at.index_mask(self.layout, x), bits))
        return np.array(signs) * self.device.paulis(self.buffer, self.num_wires, stored)

    def search(self, rows: Rows, wires: int, prefixes: Rows, runs: Rows, targets: Floats) -> Rows:
        """For each target, the value of the lowest `wires` wires that it falls on, in a row and behind a prefix there.

        rows, prefixes: of each run of targets (see `Device.search`); a prefix is shifted to where it stands in a value.
        """
        bases = at.indices(self.layout, prefixes, range(self.num_wires)) | rows << self.num_wires
        return self.device.search(self.buffer, at.index_bits(self.layout, range(wires)), bases, runs, targets)

    def read(self) -> Amplitudes:
        """All amplitudes, a piece at a time."""
        size = 1 << self.num_wires
        if self.layout.is_identity():
            return self.device.read(self.buffer, 0, self.rows * size).reshape(self.rows, size)
        out = np.empty((self.rows, size), dtype=self._buffer.dtype)
        step = max(1, CHUNK >> self.num_wires)
        for first in range(0, size, CHUNK):
            last = min(first + CHUNK, size)
            places = at.indices(self.layout, np.arange(first, last, dtype=np.int64), range(self.num_wires))
            for row in range(0, self.rows, step):
                rows = np.arange(row, min(row + step, self.rows), dtype=np.int64)
                found = self.device.gather(self.buffer, (rows[:, None] << self.num_wires | places).reshape(-1))
                out[row : row + len(rows), first:last] = found.reshape(len(rows), last - first)
        return out

    def release(self) -> None:
        """Let go of the buffer."""
        self.__dict__.pop("_buffer", None)


class Alone:
    """One state, wherever it lies: divided states, and devices that know no batches."""

    rows = 1

    def __init__(self, placement: Placement) -> None:
        self.placement = placement

    @property
    def layout(self) -> Layout:
        """The state's."""
        return self.placement.layout

    @layout.setter
    def layout(self, layout: Layout) -> None:
        self.placement.layout = layout

    @property
    def fresh(self) -> int:
        """The state's."""
        return self.placement.fresh

    def run(self, plan: Plan, work: Sequence[tuple[Any, Iterable[Any]]], tick: Tick) -> None:
        """Run the plan."""
        self.placement.run(plan, work, tick)

    def take(self, rows: Rows) -> Alone:
        """A copy of the state; `rows` is [0]."""
        if len(rows) != 1:
            raise ValueError(f"{len(rows)} rows of a state that is alone")
        return Alone(self.placement.clone())

    def row(self, row: int) -> Placement:  # noqa: ARG002
        """The state."""
        return self.placement

    def marginals(self, wires: Sequence[int]) -> Floats:
        """Its sums."""
        return self.placement.marginal(wires)[None]

    def paulis(self, parts: Parts) -> NDArray[np.complex128]:
        """Its sums."""
        return np.concatenate([np.zeros(0, dtype=np.complex128), *self.placement.paulis(parts)])[None]

    def read(self) -> Amplitudes:
        """Its amplitudes."""
        self.placement.settle()
        n = self.placement.num_wires
        return self.placement.read(0, 1 << n, range(n))[None]

    def release(self) -> None:
        """Give its memory back."""
        self.placement.release()


Begin = Callable[[int], States]
"""Makes so many states |0…0>."""
