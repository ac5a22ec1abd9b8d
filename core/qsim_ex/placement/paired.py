"""A state and its cotangent as one placement of a wire more, so that whatever divides or moves one does so with both.

Where that wire, the highest, is 0 are the amplitudes of the state, and where it is 1 those of the cotangent. While
plans run, it is on the highest local index bit: each sub state vector has a piece of the state and, behind it, the same
piece of the cotangent. A plan is made for the state alone, on pieces of half the size, and widened.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.devices.adjoint import Differentiates
from qsim_ex.devices.base import Device
from qsim_ex.errors import NotSupported
from qsim_ex.placement.executor import Launches, OneState
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Exchange, Migration, Motion, Plan
from qsim_ex.steps.step import Step, Sweep

Complex = NDArray[np.complex128]


def levels_of_one(levels: Levels) -> Levels:
    """Return the levels of the state alone; raise `NotSupported` where a piece has no room for two."""
    if levels.local < 2:
        raise NotSupported(
            f"gradient: expected sub state vectors of at least 2 wires, one of which the cotangent takes, got "
            f"{levels.local}; use fewer devices, or more device_wires."
        )
    return replace(levels, local=levels.local - 1, slice=min(levels.slice, levels.local - 2))


def widened(plan: Plan, levels: Levels, fresh: bool) -> Plan:
    """Return the plan of a state as one of the placement of both; fresh: whether there is no cotangent yet."""
    bit = plan.levels.local
    wide = _Widened(bit, fresh)
    stages = tuple(
        replace(stage, motion=wide.motion(stage.motion), fresh=wide.mask(stage.fresh)) for stage in plan.stages
    )
    return replace(
        plan,
        num_wires=plan.num_wires + 1,
        stages=stages,
        start=wide.layout(plan.start),
        end=wide.layout(plan.end),
        made_from=(*plan.made_from, "paired"),
        levels=levels,
        fresh=wide.mask(plan.fresh),
        left=wide.mask(plan.left),
    )


class _Widened:
    """What becomes of places of index bits when one more stands at `bit`; fresh: whether that one is."""

    def __init__(self, bit: int, fresh: bool) -> None:
        self._bit, self._fresh = bit, fresh

    def mask(self, bits: int) -> int:
        """Return a mask of fresh bits."""
        return self._apart(bits) | self._fresh << self._bit

    def layout(self, layout: Layout) -> Layout:
        """Return a layout."""
        return Layout((*map(self._place, layout.address), self._bit), self._apart(layout.flip))

    def motion(self, motion: Motion | None) -> Motion | None:
        """Return a motion, which leaves the bit where it is."""
        match motion:
            case None:
                return None
            case Exchange(swaps):
                return Exchange(self._pairs(swaps))
            case Migration(bits, swaps):
                moved = [self._place(bit) for bit in bits]
                return Migration((*moved[: self._bit], self._bit, *moved[self._bit :]), self._pairs(swaps))
            case _:
                assert_never(motion)

    def _place(self, bit: int) -> int:
        return bit + (bit >= self._bit)

    def _apart(self, bits: int) -> int:
        return bits & (1 << self._bit) - 1 | bits >> self._bit << self._bit + 1

    def _pairs(self, swaps: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        return tuple((self._place(a), self._place(b)) for a, b in swaps)


class StateSteps(Launches):
    """Prepared steps of the state alone; nothing is done to the cotangent."""

    def __init__(self, prepared: object) -> None:
        self._prepared = prepared

    def launch(self, target: OneState, step: Step, packed: object) -> None:
        """Start a step on the piece of the state."""
        state, _ = _halves(target, self._prepared)
        state.launch(step, packed)


class PairedSteps(Launches):
    """Steps that both pass; derivatives are added up, piece after piece.

    derivatives: for each step, complex128 [numbers of the step], as those of `Differentiates.run_adjoint`; None where
    none are needed. Its numbers are pairs of a step's place in the plan and its packed numbers, [1, count].
    """

    def __init__(self, device: Device, prepared: object, steps: int) -> None:
        self._device, self._prepared = cast(Differentiates, device), prepared
        self.derivatives: list[Complex | None] = [None] * steps

    def launch(self, target: OneState, step: Step, packed: object) -> None:
        """Start a step on the pieces of both."""
        number, numbers = cast(tuple[int, Complex], packed)
        state, cotangent = _halves(target, None)
        if not isinstance(step, Sweep):
            state.launch(step, numbers[0])
            cotangent.launch(step, numbers[0])
            return
        given = state.buffer, cotangent.buffer, state.bits, number, numbers
        found = self._device.run_adjoint(*given, self._prepared, state.high)
        if found is not None:
            before = self.derivatives[number]
            self.derivatives[number] = found[0, 0] if before is None else before + found[0, 0]


def _halves(target: OneState, prepared: object) -> tuple[OneState, OneState]:
    """Return the pieces of the state and of the cotangent, with steps as their device has prepared them."""
    half = 1 << target.bits - 1
    one = target._replace(buffer=target.buffer[:half], bits=target.bits - 1, prepared=prepared)
    return one, one._replace(buffer=target.buffer[half : 2 * half])
