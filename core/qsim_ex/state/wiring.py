"""The index bit of each wire, and the number of wires: changes of a state's memory, not of its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal, Self

from qsim_ex.circuit import check
from qsim_ex.circuit.ops import mask_of
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.errors import OptionError
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import Placement
from qsim_ex.placement.wires import extended, shrunk
from qsim_ex.state import basis
from qsim_ex.state.guard import Guard
from qsim_ex.steps.layout import Layout


class Wiring:
    """The part of `StateVector` that moves, names, adds and removes wires."""

    num_wires: int
    where: Assignment
    _guard: Guard
    _placement: Placement
    _find_touched: Callable[[], int]

    @cached_property
    def _touched(self) -> int:
        """The mask of the wires that may not be |0>, found when it is first needed; work puts another in its place."""
        return self._find_touched()

    def permute(self, wires: Sequence[int]) -> Self:
        """Move amplitudes so that wire ``wires[k]`` is on index bit k and none is inverted; the state is the same."""
        with self._guard:
            wires = basis.order(wires, self.num_wires, "permute", all_wires=True)
            address = tuple(wires.index(wire) for wire in range(self.num_wires))
            self._placement.arrange(Layout(address))
        return self

    def canonical(self) -> Self:
        """Move amplitudes into the order of the wires: the amplitude of basis value i is then at index i."""
        with self._guard:
            if not self._placement.layout.is_identity():
                self._placement.arrange(Layout.identity(self.num_wires))
        return self

    def permute_index_bits(self, bits: Sequence[int], mode: Literal["gather", "scatter"] = "gather") -> Self:
        """Move index bits, and the wires on them: the state is the same.

        'gather': the wire on bit ``bits[k]`` moves to bit k. 'scatter': the wire on bit k moves to bit ``bits[k]``.
        """
        if mode not in ("gather", "scatter"):
            raise OptionError(f"expected mode to be one of 'gather', 'scatter', got {mode!r}.")
        with self._guard:
            bits = basis.order(bits, self.num_wires, "permute_index_bits", all_wires=True)
            to = [0] * self.num_wires  # where the content of each bit goes
            for k, bit in enumerate(bits):
                to[bit if mode == "gather" else k] = k if mode == "gather" else bit
            flip = sum(1 << to[bit] for bit in range(self.num_wires) if self._placement.layout.flip >> bit & 1)
            self._placement.arrange(Layout(tuple(to[bit] for bit in self._placement.layout.address), flip))
        return self

    def relabel(self, names: Sequence[int] | Mapping[int, int]) -> Self:
        """Rename wire w to ``names[w]``; moves no amplitude. Raises `WireError` unless each name is given once."""
        with self._guard:
            pairs = names if isinstance(names, Mapping) else dict(enumerate(names))
            to = [pairs.get(wire, wire) for wire in range(self.num_wires)]
            check.wires((*to, *(wire for wire in pairs if wire >= self.num_wires)), self.num_wires, "relabel")
            self._touched = mask_of(tuple(name for wire, name in enumerate(to) if self._touched >> wire & 1))
            self._placement.layout = at.relabelled(self._placement.layout, to)
        return self

    def reassign(self, ordering: Sequence[int]) -> Self:
        """Declare that wire ``ordering[k]`` is on index bit k; moves no amplitude, so wires trade their states."""
        ordering = basis.order(ordering, self.num_wires, "reassign", all_wires=True)
        names = dict(zip(self._placement.layout.wires(), ordering, strict=True))
        return self.relabel(names)

    def add_wires(self, count: int = 1) -> Self:
        """Add wires in |0>, numbered from `num_wires` on. Raises `OutOfMemory`."""
        count = check.count(count, "count")
        with self._guard:
            if count:
                self._become(extended(self._placement, count))
        return self

    def remove_wires(self, wires: Sequence[int]) -> Self:
        """Remove wires that are at 0 or at 1; the others keep their order and are renumbered from 0.

        Raises `StateError`, with the weight, if one of them is found at more than one value: the state is unchanged.
        """
        with self._guard:
            wires = basis.order(wires, self.num_wires, "remove_wires")
            if wires:
                left = [wire for wire in range(self.num_wires) if wire not in wires]
                self._become(shrunk(self._placement, wires))
                self._touched = mask_of(tuple(new for new, wire in enumerate(left) if self._touched >> wire & 1))
        return self

    def _put_back(self, wires: Sequence[int]) -> None:
        """Note that some wires are |0⟩ again."""
        self._touched &= ~mask_of(tuple(wires))

    def _become(self, placement: Placement) -> None:
        """Take over a placement with another number of wires."""
        self._placement = placement
        self.num_wires = placement.num_wires
        self.where = replace(self.where, deployment=placement.deployed(self.where.deployment))
