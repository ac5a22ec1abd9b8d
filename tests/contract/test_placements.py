"""Every placement fulfils the contract: each row of the table of deployments, and divisions that no option leads to.

A new placement is tried through its rows in `support.deployments`. `BY_HAND` has what only a placement's class can be
told: slices of one amplitude, links that are not there, devices that work late, states that exist for tests.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from contract.placements import Contract, PlacementCase, single
from hypothesis import strategies as st
from support.deployments import ON_CPU, DeploymentRow
from support.held_state import Held
from support.late_device import LateDevice, Machine
from support.plain_device import PlainDevice
from support.ranks_in_threads import RanksInThreads
from support.sharing_cpu import SharedCpu, SharingCpu

from qsim_ex.deployment.choice import candidates
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.devices.peering import Link
from qsim_ex.errors import DeviceError, MissingPackage
from qsim_ex.options import Options
from qsim_ex.placement import kinds
from qsim_ex.placement.deployment import FreeMemory
from qsim_ex.placement.migrated import Migrated
from qsim_ex.placement.peers import Peers
from qsim_ex.placement.peers_over_host import PeersOverHost
from qsim_ex.steps import Layout, Levels

CPU = CpuDevice(2)


def held(local: int, slice_: int, peers: int = 0, *, stays: bool = False, device: Any = CPU) -> PlacementCase:
    """A state in one NumPy array, handed out by definition."""
    levels = Levels(local, peers, slice_)
    devices = [device] * (1 << peers)
    return PlacementCase(
        f"held {local}/{slice_}/{peers}{' stays' * stays} {device.name}",
        lambda num_wires, dtype: Held(num_wires, dtype, levels, devices, stays, num_wires),
        (local + max(peers, 1), local + max(peers, 3)),
        stir=stirred,
    )


def migrated(far: int, slice_: int, local: int, slots: int, scenario: Any, device: Any = CPU, *, gpus: int = 0) -> Any:
    """A state on one device or GPU and in host memory, of which `far` wires or up to two more migrate."""

    def make(num_wires: int, dtype: np.dtype[Any]) -> Migrated:
        levels = Levels(local, slice=slice_)
        on = gpu(0) if gpus else device
        return Migrated(on, Layout.identity(num_wires), levels, dtype, slots=slots, scenario=scenario, piece=32)

    name = f"migrated {far} {local}/{slice_} {slots} {scenario} {'1 GPU' if gpus else device.name}"
    found = PlacementCase(name, make, (local + far, local + min(far + 2, 5)), gpus=gpus)
    return on_gpus(found) if gpus else found


def stirred(placement: Held, data: st.DataObject) -> None:
    """Bits that are fresh may be anywhere, not only above all others."""
    placement.move(data.draw(st.permutations(range(placement.num_wires)), label="moved"))


def peers(count: int, slice_: int, link: Link, *, gpus: int = 0) -> Any:
    """A state over virtual devices of the CPU, or over this many GPUs, which peers may share."""
    bits = count.bit_length() - 1

    def make(num_wires: int, dtype: np.dtype[Any]) -> Peers:
        devices = [gpu(k % gpus) for k in range(count)] if gpus else [CPU] * count
        return Peers(devices, num_wires, dtype, Levels(num_wires - bits, bits, slice_), reach=lambda *_: link)

    fewest = max(2 * bits, slice_ + 1 + bits)
    if not gpus:
        return PlacementCase(f"{count} peers/{slice_} {link}", make, (fewest, bits + 4))
    return on_gpus(PlacementCase(f"{count} peers/{slice_} {link}, {gpus} GPU", make, (fewest, bits + 8), gpus=gpus))


def over_host(count: int, local: int, slice_: int, link: Link, *, gpus: int = 0) -> Any:
    """A state at home in host memory, with windows on virtual devices of the CPU, or on this many GPUs."""
    bits = count.bit_length() - 1

    def make(num_wires: int, dtype: np.dtype[Any]) -> PeersOverHost:
        devices = [gpu(k % gpus) for k in range(count)] if gpus else [CPU] * count
        return PeersOverHost(devices, num_wires, dtype, Levels(local, bits, slice_), frames=2, reach=lambda *_: link)

    name = f"{count} peers {local}/{slice_} over host, {link}"
    if not gpus:
        return PlacementCase(name, make, (local + max(bits, 1), local + bits + 3))
    return on_gpus(PlacementCase(f"{name}, {gpus} GPU", make, (local + max(bits, 1), local + bits + 5), gpus=gpus))


@cache
def gpu(number: int) -> Any:
    """A GPU of this machine."""
    from qsim_ex.devices.gpu.device import GpuDevice

    return GpuDevice(number)


def on_gpus(case: PlacementCase) -> Any:
    """A case that skips itself where there are not enough GPUs."""
    return pytest.param(case, marks=pytest.mark.gpu)


def ranks(count: int, slice_: int, *, each: int = 1, gpus: int = 0, device: Any = CPU) -> Any:
    """A state over ranks that are threads, each of which has at least one bit above its slices; or each has a GPU."""
    bits = (count * each).bit_length() - 1

    def make(num_wires: int, dtype: np.dtype[Any]) -> RanksInThreads:
        devices = [gpu(k % gpus) for k in range(count * each)] if gpus else [device] * count * each
        return RanksInThreads(devices, num_wires, dtype, Levels(num_wires - bits, bits, slice_), each)

    found = PlacementCase(
        f"{count} ranks/{slice_} of {each}, {gpus} GPU{', mapped' * (device is not CPU)}"
        + ", by the system" * (type(device) is CpuDevice and device is not CPU),
        make,
        (max(slice_ + 1 + bits, 2 * bits), 6),
        gpus=gpus,
    )
    return on_gpus(found) if gpus else found


def ranks_over_host(count: int, local: int, slice_: int, *, each: int = 1, gpus: int = 0, device: Any = CPU) -> Any:
    """A state over ranks that are threads, each with its part in host memory and windows on some devices."""
    bits, peers_ = count.bit_length() - 1, each.bit_length() - 1

    def make(num_wires: int, dtype: np.dtype[Any]) -> RanksInThreads:
        devices = [gpu(k % gpus) for k in range(count * each)] if gpus else [device] * count * each
        return RanksInThreads(devices, num_wires, dtype, Levels(local, peers_, slice_, ranks=bits), each)

    name = f"{count} ranks of {each} over host, {local}/{slice_}, {gpus} GPU {'' if gpus else device.name}"
    fewest = local + peers_ + bits + 1
    found = PlacementCase(name, make, (fewest, fewest + (6 if gpus else 2)), gpus=gpus)
    return on_gpus(found) if gpus else found


BY_HAND: list[Any] = [
    PlacementCase("single", lambda num_wires, dtype: single(num_wires, dtype, CPU), (0, 6)),
    held(1, 0),
    held(3, 0),
    held(3, 1),
    held(4, 3),
    held(2, 1, 1),
    held(4, 2, 2),
    held(3, 1, 3, stays=True),
    held(4, 1, device=PlainDevice()),
    migrated(1, 1, 4, 1, "whole"),
    migrated(1, 2, 4, 1, "spread"),
    migrated(2, 0, 3, 3, "whole"),
    migrated(3, 1, 3, 2, "spread"),
    migrated(4, 0, 2, 3, "spread"),
    migrated(4, 1, 3, 2, "whole", LateDevice(Machine())),
    peers(2, 0, "peer"),
    peers(4, 1, "through the host"),
    peers(8, 0, "peer"),
    over_host(2, 3, 0, "through the host"),
    over_host(4, 4, 2, "peer"),
    ranks(1, 0),
    ranks(2, 0),
    ranks(2, 2),
    ranks(4, 1),
    ranks(2, 0, each=2),
    ranks(1, 1, each=4),
    ranks(2, 0, device=SharingCpu()),
    ranks(4, 1, device=SharingCpu()),
    ranks(2, 1, each=2, device=SharingCpu()),
    ranks(2, 1, device=SharedCpu(1)),
    ranks_over_host(2, 2, 0),
    ranks_over_host(2, 3, 1),
    ranks_over_host(4, 2, 1),
    ranks_over_host(2, 2, 0, each=2),
    on_gpus(PlacementCase("single, 1 GPU", lambda num_wires, dtype: single(num_wires, dtype, gpu(0)), (0, 9), gpus=1)),
    migrated(1, 2, 6, 1, "whole", gpus=1),
    migrated(3, 2, 5, 3, "spread", gpus=1),
    migrated(5, 1, 4, 3, "whole", gpus=1),
    peers(2, 1, "through the host", gpus=1),
    peers(2, 1, "peer", gpus=2),
    peers(4, 2, "peer", gpus=4),
    over_host(2, 4, 2, "through the host", gpus=1),
    ranks(2, 1, gpus=1),
    ranks(4, 1, gpus=1),
    ranks(2, 1, each=2, gpus=1),
    ranks(2, 1, gpus=2),
    ranks_over_host(2, 5, 2, gpus=1),
    ranks_over_host(2, 5, 2, each=2, gpus=1),
    over_host(2, 4, 2, "peer", gpus=2),
    over_host(4, 5, 2, "peer", gpus=4),
]


def from_table(row: DeploymentRow) -> PlacementCase:
    """A row of the table of deployments, laid out and created by its kind of placement."""
    options = Options(device="cpu", **row.options)
    free = FreeMemory(True, ((0, 1 << 30),), 1 << 30)

    def make(num_wires: int, dtype: np.dtype[Any]) -> Any:
        found = next(candidates(num_wires, options, free))
        made = kinds.KINDS[found.kind].module.create(found, [CPU] * len(found.devices), dtype, None)
        assert made.kind == row.kind
        return made

    fewest = max(row.wires, 2 * (len(row.devices).bit_length() - 1))
    return PlacementCase(f"{row} by options", make, (fewest, max(fewest + 2, 6)))


@pytest.fixture(params=[*BY_HAND, *map(from_table, ON_CPU.values())], ids=str)
def deployment(request: pytest.FixtureRequest) -> PlacementCase:
    """Each way to hold a state."""
    found: PlacementCase = request.param
    if found.gpus and (reason := gpu_missing(found.gpus)):
        pytest.skip(reason)
    return found


def gpu_missing(count: int) -> str:
    """Return why there are fewer GPUs here, or an empty string."""
    try:
        gpu(count - 1)
    except (DeviceError, MissingPackage) as error:
        return str(error)
    return ""


class TestPlacements(Contract):
    """Each case fulfils the contract; each question is asked in both precisions."""
