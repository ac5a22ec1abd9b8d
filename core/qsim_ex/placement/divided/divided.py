"""A state vector that is divided into sub state vectors, with the same questions as one in one piece.

Every question is passed to one sub state vector after another, with the same calls of the device as for `Single`, and
only the small answers are combined, so a state is never gathered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import ALWAYS, When, mask_of, wires_of
from qsim_ex.errors import NotSupported, PlanError, StateError
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import NormCheck, Placement
from qsim_ex.placement.bits import move_bits
from qsim_ex.placement.deployment import Deployment
from qsim_ex.placement.divided import strings
from qsim_ex.placement.divided import visited as one
from qsim_ex.placement.divided.amplitudes import DividedAmplitudes
from qsim_ex.placement.divided.visited import NearSubState
from qsim_ex.placement.executor import check_norm
from qsim_ex.placement.overlap import dot, overlap
from qsim_ex.placement.wires import held_values
from qsim_ex.precision import STORAGE
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.comm.protocol import Communicator

__all__ = ["Divided", "NearSubState", "narrowed"]


def narrowed(levels: Levels, num_wires: int, local: int, count: int, holders: str) -> Levels:
    """Return levels with `local` local bits for a state of `num_wires` wires; raise `NotSupported` if that is none.

    count, holders: how many devices or processes share the state, for the message.
    """
    if local < 1:
        raise NotSupported(f"{num_wires} wires on {count} {holders} leave no local wire. Use fewer {holders}.")
    return replace(levels, local=local, slice=min(levels.slice, local - 1))


class Divided(DividedAmplitudes):
    """2^n amplitudes in 2^(n − local) sub state vectors; fulfils `base.Placement`.

    A subclass implements the abstract methods of `Visited`, and `another` for copies and other numbers of wires.
    """

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
    def array(self) -> None:
        """None: no one array holds all amplitudes."""
        return None

    @property
    def shared_by(self) -> Communicator | None:
        """None: a placement over several processes overrides this."""
        return None

    @property
    def bytes_moved(self) -> int:
        """Zero: a placement that copies amplitudes overrides this."""
        return 0

    def passes(self, plan: Plan) -> Iterable[tuple[int, int]]:
        """Return for each pass how many stages of a plan and how many ticks it has; by default each stage is a pass."""
        return ((1, len(stage.steps)) for stage in plan.stages)

    def ticks(self, plan: Plan) -> int:
        """Return the number of ticks of all passes."""
        return sum(ticks for _, ticks in self.passes(plan))

    def stage_ends(self, plans: Sequence[Plan]) -> list[int]:
        """Return the number of ticks up to the end of each stage; the stages of one pass end together."""
        ends, done = [], 0
        for plan in plans:
            for stages, ticks in self.passes(plan):
                done += ticks
                ends += [done] * stages
        return ends

    def report(self) -> dict[str, Any]:
        """Return an empty report; a placement that moves amplitudes overrides this."""
        return {}

    def norm_check(self, num_gates: int, told: Callable[[], str] = str) -> NormCheck:
        """Return a check of the squared norm within the bound of rounding."""
        return partial(check_norm, num_gates=num_gates, dtype=self.dtype, told=told)

    def deployed(self, before: Deployment) -> Deployment:
        """Return a deployment on the same devices."""
        levels = self.levels
        change = STORAGE[self.dtype].nbytes((1 << levels.local) - (1 << before.levels.local))
        return replace(before, num_wires=self.num_wires, levels=levels, device_bytes=before.device_bytes + change)

    # --- plans -------------------------------------------------------------------------------------------------------

    def _check_plan(self, plan: Plan) -> None:
        """Raise `PlanError` for a plan that was made for another state."""
        if (plan.levels, plan.start, plan.fresh) != (self.planning_levels, self.layout, self.fresh):
            raise PlanError(
                "the plan was made for other levels, another layout, or other fresh bits; make a plan for this state."
            )

    def _end_plan(self, plan: Plan) -> None:
        """Take the layout at the end of a plan; raise `PlanError` if other bits are fresh than it says."""
        if self.fresh != plan.left:
            raise PlanError(f"expected fresh bits {plan.left:#x} at the end of the plan, got {self.fresh:#x}.")
        self.layout = plan.end

    # --- direct access to memory -------------------------------------------------------------------------------------

    def expose(self) -> None:
        """Write the zeros of fresh index bits."""
        self.write_zeros()

    def slice_at(self, number: int) -> Any:
        """Raise `StateError`, unless a kind has slices in host memory."""
        raise StateError(
            f"slice {number}: a state of kind {self.kind!r} has no slices in host memory; use sub_state_vector()."
        )

    def visit_one(self, number: int) -> Iterator[NearSubState]:
        """Yield one sub state vector, brought near; it may be changed until the iterator ends."""
        return self.visit_some(lambda _, high: high == number, write=True)

    # --- sums, all in float64 ----------------------------------------------------------------------------------------

    def norm_squared(self) -> float:
        """Return Σ |amplitude|²."""
        return sum(float(near.device.norms(near.buffer, 1)[0]) for near in self.visit())

    @property
    def marginal_wires(self) -> int:
        """The number of wires of a table that fits on the host easily, since each marginal is a visit."""
        return thresholds.now.divided_marginal_wires

    def marginal(self, wires: Sequence[int], when: When = ALWAYS) -> NDArray[np.float64]:
        """Return Σ |amplitude|² for each value of `wires`, over the basis values at which `when` (on wires) holds.

        float64 [2^wires], ``wires[0]`` least significant. One visit, of the parts where the condition can hold.
        """
        out = np.zeros(1 << len(wires))
        local = self.levels.local
        for near in self.visit_some(lambda layout, high: one.local_when(layout, local, high, when) is not None):
            one.add_marginal(near, wires, when, out)
        return out

    def searched_bits(self, shots: int) -> int:
        """Return the number of wires that the device prefers, but no more than can be near together."""
        most = self.devices[0].searched_bits(self.num_wires, shots)
        return next(count for count in range(most, -1, -1) if self.fits(range(count)))

    def search(
        self, wires: Sequence[int], prefixes: NDArray[np.int64], runs: NDArray[np.int64], targets: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Return for each target the value of `wires` that it falls on behind its prefix (see `Device.search`).

        prefixes: values of all other wires, shifted to their bits in a basis value; one for each run.
        One visit, of the parts that hold the prefixes.
        """
        places, value = self.open(wires)
        given = at.held(ALWAYS, wires, value).value
        searched, local = [wires[k] for k in places], self.levels.local

        @cache
        def lie(layout: Layout) -> tuple[NDArray[np.int64], NDArray[np.int64], set[int]]:
            bases = at.indices(layout, prefixes | given, range(self.num_wires))
            highs = bases >> local
            return bases & (1 << local) - 1, highs, one.distinct(highs)

        found = np.zeros(len(targets), dtype=np.int64)
        counts = np.diff(runs)
        for near in self.visit_with(searched, lambda layout, high: high in lie(layout)[2]):
            bases, highs, _ = lie(near.layout)
            mine = highs == near.high
            here = np.repeat(mine, counts)
            own = np.concatenate(([0], np.cumsum(counts[mine])))
            bits = at.index_bits(near.layout, searched)
            found[here] = near.device.search(near.buffer, bits, bases[mine], own, targets[here])
        return move_bits(found, places) | value

    def paulis(self, parts: Sequence[tuple[int, Sequence[int]]]) -> list[NDArray[np.complex128]]:
        """Return <ψ| X-part · Z-part |ψ> for each X-part (a mask of wires) and each of its Z-parts, no factors of i.

        X-parts that fit near together share a visit. One that is too wide for any visit costs further visits, during
        which amplitudes are exchanged and put back.
        """
        found = [np.zeros(len(zs), dtype=np.complex128) for _, zs in parts]
        fresh = mask_of(at.wires_on(self.layout, self.fresh))  # X on these leads to zero amplitudes
        mixed = [k for k, (x, _) in enumerate(parts) if not x & fresh]
        fitting = [k for k in mixed if self.fits(wires_of(parts[k][0]))]
        far, low = (
            mask_of(at.wires_on(self.layout, bits)) for bits in (-1 << self.levels.local, (1 << self.levels.slice) - 1)
        )
        for near, places in strings.visits([parts[k][0] for k in fitting], far, low, self.most_near):
            for sub in self.visit(near):
                for k in (fitting[place] for place in places):
                    found[k] += one.pauli(sub, *parts[k])
        for k in sorted(set(mixed) - set(fitting)):
            found[k] = self._wide_pauli(*parts[k])
        return found

    def _wide_pauli(self, x: int, zs: Sequence[int]) -> NDArray[np.complex128]:
        """Return one X-part that does not fit into a visit: CX gates reduce it to some of its wires, and are undone.

        If that is interrupted, the state is lost and its memory is released.
        """
        above = self.brought(wires_of(x))
        kept, rest = above[: self.most_near], above[self.most_near :]
        if not kept:
            raise NotSupported(
                f"a Pauli string with X or Y on {x.bit_count()} wires does not fit into a visit: {self._division}. Use "
                "more window_slots or device_wires."
            )
        groups = [rest[first : first + self.most_near] for first in range(0, len(rest), self.most_near)]
        narrow = strings.folded(x, zs, mask_of(rest), kept[0])
        try:
            for group in groups:
                self._flip_where(kept[0], group)
            (found,) = self.paulis([narrow])
            for group in groups:
                self._flip_where(kept[0], group)
        except BaseException:
            self.release()
            raise
        return found

    def _flip_where(self, wire: int, wires: Sequence[int]) -> None:
        """Apply CX from a wire to each of some wires."""
        for near in self.visit(wires, write=True):
            one.flip_where(near, wire, wires)

    def density(self, wires: Sequence[int]) -> NDArray[np.complex128]:
        """Return the reduced density matrix of wires, not normalised, ``wires[0]`` least significant. One visit."""
        places, value = self.open(wires)
        chosen = [wires[k] for k in places]
        out = np.zeros((1 << len(wires), 1 << len(wires)), dtype=np.complex128)
        values = np.arange(1 << len(chosen), dtype=np.int64)
        inside = move_bits(values, places) | value
        for near in self.visit_with(chosen):
            rho = near.device.density(near.buffer, near.local, at.index_bits(near.layout, chosen))
            stored = values ^ at.flipped_values(near.layout, chosen)
            out[np.ix_(inside, inside)] += rho[np.ix_(stored, stored)]
        return out

    def inner(self, other: Placement) -> complex:
        """Return <self|other>; the other's amplitudes are moved to this layout first."""
        if not isinstance(other, Divided) or (other.levels.local, other.dtype) != (self.levels.local, self.dtype):
            return overlap(self, other)
        if other is self:
            return complex(self.norm_squared())
        other.arrange(self.layout)
        return sum((self._inner(near, other) for near in self.visit()), 0j)

    def _inner(self, near: NearSubState, other: Divided) -> complex:
        """Return the part of one sub state vector in <self|other>."""
        total = 0j
        for same in other.visit_some(lambda _, high: high == near.high):
            if same.device is near.device:
                total += near.device.inner(near.buffer, same.buffer)
                continue
            for first in range(0, 1 << near.local, thresholds.now.copied_at_once):
                last = min(first + thresholds.now.copied_at_once, 1 << near.local)
                left, right = (sub.device.read(sub.buffer, first, last) for sub in (near, same))
                total += dot(left, right)
        return total

    # --- other numbers of wires --------------------------------------------------------------------------------------

    def another(self, num_wires: int) -> Divided:
        """Return a placement of this kind on these devices for `num_wires` wires: |0…0>, every index bit fresh.

        Raises `NotSupported` where a kind cannot.
        """
        raise NotSupported(
            f"a state of kind {self.kind!r} cannot be copied to one of {num_wires} wires: cloning, and adding or "
            "removing wires, are not supported there yet. Use another placement."
        )

    def extend(self, count: int) -> Divided:
        """Return this state with `count` more wires in |0>, on fresh index bits from n on; releases this placement."""
        n = self.num_wires
        new = self.another(n + count)
        self.copy_to(new, Layout((*self.layout.address, *range(n, n + count)), self.layout.flip))
        self.release()
        return new

    def shrink(self, wires: Sequence[int]) -> Divided:
        """Return this state without some wires, each of which is at 0 or at 1; this placement is released.

        Raises `StateError`, with the weight, if some of the wires are found at more than one value.
        """
        self.arrange(at.with_last(self.layout, wires, held_values(self, wires)))
        new = self.another(self.num_wires - len(wires))
        self.copy_to(new, at.without_last(self.layout, wires))
        self.release()
        return new

    def clone(self) -> Self:
        """Return another placement of this kind, on these devices, that holds the same state."""
        new = cast("Self", self.another(self.num_wires))
        self.copy_to(new, self.layout)
        return new

    def copy_to(self, new: Divided, layout: Layout) -> None:
        """Copy amplitudes to a new placement, by index as far as both have it; `layout` is the layout there."""
        new.layout = layout
        new.write_zeros(~self.fresh & (1 << min(self.num_wires, new.num_wires)) - 1)
        for near in self.visit():
            begin = near.high << near.local
            stop = min(begin + (1 << near.local), 1 << new.num_wires)
            for to, first, last in new._range(begin, stop, write=True):
                source = near.buffer[first - begin : last - begin]
                at_ = first - (to.high << to.local)
                if to.device is near.device:
                    to.device.copy(to.buffer[at_ : at_ + last - first], source)
                else:
                    to.device.write(to.buffer, at_, near.device.read(near.buffer, first - begin, last - begin))
