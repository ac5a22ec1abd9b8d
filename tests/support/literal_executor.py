"""The literal executor of plans with stages, on one array of 2^n amplitudes: tests of planning trust it.

Every motion is a permutation of indices written from its definition, and every step is the plain device's, on one sub
state vector after another with its number in `high`. What must not be read is NaN: it spreads to whatever reads it.
"""

from __future__ import annotations

import numpy as np
from support.plain_device import PlainDevice

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.verify import verify
from qsim_ex.steps.coefficients import Bound
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Exchange, Migration, Plan, Stage


def stored(psi: np.ndarray, layout: Layout) -> np.ndarray:
    """A state in wire order as `layout` stores it."""
    buffer = np.empty_like(psi)
    buffer[[layout.index(value) for value in range(psi.size)]] = psi
    return buffer


def in_order(buffer: np.ndarray, layout: Layout) -> np.ndarray:
    """The inverse of `stored`."""
    return buffer[[layout.index(value) for value in range(buffer.size)]]


def after(plan: Plan, circuit: Circuit, psi: np.ndarray) -> np.ndarray:
    """What the plan of a circuit makes of a state, both in wire order."""
    return in_order(run(plan, bind(plan, circuit.operands), stored(psi, plan.start)), plan.end)


def run(plan: Plan, numbers: Bound, buffer: np.ndarray, *, whole: bool = True) -> np.ndarray:
    """The amplitudes after a plan, at home; `buffer` is complex128 [2^n] in the layout of its start.

    whole: whether it is a whole plan, which writes all local zeros and keeps all rules, or a part of one.
    """
    if whole:
        verify(plan)
    levels, index = plan.levels, np.arange(buffer.size)
    psi = np.where(index & plan.fresh == 0, buffer, np.nan)
    home = list(range(plan.num_wires))  # the home of each position
    packed = iter(numbers)
    for stage in plan.stages:
        match stage.motion:
            case Migration(bits, swaps):
                psi = _home(psi, home)
                for one, other in swaps:
                    psi = psi[_swapped(index, one, other)]
                home = list(bits)
                psi = psi[_gathered(index, home)]
            case Exchange(swaps):
                for local, device in swaps:
                    assert levels.slice <= local < levels.local <= device < levels.local + levels.peers
                    psi = psi[_swapped(index, local, device)]
                    if plan.num_wires > levels.local + levels.peers:
                        home[local], home[device] = home[device], home[local]
        psi = _steps(psi, stage, plan, packed)
    psi = _home(psi, home)
    assert not whole or not plan.left & (1 << levels.local) - 1
    return np.where(index & plan.left == 0, psi, 0)


def _steps(psi: np.ndarray, stage: Stage, plan: Plan, packed: object) -> np.ndarray:
    """Run a stage's steps on every sub state vector that is not known to be zero; forget what is."""
    local = plan.levels.local
    device = PlainDevice(plan.shape)
    parts = psi.reshape(-1, 1 << local).copy()
    for high, part in enumerate(parts):
        if high & stage.fresh >> local:
            part[:] = np.nan
    part_fresh = np.arange(1 << local) & stage.fresh != 0
    parts[:, part_fresh] = np.nan
    for step in stage.steps:
        numbers = next(packed)  # type: ignore[call-overload]
        for high, part in enumerate(parts):
            if not high & stage.fresh >> local:
                device.run(part, local, step, numbers, high=high)
    return parts.reshape(-1)


def _gathered(index: np.ndarray, home: list[int]) -> np.ndarray:
    """For each index in a window, the index at home: position p is index bit ``home[p]``."""
    out = np.zeros_like(index)
    for place, bit in enumerate(home):
        out |= (index >> place & 1) << bit
    return out


def _home(psi: np.ndarray, home: list[int]) -> np.ndarray:
    """The inverse of gathering."""
    out = np.empty_like(psi)
    out[_gathered(np.arange(psi.size), home)] = psi
    return out


def _swapped(index: np.ndarray, one: int, other: int) -> np.ndarray:
    """Each index with two bits traded."""
    differ = (index >> one ^ index >> other) & 1
    return index ^ (differ << one | differ << other)
