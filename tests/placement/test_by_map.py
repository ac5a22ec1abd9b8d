"""Questions to wires that are sums of index bits are answered as the amplitudes lie, where that takes less time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contract.placements import single
from support.cuda.emulated_runtime import EmulatedRuntime
from support.linear_maps import random_map
from support.states import random_state
from support.unsettled import unsettle

from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.observe import sampling
from qsim_ex.placement import by_map
from qsim_ex.placement.single import Single
from qsim_ex.steps import Layout

WIRES = 14

DEVICES = {"cpu": CpuDevice(2), "emulated": GpuDevice.on(EmulatedRuntime())}


def two(name: str, seed: int) -> tuple[Single, Single]:
    """The same state twice: as sums of index bits, and in order."""
    made = []
    for _ in range(2):
        placed = single(WIRES, np.dtype(complex), DEVICES[name])
        placed.write(0, random_state(WIRES, seed))
        placed.layout = Layout(tuple(np.random.default_rng(seed).permutation(WIRES).tolist()), 1234)
        made.append(placed)
    unsettle(made[0], random_map(WIRES, seed))
    return made[0], made[1]


@pytest.mark.parametrize("at_once", [1 << 20, 256])
@pytest.mark.parametrize("name", DEVICES)
def test_shots(name: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed means the same shots, and nothing is moved for a few of them, whatever is gathered at a time."""
    monkeypatch.setattr(by_map, "_AT_ONCE", at_once)
    for seed in range(3):
        summed, plain = two(name, seed)
        undone, numbers = summed.undone, sampling.uniforms(seed, 0, 60)
        found, wanted = (sampling.draw(placed, numbers) for placed in (summed, plain))
        assert np.array_equal(found, wanted)
        assert sampling.draw_wires(summed, range(8, 3, -1), 0.3) == sampling.draw_wires(plain, range(8, 3, -1), 0.3)
        assert summed.undone == undone


@pytest.mark.parametrize("name", DEVICES)
def test_many_shots_and_sums(name: str) -> None:
    """For many shots, and for sums as many as amplitudes, the state is settled first; the answers are equal."""
    ask: dict[str, Any] = {
        "shots": lambda placed: sampling.draw(placed, sampling.uniforms(1, 0, 2000)),
        "sums": lambda placed: placed.marginal(range(WIRES)).round(12),
    }
    for question in ask.values():
        summed, plain = two(name, 5)
        assert np.array_equal(question(summed), question(plain))
        assert summed.undone == ()


def test_the_last_value_that_has_weight() -> None:
    """A number that rounding has led beyond the last sum falls on the last value that has any weight."""
    placed = single(WIRES, np.dtype(complex), DEVICES["cpu"])
    psi = np.zeros(1 << WIRES, dtype=complex)
    psi[[3, 70, 200]] = [0.6, 0.48, 0.64]
    placed.write(0, psi)
    unsettle(placed, random_map(WIRES, 3))
    prefixes, runs = np.array([0, 64]), np.array([0, 2, 3])
    found = placed.search(range(6), prefixes, runs, np.array([0.1, 0.5, 0.2304]))
    assert found.tolist() == [3, 3, 6]
