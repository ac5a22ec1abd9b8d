"""A state vector that is divided into sub state vectors, with the same questions as one in one piece.

Every question is passed to one sub state vector after another, with the same calls of the device as for `Single`, and
only the small answers are combined, so a state is never gathered: see `amplitudes` and `sums`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.devices.base import Buffer, Device
from qsim_ex.errors import NotSupported, PlanError, StateError
from qsim_ex.placement.base import NormCheck, Pieces, Placement
from qsim_ex.placement.deployment import Deployment, MemoryNeeds
from qsim_ex.placement.divided import amplitudes, near, sums
from qsim_ex.placement.divided.near import NearSubState, Wanted
from qsim_ex.placement.executor import check_norm
from qsim_ex.placement.overlap import overlap
from qsim_ex.precision import AmplitudeDtype, Amplitudes
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.comm.protocol import Communicator

_Number = TypeVar("_Number", bound=np.generic)


class Divided(ABC):
    """2^n amplitudes in 2^(n − local) sub state vectors; fulfils `base.Placement`.

    Placements differ in how sub state vectors are brought near; that is `visit`. A subclass implements the abstract
    methods, and `another` for copies and other numbers of wires.

    layout: the index bit of each wire at rest. fresh: mask of index bits that are 0 in the whole state (see
    `steps.Sweep`); a sub state vector in which one of them is 1 is zero, its memory is not read, and it is not visited.
    devices: the devices that work on sub state vectors. dtype: of the amplitudes, complex64 or complex128.
    needs: the memory of the state. places: of each device number, where states may have equal numbers elsewhere.
    """

    kind: str
    layout: Layout
    levels: Levels
    fresh: int
    dtype: AmplitudeDtype
    devices: Sequence[Device]
    needs: MemoryNeeds
    places: Sequence[int] = ()
    array = None
    shared_by: Communicator | None = None

    @property
    def num_wires(self) -> int:
        """The number of wires of the state."""
        return len(self.layout.address)

    @abstractmethod
    def visit(self, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:
        """Yield every sub state vector that is not known to be zero, brought near; see `Visited.visit`."""

    @abstractmethod
    def run(self, plan: Plan, work: Sequence[object], tick: Callable[[], None]) -> None:
        """Run a plan that starts in this layout with these fresh bits; `work` has one entry for each device."""

    @abstractmethod
    def write_zeros(self, bits: int = -1) -> None:
        """Write the zeros of fresh index bits (all of them by default), which are not fresh afterwards."""

    @abstractmethod
    def arrange(self, layout: Layout) -> None:
        """Move amplitudes to another layout."""

    @abstractmethod
    def release(self) -> None:
        """Release all memory, at once, even while work or copies are under way; may be called again."""

    # --- methods that a placement may override -----------------------------------------------------------------------

    def visit_some(self, wanted: Wanted, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:
        """Yield only the sub state vectors for which `wanted` is true; the others may stay far. See `visit`.

        If it writes, amplitudes at which a fresh bit is 1 stay zero, and fresh bits may stay fresh.
        """
        for found in self.visit(near, write=write):
            if wanted(found.layout, found.high):
                yield found

    def mark_zero(self, bits: int) -> None:
        """Mark index bits as fresh: all amplitudes at which one of them is 1 are zero, and need no memory."""
        self.fresh |= bits

    # --- wires that are near -----------------------------------------------------------------------------------------

    @property
    def most_near(self) -> int:
        """The number of wires that a visit can bring near."""
        return self.levels.local - self.levels.slice

    @property
    def division(self) -> str:
        """The sizes of a sub state vector in words, for messages."""
        levels = self.levels
        return (
            f"a sub state vector has {levels.local} of {self.num_wires} wires, the lowest {levels.slice} of which "
            "stay in a visit"
        )

    # --- description -------------------------------------------------------------------------------------------------

    @property
    def planning_levels(self) -> Levels:
        """The levels."""
        return self.levels

    @property
    def slice_bits(self) -> int:
        """The number of index bits of a slice."""
        return self.levels.slice

    @property
    def bytes_moved(self) -> int:
        """Zero: a placement that copies amplitudes overrides this."""
        return 0

    def passes(self, plan: Plan) -> Iterable[tuple[int, int]]:
        """Return for each pass how many stages of a plan and how many ticks it has; by default each stage is a pass."""
        return ((1, len(stage.steps)) for stage in plan.stages)

    def report(self) -> dict[str, object]:
        """Return an empty report; a placement that moves amplitudes overrides this."""
        return {}

    def norm_check(self, num_gates: int, told: Callable[[], str] = str) -> NormCheck:
        """Return a check of the squared norm within the bound of rounding."""
        return partial(check_norm, num_gates=num_gates, dtype=self.dtype, told=told)

    def deployed(self, before: Deployment) -> Deployment:
        """Return a deployment on the same devices, with as many windows."""
        sizes, host = self.needs
        levels = self.planning_levels
        return replace(before, num_wires=self.num_wires, levels=levels, device_bytes=max(sizes), host_bytes=host)

    # --- plans -------------------------------------------------------------------------------------------------------

    def check_plan(self, plan: Plan) -> None:
        """Raise `PlanError` for a plan that was made for another state."""
        if (plan.levels, plan.start, plan.fresh) != (self.planning_levels, self.layout, self.fresh):
            raise PlanError(
                "the plan was made for other levels, another layout, or other fresh bits; make a plan for this state."
            )

    def end_plan(self, plan: Plan) -> None:
        """Take the layout at the end of a plan; raise `PlanError` if other bits are fresh than it says."""
        if self.fresh != plan.left:
            raise PlanError(f"expected fresh bits {plan.left:#x} at the end of the plan, got {self.fresh:#x}.")
        self.layout = plan.end

    # --- direct access to memory -------------------------------------------------------------------------------------

    def expose(self) -> None:
        """Write the zeros of fresh index bits."""
        self.write_zeros()

    def slice_at(self, number: int) -> Buffer:
        """Raise `StateError`, unless a kind has slices in host memory."""
        raise StateError(
            f"slice {number}: a state of kind {self.kind!r} has no slices in host memory; use sub_state_vector()."
        )

    def visit_one(self, number: int) -> Iterator[NearSubState]:
        """Yield one sub state vector, brought near; it may be changed until the iterator ends."""
        return self.visit_some(lambda _, high: high == number, write=True)

    # --- amplitudes --------------------------------------------------------------------------------------------------

    def overwrite(self, pieces: Pieces, layout: Layout) -> None:
        """Overwrite all amplitudes, by index in the given layout. One visit."""
        amplitudes.overwrite(self, pieces, layout)

    def forget(self) -> None:
        """Prepare for overwriting all amplitudes: they may be anything, and the layout becomes the wires' order."""
        self.write_zeros()
        self.layout = Layout.identity(self.num_wires)

    def write(self, start: int, values: Amplitudes) -> None:
        """Overwrite amplitudes from index `start` on, which is that basis value in the layout of the wires' order."""
        amplitudes.write(self, start, values)

    def scale(self, when: When, inside: float, outside: float) -> None:
        """Multiply the amplitudes at which `when` (on wires) holds by `inside`, all others by `outside`."""
        amplitudes.scale(self, when, inside, outside)

    def gather(self, values: NDArray[np.int64], wires: Sequence[int]) -> Amplitudes:
        """Return amplitudes of basis values; bit k of a value is wire ``wires[k]``. One visit, where they are."""
        return self.total(amplitudes.gather(self, values, wires))

    def read(self, start: int, stop: int, wires: Sequence[int]) -> Amplitudes:
        """Return amplitudes of basis values `start` up to `stop`; bit k of a value is wire ``wires[k]``. One visit."""
        return self.total(amplitudes.read(self, start, stop, wires))

    def stored(self, start: int, stop: int) -> Amplitudes:
        """Return the amplitudes at the indices from `start` up to `stop`, in the order of the indices."""
        return self.total(amplitudes.stored(self, start, stop))

    def own_slices(self) -> Iterator[tuple[int, Amplitudes]]:
        """Yield all amplitudes in the order of the indices, as one slice."""
        yield 0, self.stored(0, 1 << self.num_wires)

    def pieces(self, size: int) -> Iterator[tuple[int, Amplitudes]]:
        """Yield all amplitudes that are not known to be zero, in pieces of at most `size`, with their first index."""
        return amplitudes.pieces(self, size)

    # --- sums, all in float64 ----------------------------------------------------------------------------------------

    def total(self, mine: NDArray[_Number]) -> NDArray[_Number]:
        """Return the answer to which this process has contributed a part: the part, if it holds the whole state."""
        return mine

    def norm_squared(self) -> float:
        """Return Σ |amplitude|²."""
        return float(self.total(np.array(sums.norm_squared(self), dtype=np.float64)))

    @property
    def marginal_wires(self) -> int:
        """The number of wires of a table that fits on the host easily, since each marginal is a visit."""
        return thresholds.now.divided_marginal_wires

    def marginal(self, wires: Sequence[int], when: When = ALWAYS) -> NDArray[np.float64]:
        """Return Σ |amplitude|² for each value of `wires`, over the basis values at which `when` (on wires) holds.

        float64 [2^wires], ``wires[0]`` least significant. One visit, of the parts where the condition can hold.
        """
        return self.total(sums.marginal(self, wires, when))

    def searched_bits(self, shots: int) -> int:
        """Return the number of wires that the device prefers, but no more than can be near together."""
        most = self.devices[0].searched_bits(self.num_wires, shots)
        return next(count for count in range(most, -1, -1) if near.fits(self, range(count)))

    def search(
        self, wires: Sequence[int], prefixes: NDArray[np.int64], runs: NDArray[np.int64], targets: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Return for each target the value of `wires` that it falls on behind its prefix (see `Device.search`).

        prefixes: values of all other wires, shifted to their bits in a basis value; one for each run.
        One visit, of the parts that hold the prefixes. One process finds a target, all others find no bit of it.
        """
        places, value = near.unknown_wires(self, wires)
        return self.total(sums.search(self, wires, (places, value), prefixes, runs, targets)) | value

    def paulis(self, parts: Sequence[tuple[int, Sequence[int]]]) -> list[NDArray[np.complex128]]:
        """Return <ψ| X-part · Z-part |ψ> for each X-part (a mask of wires) and each of its Z-parts, no factors of i."""
        return [self.total(mine) for mine in sums.paulis(self, parts)]

    def density(self, wires: Sequence[int]) -> NDArray[np.complex128]:
        """Return the reduced density matrix of wires, not normalised, ``wires[0]`` least significant. One visit."""
        return self.total(sums.density(self, wires))

    def inner(self, other: Placement) -> complex:
        """Return <self|other>; the other's amplitudes are moved to this layout first."""
        mine = self.levels.local, self.dtype, self.shared_by
        if not isinstance(other, Divided) or (other.levels.local, other.dtype, other.shared_by) != mine:
            return overlap(self, other)
        if other is self:
            return complex(self.norm_squared())
        other.arrange(self.layout)
        if other.places != self.places:
            return overlap(self, other)
        return complex(self.total(np.array(sum((sums.inner(near, other) for near in self.visit()), 0j))))

    # --- other numbers of wires --------------------------------------------------------------------------------------

    @property
    def home_bits(self) -> int:
        """The number of index bits of a part that stays where it is: all of them where there is one home."""
        return self.num_wires

    def another(self, num_wires: int) -> Divided:
        """Return a placement of this kind on these devices for `num_wires` wires: |0…0>, every index bit fresh.

        Raises `NotSupported` where a kind cannot.
        """
        raise NotSupported(
            f"a state of kind {self.kind!r} cannot be copied to one of {num_wires} wires: cloning, and adding or "
            "removing wires, are not supported there yet. Use another placement."
        )

    def copy_to(self, new: Divided, layout: Layout) -> None:
        """Copy amplitudes to a new placement, by index as far as both have it; `layout` is the layout there."""
        amplitudes.copy_to(self, new, layout)
