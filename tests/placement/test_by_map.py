"""Questions to wires that are sums of index bits are answered as the amplitudes lie, by the definition of the map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.linear_maps import random_map
from support.states import random_state

from qsim_ex.circuit.ops import When
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.placement import by_map
from qsim_ex.steps import IndexMap

WIRES = 10
EVERY = np.arange(1 << WIRES)

DEVICES = {"cpu": CpuDevice(2), "emulated": GpuDevice.on(EmulatedRuntime())}


def summed(name: str, seed: int, psi: np.ndarray | None = None) -> tuple[Any, Any, IndexMap, np.ndarray]:
    """A device, a buffer in which a state lies by a random map, the map, and the state by basis value."""
    device, found = DEVICES[name], IndexMap(random_map(WIRES, seed), 333)
    psi = random_state(WIRES, seed) if psi is None else psi
    buffer = device.allocate(1 << WIRES, np.dtype(complex))
    device.write(buffer, 0, psi[found.basis_state_of(EVERY)])
    return device, buffer, found, psi


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("seed", range(3))
def test_amplitudes(name: str, seed: int) -> None:
    """The amplitude of a value of some wires is found where the map has it; other wires are 0."""
    device, buffer, found, psi = summed(name, seed)
    wires = [7, 2, 5]
    wanted = [sum((value >> k & 1) << wire for k, wire in enumerate(wires)) for value in range(8)]
    assert np.array_equal(device.gather(buffer, by_map.indices(found, np.arange(8), wires)), psi[wanted])


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("seed", range(3))
def test_pauli_strings(name: str, seed: int) -> None:
    """An X-part flips the directions of its wires, and a Z-part reads their parities with the sign of the inverted."""
    device, buffer, found, psi = summed(name, seed)
    x, zs = 0b1000010011, [0, 0b11, 0b1000000100, 0b1111111111]
    flipped, read, signs = by_map.strings(found, x, zs)
    wanted = [np.vdot(psi[EVERY ^ x], (-1.0) ** np.bitwise_count(EVERY & z) * psi) for z in zs]
    np.testing.assert_allclose(np.array(signs) * device.pauli(buffer, WIRES, flipped, read), wanted, atol=1e-12)


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("when", [When(0, 0), When(0b1000000100, 0b100)])
def test_marginals(name: str, when: When) -> None:
    """Sums along the directions of wires are those of the definition, under conditions too."""
    device, buffer, found, psi = summed(name, 4)
    wires, holds = [8, 1, 6], EVERY & when.mask == when.value
    values = sum((EVERY >> wire & 1) << k for k, wire in enumerate(wires))
    wanted = np.bincount(values, np.abs(psi) ** 2 * holds, 8)
    np.testing.assert_allclose(by_map.marginal(device, buffer, found, wires, when), wanted, atol=1e-12)


@pytest.mark.parametrize("at_once", [1 << 20, 256])
@pytest.mark.parametrize("name", DEVICES)
def test_shots(name: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target falls on the value in wire order at which the running sum of squares passes it."""
    monkeypatch.setattr(by_map, "_AT_ONCE", at_once)
    device, buffer, found, psi = summed(name, 5)
    low = by_map.searched_bits(WIRES)
    weights = (np.abs(psi) ** 2).reshape(-1, 1 << low)
    prefixes = np.array([1, 4, 10]) % len(weights)
    targets = np.concatenate([np.linspace(0.01, 0.99, 20) * weights[prefix].sum() for prefix in prefixes])
    wanted = [int(np.searchsorted(np.cumsum(weights[prefixes[k // 20]]), t, "right")) for k, t in enumerate(targets)]
    runs = np.array([0, 20, 40, 60])
    given = device, buffer, found, range(low), prefixes << low, runs, targets
    assert by_map.search(*given).tolist() == wanted


def test_the_last_value_that_has_weight() -> None:
    """A number that rounding has led beyond the last sum falls on the last value that has any weight."""
    psi = np.zeros(1 << WIRES, dtype=complex)
    psi[[3, 70, 200]] = [0.6, 0.48, 0.64]
    device, buffer, found, _ = summed("cpu", 3, psi)
    runs, targets = np.array([0, 2, 3]), np.array([0.1, 0.5, 0.2304])
    assert by_map.search(device, buffer, found, range(6), np.array([0, 64]), runs, targets).tolist() == [3, 3, 6]
