"""The held state: a divided state in one NumPy array, by definition, on which questions to divided states are tested.

Where nothing is said about an amplitude (it is fresh, or its sub state vector is no longer near) there is NaN.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, assert_never

import numpy as np

from qsim_ex.circuit.ops import mask_of
from qsim_ex.devices.base import Device
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.divided.divided import Divided
from qsim_ex.placement.divided.near import NearSubState
from qsim_ex.placement.index_bits import move_bits
from qsim_ex.steps import Exchange, Layout, Levels, Migration, Plan, Stage, Step, Sweep, ZeroFill


class Held(Divided):
    """|0…0> of `num_wires` wires, held in one array and handed out in copies of one sub state vector.

    stays: wires that a visit brings near stay there, as between devices; otherwise they go back.
    seed: of the choices that `visit` is free to make.
    """

    kind = "held"

    def __init__(
        self, num_wires: int, dtype: Any, levels: Levels, devices: Sequence[Device], stays: bool = False, seed: int = 0
    ) -> None:
        self.levels = levels
        self.dtype = np.dtype(dtype)
        self.layout = Layout.identity(num_wires)
        self.fresh = (1 << num_wires) - 1
        self.home = np.full(1 << num_wires, np.nan, dtype=dtype)
        self.home[0] = 1
        self.visits = 0
        self.devices = devices
        self._stays = stays
        self._choice = random.Random(seed)

    def another(self, num_wires: int) -> Held:
        """As this one was made."""
        local = min(self.levels.local, num_wires)
        levels = Levels(local, min(self.levels.peers, num_wires - local), min(self.levels.slice, local))
        return Held(num_wires, self.dtype, levels, self.devices, self._stays)

    def release(self) -> None:
        """Let go of the array; may be called again."""
        self.__dict__.pop("home", None)

    def amplitudes(self) -> np.ndarray:
        """All amplitudes at rest, in the order of indices; fresh ones are zero."""
        index = np.arange(len(self.home))
        return np.where(index & self.fresh == 0, self.home, 0)

    def visit(self, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:
        """Every sub state vector that is not known to be zero, in any order, with any wires moved out."""
        self.visits += 1
        local, low, n = self.levels.local, self.levels.slice, self.num_wires
        wanted = {self.layout.address[wire] for wire in near}
        assert len(wanted) == len(near) <= local - low
        bits = list(range(n))  # the index bit at each position
        if wanted:
            others = [bit for bit in range(low, n) if bit not in wanted]
            self._choice.shuffle(others)
            inside = [*wanted, *others[: local - low - len(wanted)]]
            self._choice.shuffle(inside)
            bits = [*range(low), *inside, *others[local - low - len(wanted) :]]
        if self._stays and wanted:
            self.move(bits)
            bits = list(range(n))
        layout = self._seen(bits)
        order = list(range(1 << n - local))
        self._choice.shuffle(order)
        for high in order:
            index = self._index(bits, high)
            if self._zero(bits, high):
                continue
            device = self.devices[high % len(self.devices)]
            buffer = device.allocate(1 << local, self.dtype)
            given = np.where(index & self.fresh == 0, self.home[index], 0)
            buffer[:] = given
            yield NearSubState(device, buffer, layout, high)
            if write:
                self.home[index] = buffer
            else:
                assert np.array_equal(buffer, given), "a visit that does not write has changed amplitudes"
            buffer[:] = np.nan
        if write:
            self.fresh &= ~mask_of(tuple(bits[:local]))

    def write_zeros(self, bits: int = -1) -> None:
        """Write the zeros of fresh index bits that nothing else says to be zero."""
        index, left = np.arange(len(self.home)), self.fresh & ~bits
        self.home[(index & self.fresh != 0) & (index & left == 0)] = 0
        self.fresh = left

    def arrange(self, layout: Layout) -> None:
        """Move all amplitudes by the definition of a layout."""
        values = np.arange(len(self.home))
        old, wires = self.amplitudes(), range(self.num_wires)
        self.home = np.empty_like(old)
        self.home[at.indices(layout, values, wires)] = old[at.indices(self.layout, values, wires)]
        self.layout, self.fresh = layout, 0

    def move(self, bits: Sequence[int]) -> None:
        """Move all amplitudes for good: index bit ``bits[p]`` becomes index bit p."""
        index = np.arange(len(self.home))
        self.home = self.home[move_bits(index, bits)]
        self.layout = self._seen(bits)
        self.fresh = sum((self.fresh >> bit & 1) << p for p, bit in enumerate(bits))

    # --- plans -------------------------------------------------------------------------------------------------------

    def run(self, plan: Plan, work: Sequence[Any], tick: Callable[[], None]) -> None:
        """Run a plan stage by stage; what every device is given is (what it has prepared, the numbers of all steps)."""
        assert (plan.levels, plan.start, plan.fresh) == (self.levels, self.layout, self.fresh)
        shares = [(prepared, list(numbers)) for prepared, numbers in work]
        n, done = self.num_wires, 0
        bits = list(range(n))
        for stage in plan.stages:
            bits = self._moved(bits, stage)
            assert stage.fresh == sum((self.fresh >> bit & 1) << p for p, bit in enumerate(bits))
            for step in stage.steps:
                tick()
                self._step(bits, step, shares, done)
                done += 1
        if self.levels.local + self.levels.peers == n:
            self.move(bits)
        assert plan.left == self.fresh
        self.layout = plan.end

    def _moved(self, bits: list[int], stage: Stage) -> list[int]:
        """The index bit at each position after a stage's motion."""
        local, peers, n = self.levels.local, self.levels.peers, self.num_wires
        match stage.motion:
            case None:
                return bits
            case Migration(new):
                assert local + peers < n
                assert list(new[: self.levels.slice]) == list(range(self.levels.slice))
                assert list(new[local + peers :]) == sorted(new[local + peers :])
                return list(new)
            case Exchange(swaps):
                found = list(bits)
                for inner, outer in swaps:
                    assert self.levels.slice <= inner < local <= outer < local + peers
                    found[inner], found[outer] = found[outer], found[inner]
                return found
            case _:
                assert_never(stage.motion)

    def _step(self, bits: list[int], step: Step, shares: Sequence[tuple[Any, list[Any]]], done: int) -> None:
        local = self.levels.local
        for high in range(1 << self.num_wires - local):
            if self._zero(bits, high):
                continue
            peer = high % len(self.devices)
            prepared, numbers = shares[peer]
            buffer = self.devices[peer].allocate(1 << local, self.dtype)
            index = self._index(bits, high)
            buffer[:] = self.home[index]
            self.devices[peer].run(buffer, local, step, numbers[done], prepared, high)
            self.home[index] = buffer
        written = mask_of(step.tile) if isinstance(step, Sweep) else step.fresh if isinstance(step, ZeroFill) else 0
        self.fresh &= ~sum(1 << bit for p, bit in enumerate(bits) if written >> p & 1)

    # --- positions ---------------------------------------------------------------------------------------------------

    def _seen(self, bits: Sequence[int]) -> Layout:
        """The layout by positions."""
        position = {bit: p for p, bit in enumerate(bits)}
        flip = sum(1 << p for p, bit in enumerate(bits) if self.layout.flip >> bit & 1)
        return Layout(tuple(position[bit] for bit in self.layout.address), flip)

    def _index(self, bits: Sequence[int], high: int) -> np.ndarray:
        """Where the amplitudes of a sub state vector are at home."""
        local = self.levels.local
        return move_bits(np.arange(1 << local, dtype=np.int64) | high << local, bits)

    def _zero(self, bits: Sequence[int], high: int) -> bool:
        """Whether a sub state vector is known to be zero."""
        return any(high >> k & 1 and self.fresh >> bit & 1 for k, bit in enumerate(bits[self.levels.local :]))
