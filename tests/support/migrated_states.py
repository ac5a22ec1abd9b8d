"""Migrated states of a few wires that hypothesis draws, with plans for them and by definition what the plans do.

What a state holds is read during a visit, amplitude by amplitude.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from support.plain_device import PlainDevice
from support.states import random_state
from support.strategies import layouts, random_unitary

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.placement.migrated import Migrated
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Coefficients, Layout, Levels, Migration, Plan, Shape, Stage, Sweep, ZeroFill

MACHINE = Shape(tile=3, registers=2, low=1, edge=1, most_blocks=None, dense=2)
"""A shape so small that windows of three bits have sweeps."""


class Division(NamedTuple):
    """How a small state is divided; the fields of `Migrated`."""

    n: int
    levels: Levels
    slots: int
    scenario: str
    spare: int
    piece: int

    def state(self, device: Any, layout: Layout | None = None) -> Migrated:
        """A new state."""
        return Migrated(
            device, layout or Layout.identity(self.n), self.levels, np.complex128,
            slots=self.slots, scenario=self.scenario, spare=self.spare, piece=self.piece,
        )  # fmt: skip


@st.composite
def divisions(draw: st.DrawFn, most: int = 9) -> Division:
    """Any slice, window, number of slots, scenario, and size of copies."""
    n = draw(st.integers(5, most))
    local = draw(st.integers(3, n - 1))
    levels = Levels(local, slice=draw(st.integers(0, local - 1)))
    slots = draw(st.integers(1, 4))
    return Division(
        n, levels, slots, draw(st.sampled_from(["whole", "spread"])), draw(st.integers(1, 6)),
        16 << draw(st.integers(0, local)),
    )  # fmt: skip


def amplitudes(state: Migrated, near: Sequence[int] = ()) -> np.ndarray:
    """All amplitudes in the order of basis values, as they are seen during one visit; zeros where none comes near."""
    out = np.zeros(1 << state.num_wires, dtype=state.dtype)
    values = range(1 << state.num_wires)
    local = state.levels.local
    for place in state.visit(near):
        here = place.device.read(place.buffer, 0, 1 << local)
        for value in values:
            index = place.layout.index(value)
            if index >> local == place.high:
                out[value] = here[index & (1 << local) - 1]
    return out


def fill(state: Migrated, psi: np.ndarray) -> None:
    """Write amplitudes, the basis value of each being its place in `psi`."""
    state.forget()
    local = state.levels.local
    for place in state.visit(write=True):
        here = np.empty(1 << local, dtype=psi.dtype)
        for value, amplitude in enumerate(psi):
            index = place.layout.index(value)
            if index >> local == place.high:
                here[index & (1 << local) - 1] = amplitude
        place.device.write(place.buffer, 0, here.astype(state.dtype))


def random_filled(state: Migrated, seed: int = 0) -> np.ndarray:
    """Fill a state at random; returns what it holds."""
    psi = random_state(state.num_wires, seed)
    fill(state, psi)
    return psi


class Work(NamedTuple):
    """A plan by hand: its numbers step by step, and the near bits of each pass."""

    plan: Plan
    numbers: list[Any]


@st.composite
def works(draw: st.DrawFn, division: Division, fresh: int) -> Work:
    """Passes over any near bits, of sweeps that mix near positions and read all."""
    n, levels = division.n, division.levels
    stages, numbers = [], []
    start, left = draw(layouts(n)), fresh
    for _ in range(draw(st.integers(1, 3))):
        above = draw(st.permutations(range(levels.slice, n)))
        width = levels.local - levels.slice
        bits = (*range(levels.slice), *above[:width], *sorted(above[width:]))
        here = sum(1 << p for p, bit in enumerate(bits) if left >> bit & 1)
        steps, packed = _steps(draw, n, levels.local, here)
        if not steps:
            continue
        if isinstance(steps[-1], ZeroFill) and draw(st.booleans()):
            steps, packed = steps[:-1], packed[:-1]  # its bits are still fresh in the next pass
        if not steps:
            continue
        stages.append(Stage(tuple(steps), Migration(bits), here))
        numbers += packed
        for step in steps:
            here &= ~sum(1 << bit for bit in step.tile) if isinstance(step, Sweep) else ~step.fresh
        left = sum(1 << bit for p, bit in enumerate(bits) if here >> p & 1)
    end = Layout(start.address, draw(st.integers(0, (1 << n) - 1)))
    plan = Plan(n, tuple(stages), start, end, Coefficients(0, (), ()), MACHINE, 0, (), levels, fresh, left)
    return Work(plan, numbers)


def _steps(draw: st.DrawFn, n: int, local: int, fresh: int) -> tuple[list[Any], list[Any]]:
    """Steps of a random circuit on positions, which mixes local ones alone."""
    builder = CircuitBuilder(n)
    for _ in range(draw(st.integers(1, 6))):
        wires = draw(st.permutations(range(local)))
        others = draw(st.permutations([w for w in range(n) if w not in wires[:2]]))
        seed = draw(st.integers(0, 99))
        match draw(st.integers(0, 3)):
            case 0:
                builder.unitary(random_unitary(4, seed), wires[:2], controls=others[: seed % 3])
            case 1:
                builder.unitary(random_unitary(2, seed), wires[:1], controls=others[: seed % 2])
            case 2:
                blocks = [random_unitary(2, seed + k) for k in range(2)]
                builder.multiplexer(np.array(blocks), others[:1], wires[:1])
            case _:
                builder.gate("cp", others[:2], 0.1 + seed)
    made = builder.build()
    below = (1 << local) - 1
    # Far bits pass for fresh ones while this is planned, since those come into a tile last of all: so none does.
    plan = make_plan(made.instructions, n, Layout.identity(n), MACHINE, fresh & below | (1 << n) - 1 & ~below)
    assert plan.end == plan.start
    assert all(step.tile[-1] < local for step in plan.sweeps)
    steps = [replace(step, fresh=step.fresh & below) for step in plan.steps]
    kept = [k for k, step in enumerate(steps) if not isinstance(step, ZeroFill) or step.fresh]
    numbers = list(bind(plan, made.operands))
    return [steps[k] for k in kept], [numbers[k] for k in kept]


def moved(psi: np.ndarray, bits: Sequence[int]) -> np.ndarray:
    """Amplitudes by position, from amplitudes by index bits: position p is bit ``bits[p]``."""
    index = np.arange(psi.size)
    return psi[sum((index >> p & 1) << bit for p, bit in enumerate(bits))]


def done(psi: np.ndarray, work: Work) -> np.ndarray:
    """Return the amplitudes by index bits after a plan, by definition, on the whole array at once."""
    plan, numbers = work
    plain, n, first = PlainDevice(), plan.num_wires, 0
    for stage in plan.stages:
        here = moved(psi, stage.motion.bits)
        for step in stage.steps:
            plain.run(here, n, step, numbers[first])
            first += 1
        back = np.argsort(stage.motion.bits)
        psi = moved(here, back.tolist())
    return np.where(np.arange(psi.size) & plan.left, 0, psi)  # what is fresh is zero, and NaN in plain memory


def by_values(psi: np.ndarray, layout: Layout) -> np.ndarray:
    """Amplitudes by basis values, from amplitudes by index bits."""
    return psi[[layout.index(value) for value in range(psi.size)]]


def checksum(psi: np.ndarray, bits: int) -> np.ndarray:
    """A number for each slice of 2^bits amplitudes that knows which slice it is, and the place of every amplitude."""
    slices = psi.reshape(-1, 1 << bits)
    row, column = np.indices(slices.shape)
    return (slices * np.exp(1j * (row * slices.shape[1] + column + 1) ** 0.5)).sum(axis=1)
