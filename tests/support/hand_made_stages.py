"""Stages that hypothesis draws for states over several devices, and by definition what they do to the whole array.

Positions, fresh masks and exchanges mean what `qsim_ex.steps` says. Amplitudes are those of one array of 2^n; nothing
here is divided, planned or copied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from support.plain_device import apply_step
from support.strategies import random_unitary

from qsim_ex.circuit.ops import Entry, When
from qsim_ex.steps import Coefficients, DenseMatrix, Levels, Mix, Plan, RegisterBlock, Shape, Slot, Stage, Step, Sweep

KINDS = {"peer": lambda *_: "peer", "host": lambda *_: "through the host"}
"""Links between devices as `reach` gives them, whatever the machine has."""


def quiet() -> None:
    """A tick that cancels nothing."""


def without(psi: np.ndarray, fresh: int) -> np.ndarray:
    """Amplitudes with zeros where a fresh bit is 1."""
    return np.where(np.arange(len(psi)) & fresh, 0, psi)


def traded(index: Any, swaps: tuple[tuple[int, int], ...]) -> Any:
    """Indices, or a mask, in which the bits of each pair have traded places."""
    for one, other in swaps:
        differ = (index >> one ^ index >> other) & 1
        index = index ^ (differ << one | differ << other)
    return index


def exchanged(psi: np.ndarray, swaps: tuple[tuple[int, int], ...]) -> np.ndarray:
    """The amplitudes after an exchange, by definition."""
    return psi[traded(np.arange(len(psi)), swaps)]


def plan_of(stages: list[Stage], state: Any, left: int) -> Plan:
    """Return a plan of these stages that begins in the layout, levels and fresh bits of the state."""
    numbers = Coefficients(2, (), ())
    shape = Shape(6, 2, 2, 2, None, 2)
    n = state.num_wires
    return Plan(
        n, tuple(stages), state.layout, state.layout, numbers, shape, 0, ("by hand",), state.levels, state.fresh, left
    )


@st.composite
def swaps_of(draw: st.DrawFn, levels: Levels) -> tuple[tuple[int, int], ...]:
    """Disjoint pairs of a local and a device bit."""
    count = draw(st.integers(1, min(levels.local, levels.peers)))
    inner = draw(st.permutations(range(levels.local)))[:count]
    outer = draw(st.permutations(range(levels.local, levels.local + levels.peers)))[:count]
    return tuple(zip(inner, outer, strict=True))


def some_mask(draw: Callable[..., Any], num_bits: int) -> int:
    """A mask in which few bits are set."""
    masks = st.integers(0, (1 << num_bits) - 1)
    return int(draw(masks) & draw(masks) & draw(masks))


@st.composite
def steps_of(draw: st.DrawFn, levels: Levels, fresh: int, n: int) -> tuple[list[Step], list[Any], int]:
    """Some steps on local bits that read any of n, their numbers, and the mask of bits still fresh after them."""
    steps: list[Step] = []
    numbers = []
    for _ in range(draw(st.integers(0, 2))):
        bits = tuple(draw(st.permutations(range(levels.local)))[: draw(st.integers(1, 2))])
        others = [p for p in range(n) if p not in bits]
        on = draw(st.permutations(others)) if others else []
        reads = tuple(1 << p for p in on[: draw(st.integers(0, 2))])
        mask = 1 << on[2] if len(on) > 2 and draw(st.booleans()) else 0
        when = When(mask, mask & draw(st.integers(0, (1 << n) - 1)))
        size = 1 << len(bits)
        blocks = [random_unitary(size, draw(st.integers(0, 99))) for _ in range(1 << len(reads))]
        packed = np.concatenate([block.reshape(-1) for block in blocks])
        numbers.append(packed)
        if fresh & (1 << levels.local) - 1 or draw(st.booleans()):
            pattern = bytes([Entry.COMPLEX] * len(packed))
            mix = Mix(bits, reads, when, pattern, Slot(0, len(packed)))
            counts = (0, len(packed)) if reads else (len(packed), 0)
            steps.append(
                Sweep(
                    tuple(sorted(bits)),
                    (RegisterBlock(tuple(sorted(bits)), (mix,)),),
                    *counts,
                    fresh=fresh & (1 << levels.local) - 1,
                )
            )
            fresh &= ~sum(1 << bit for bit in bits)
        else:
            steps.append(DenseMatrix(bits, reads, when))
    return steps, numbers, fresh


def held(state: Any) -> np.ndarray:
    """All amplitudes by index, zeros where sub state vectors are not visited."""
    out = np.zeros(1 << state.num_wires, dtype=np.complex128)
    for device, buffer, layout, high in state.visit():
        assert layout == state.layout
        out[high * len(buffer) : (high + 1) * len(buffer)] = device.read(buffer, 0, len(buffer))
    return out


def by_value(state: Any) -> np.ndarray:
    """All amplitudes by basis value."""
    stored = held(state)
    return stored[[state.layout.index(value) for value in range(len(stored))]]


def worked_on(psi: np.ndarray, steps: list[Step], numbers: list[Any]) -> np.ndarray:
    """Return the amplitudes after some steps on the whole array, in which no bit is fresh."""
    for step, values in zip(steps, numbers, strict=True):
        psi = apply_step(psi, np.arange(len(psi)), replace(step, fresh=0) if isinstance(step, Sweep) else step, values)
    return psi
