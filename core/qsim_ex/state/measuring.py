"""Measurements of a state vector, and what they leave of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from qsim_ex.circuit.ops import ALWAYS
from qsim_ex.errors import OptionError, StateError
from qsim_ex.observe import drawn_wires, sampling
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import Placement
from qsim_ex.state import basis
from qsim_ex.state.guard import Guard

Collapse = Literal["normalise", "none", "reset"]


class Measuring:
    """The part of `StateVector` that measures wires."""

    num_wires: int
    _guard: Guard
    _placement: Placement
    _put_back: Callable[[Sequence[int]], None]  # of `Wiring`
    _key: Callable[[int | None], tuple[int, int]]  # of `Questions`: seed and number of a draw

    def measure(
        self,
        wires: Sequence[int],
        *,
        seed: int | None = None,
        random: float | None = None,
        collapse: Collapse = "normalise",
    ) -> int:
        """Measure wires and return their value, bit k being ``wires[k]``.

        random: a number in [0, 1) in place of a seed. collapse: 'normalise' projects the state on the value
        found, 'reset' also puts the measured wires into |0>, 'none' leaves the state unchanged.
        """
        with self._guard:
            wires = basis.order(wires, self.num_wires, "measure")
            known_mode(collapse)
            if random is None:
                random = float(sampling.uniforms(*self._key(seed), 1)[0])
            if not 0 <= random < 1:
                raise OptionError(f"expected random >= 0 and < 1, got random={random!r}; pass a seed, or random=0.5.")
            value = drawn_wires.draw_wires(self._placement, wires, random)
            self.collapse(wires, value, collapse)
            return value

    def collapse(self, wires: Sequence[int], bits: int | Sequence[int], mode: Collapse = "normalise") -> float:
        """Project wires on a value (an integer, bit k being ``wires[k]``, or a 0 or 1 for each).

        Return the value's probability. Modes as in `measure`. Raises `StateError` if the probability is 0.
        """
        with self._guard:
            wires = basis.order(wires, self.num_wires, "collapse")
            value = basis.bits(bits, len(wires), "collapse")
            known_mode(mode)
            when = at.held(ALWAYS, wires, value)
            weight = float(self._placement.marginal((), when)[0])
            if weight == 0:
                raise StateError(
                    f"wires {list(wires)} are never found at {value:0{len(wires)}b}: its probability is 0."
                )
            probability = weight / self._placement.norm_squared()
            if mode != "none":
                self._placement.scale(when, weight**-0.5, 0.0)
            if mode == "reset":  # only one value of these wires is left, so an X on those at 1 is enough
                self._placement.layout = at.inverted(self._placement.layout, when.value)
                self._put_back(wires)
            return probability


def known_mode(mode: str) -> None:
    """Raise `OptionError` unless a mode of collapsing is known."""
    if mode not in ("normalise", "none", "reset"):
        raise OptionError(f"expected collapse to be 'normalise', 'none' or 'reset', got {mode!r}.")
