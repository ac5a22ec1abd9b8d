"""A placement with all amplitudes in one buffer of one device.

Questions are in wires and are passed to the device in index bits. Each follows the layout without moving amplitudes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.devices.base import Batches, Buffer, Device, LoadsNumbers
from qsim_ex.errors import StateError
from qsim_ex.later import later
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import Pieces, Placement, Tick
from qsim_ex.placement.deployment import Deployment, Limits, StateRequest, single
from qsim_ex.placement.executor import OneState, clear, execute
from qsim_ex.placement.overlap import overlap
from qsim_ex.precision import STORAGE, AmplitudeDtype, Amplitudes
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.placement.divided import near
else:
    near = later("qsim_ex.placement.divided.near")


def lay_out(request: StateRequest) -> Iterator[Deployment]:
    """Yield one buffer on one device."""
    yield single(request.num_wires, STORAGE[request.options.dtype], request.devices[0], "")


def create(deployment: Deployment, devices: Sequence[Device], dtype: AmplitudeDtype, limits: Limits) -> Single:  # noqa: ARG001  (the choice has looked)
    """Return |0…0> in one buffer; where states grow, nothing is written yet."""
    (device,), n = devices, deployment.num_wires
    buffer = device.allocate(1 << n, dtype)
    if device.grows:
        return Single(device, buffer, Layout.identity(n), (1 << n) - 1, begun=False)
    device.set_basis(buffer, 0)
    return Single(device, buffer, Layout.identity(n))


class Single:
    """A state vector of `num_wires` wires in one buffer of 2^num_wires amplitudes.

    layout: the current index bit of each wire; `run` and `arrange` change it.
    fresh: mask of the index bits that are 0 in the whole state and whose zeros memory does not hold yet (see
    `steps.Sweep`).
    begun: whether memory holds amplitude 0 of a new state; if not, it is written before the first question.
    """

    kind = "single"
    planning_levels = None
    shared_by = None
    bytes_moved = 0

    def __init__(self, device: Device, buffer: Buffer, layout: Layout, fresh: int = 0, *, begun: bool = True) -> None:
        self.device, self.devices = device, (device,)
        self._buffer = buffer
        self.dtype: AmplitudeDtype = buffer.dtype
        self.layout = layout
        self.fresh = fresh
        self.num_wires = self.home_bits = self.slice_bits = len(layout.address)
        self._begun = begun

    @property
    def levels(self) -> Levels:
        """The levels: all index bits are local."""
        return Levels(self.num_wires)

    @property
    def buffer(self) -> Buffer:
        """All amplitudes; zeros that a growing state had not written yet are written now."""
        self.write_zeros()
        return self._buffer

    def release(self) -> None:
        """Release the memory; may be called again."""
        self.__dict__.pop("_buffer", None)

    def forget(self) -> None:
        """Prepare for overwriting all amplitudes: they may be anything, and the layout becomes the wires' order."""
        self.layout, self.fresh, self._begun = Layout.identity(self.num_wires), 0, True

    # --- description ---------------------------------------------------------------------------------------------

    @property
    def array(self) -> Buffer:
        """All amplitudes, in the order of their indices."""
        return self.buffer[: 1 << self.num_wires]

    def passes(self, plan: Plan) -> Iterable[tuple[int, int]]:
        """Return the number of steps of each stage."""
        return ((1, len(stage.steps)) for stage in plan.stages)

    def report(self) -> dict[str, object]:
        """Return an empty report."""
        return {}

    def norm_check(self, num_gates: int, told: Callable[[], str] = str) -> None:
        """Return None: amplitudes are not moved between memories."""

    def deployed(self, before: Deployment) -> Deployment:
        """Return a deployment in one piece, as before."""
        return single(self.num_wires, STORAGE[self.dtype], before.devices[0], before.reason)

    # --- work ----------------------------------------------------------------------------------------------------

    def run(self, plan: Plan, work: Sequence[tuple[Any, Iterable[object]]], tick: Tick) -> None:
        """Run a plan that starts in this layout with these fresh bits; `tick` is called before each step.

        work: one pair of the prepared steps and the numbers of all steps.
        """
        ((prepared, numbers),) = work
        if not self._run_at_once(plan, numbers, tick):
            self._begin()
            execute(plan.steps, (OneState(self.device, self._buffer, self.num_wires, prepared, numbers),), tick)
        self.layout, self.fresh = plan.end, plan.left

    def _run_at_once(self, plan: Plan, numbers: Iterable[object], tick: Tick) -> bool:
        """Have the device queue all steps without Python between them, if it can; return whether."""
        if not isinstance(self.device, LoadsNumbers):
            return False
        at_once = max(1, thresholds.now.queued_work // (2 * self._buffer.nbytes))
        queued = self.device.queue(self._buffer, numbers, not self._begun, at_once)
        if queued is None:
            return False
        self._begun = True
        steps = iter(plan.steps)
        for _ in queued:
            for _ in islice(steps, at_once):
                tick()
        for _ in steps:
            tick()
        return True

    def _begin(self) -> None:
        """Write amplitude 0 of a new state."""
        if not self._begun:
            self.device.begin(self._buffer)
            self._begun = True

    def write_zeros(self, bits: int = -1) -> None:
        """Write the zeros of all fresh index bits, if any of `bits` is fresh."""
        self._begin()
        if self.fresh & bits:
            clear(self.device, self._buffer, self.num_wires, self.fresh)
            self.fresh = 0

    def mark_zero(self, bits: int) -> None:
        """Mark index bits as fresh: all amplitudes at which one of them is 1 are zero."""
        self.fresh |= bits

    def arrange(self, layout: Layout) -> None:
        """Move amplitudes to another layout."""
        if layout != self.layout:
            self.device.permute(self.buffer, self.num_wires, *at.moves(self.layout, layout))
            self.layout = layout

    def scale(self, when: When, inside: float, outside: float) -> None:
        """Multiply the amplitudes at which `when` (on wires) holds by `inside`, all others by `outside`."""
        stored = at.stored_when(self.layout, when)
        self.device.scale(self.buffer, self.num_wires, stored, inside, outside)

    def another(self, num_wires: int) -> Self:
        """Return |0…0> of `num_wires` wires on the same device; nothing is written yet."""
        buffer = self.device.allocate(1 << num_wires, self.dtype)
        return type(self)(self.device, buffer, Layout.identity(num_wires), (1 << num_wires) - 1, begun=False)

    def copy_to(self, new: Self, layout: Layout) -> None:
        """Copy as many amplitudes as both have; all index bits of the new state that this one lacks are fresh there."""
        size = 1 << min(self.num_wires, new.num_wires)
        self._begin()
        self.device.copy(new._buffer[:size], self._buffer[:size])
        new.layout, new.fresh, new._begun = layout, (self.fresh | -size) & (1 << new.num_wires) - 1, True

    # --- amplitudes ----------------------------------------------------------------------------------------------

    def gather(self, values: NDArray[np.int64], wires: Sequence[int]) -> Amplitudes:
        """Return the amplitudes of basis values; bit k of a value is wire ``wires[k]``."""
        return self.device.gather(self.buffer, at.indices(self.layout, values, wires))

    def read(self, start: int, stop: int, wires: Sequence[int]) -> Amplitudes:
        """Return the amplitudes of basis values from `start` up to `stop`; bit k of a value is wire ``wires[k]``."""
        if self.layout.flip == 0 and self.layout.wires() == tuple(wires):
            return self.device.read(self.buffer, start, stop)
        out = np.empty(stop - start, dtype=self.buffer.dtype)
        for first in range(start, stop, thresholds.now.amplitudes_at_once):
            last = min(first + thresholds.now.amplitudes_at_once, stop)
            out[first - start : last - start] = self.gather(np.arange(first, last, dtype=np.int64), wires)
        return out

    def write(self, start: int, values: Amplitudes) -> None:
        """Overwrite amplitudes from basis value `start` on; requires the layout of the wires' order."""
        self.device.write(self.buffer, start, values)

    def overwrite(self, pieces: Pieces, layout: Layout) -> None:
        """Overwrite all amplitudes, by index in the given layout."""
        self.forget()
        for start, values in pieces(0, 1 << self.num_wires):
            self.write(start, values.astype(self.dtype, copy=False))
        self.layout = layout

    def expose(self) -> None:
        """Write the zeros of fresh index bits."""
        self.write_zeros()

    def slice_at(self, number: int) -> Buffer:
        """Raise `StateError`: there are no slices in host memory."""
        raise StateError(
            f"slice {number}: a state on a single device has no slices in host memory; use sub_state_vector()."
        )

    def visit_one(self, number: int) -> Iterator[near.NearSubState]:  # noqa: ARG002  (there is one, number 0)
        """Yield the whole state."""
        yield near.NearSubState(self.device, self.array, self.layout, 0)

    def stored(self, start: int, stop: int) -> Amplitudes:
        """Return the amplitudes at the indices from `start` up to `stop`, in the order of the indices."""
        return self.device.read(self.buffer, start, stop)

    def own_slices(self) -> Iterator[tuple[int, Amplitudes]]:
        """Yield all amplitudes in the order of the indices, as one slice."""
        yield 0, self.stored(0, 1 << self.num_wires)

    def pieces(self, size: int) -> Iterator[tuple[int, Amplitudes]]:
        """Yield all amplitudes, in pieces of at most `size`, each with its first index."""
        for start in range(0, 1 << self.num_wires, size):
            yield start, self.stored(start, min(start + size, 1 << self.num_wires))

    # --- sums, all in float64 ------------------------------------------------------------------------------------

    def norm_squared(self) -> float:
        """Return Σ |amplitude|²."""
        return float(self.device.norms(self.buffer, 1)[0])

    @property
    def marginal_wires(self) -> int:
        """The number of wires that one pass sums over."""
        return thresholds.now.marginal_wires

    def marginal(self, wires: Sequence[int], when: When = ALWAYS) -> NDArray[np.float64]:
        """Return Σ |amplitude|² for each value of `wires`, over the basis values at which `when` (on wires) holds.

        float64 [2^wires], ``wires[0]`` least significant.
        """
        if len(wires) > thresholds.now.marginal_wires:
            low, high = wires[: thresholds.now.marginal_wires], wires[thresholds.now.marginal_wires :]
            parts = [self.marginal(low, at.held(when, high, value)) for value in range(1 << len(high))]
            return np.concatenate(parts)
        bits = at.index_bits(self.layout, wires)
        if not when.mask and bits == tuple(range(self.num_wires - len(bits), self.num_wires)):
            sums = self.device.norms(self.buffer, 1 << len(bits))
        else:
            stored = at.stored_when(self.layout, when)
            sums = self.device.marginal(self.buffer, self.num_wires, bits, stored)
        return at.value_order(self.layout, sums, wires)

    def searched_bits(self, shots: int) -> int:
        """Return the number of wires that the device prefers."""
        return self.device.searched_bits(self.num_wires, shots)

    def search(
        self, wires: Sequence[int], prefixes: NDArray[np.int64], runs: NDArray[np.int64], targets: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Return for each target the value of the lowest wires that it falls on behind its prefix; see `Device.search`.

        prefixes: values of all other wires, shifted to their bits in a basis value; one for each run.
        """
        bases = at.indices(self.layout, prefixes, range(self.num_wires))
        return self.device.search(self.buffer, at.index_bits(self.layout, wires), bases, runs, targets)

    def paulis(self, parts: Sequence[tuple[int, Sequence[int]]]) -> list[NDArray[np.complex128]]:
        """Return <ψ| X-part · Z-part |ψ> for each X-part (a mask of wires) and each of its Z-parts, no factors of i."""
        device = self.device
        if not parts or not device.in_host_memory or not isinstance(device, Batches):
            return [near.pauli(one, x, zs) for one in self.visit_one(0) for x, zs in parts]
        bits, signs, ends = at.strings(self.layout, tuple([(x, tuple(zs)) for x, zs in parts]))
        found = signs * device.paulis(self.buffer, self.num_wires, bits)[0]
        return [found[begin:end] for begin, end in pairwise(ends)]

    def density(self, wires: Sequence[int]) -> NDArray[np.complex128]:
        """Return the reduced density matrix of some wires, not normalised, ``wires[0]`` least significant."""
        rho = self.device.density(self.buffer, self.num_wires, at.index_bits(self.layout, wires))
        value = np.arange(len(rho)) ^ at.flipped_values(self.layout, wires)
        return np.asarray(rho[np.ix_(value, value)])

    def inner(self, other: Placement) -> complex:
        """Return <self|other>; the other's amplitudes are moved to this layout first."""
        if isinstance(other, Single) and other.device is self.device and other.dtype == self.dtype:
            other.arrange(self.layout)
            return self.device.inner(self.buffer, other.buffer)
        return overlap(self, other)
