"""The placement that is chosen fits and is the first that does; where none fits, the error shows every sum."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qsim_ex.deployment.choice import candidates, deploy
from qsim_ex.devices.memory import state_bytes
from qsim_ex.display.amounts import human
from qsim_ex.errors import OptionError, OutOfMemory
from qsim_ex.options import Options
from qsim_ex.options.network import LINKS
from qsim_ex.placement.deployment import Deployment, FreeMemory

GIB = 1 << 30
H200 = 139 * GIB


def gpus(count: int, each: int = H200, host: int = 500 * GIB) -> FreeMemory:
    """Return the free memory of this many equal GPUs."""
    return FreeMemory(False, tuple((number, each) for number in range(count)), host)


def fits(found: Deployment, free: FreeMemory) -> bool:
    """Whether every device and the host have what a placement takes."""
    devices = all(found.device_bytes * found.devices.count(n) <= dict(free.devices)[n] for n in set(found.devices))
    return devices and found.host_bytes <= free.host


@pytest.mark.parametrize(
    ("wires", "count", "host", "kind", "local", "devices"),
    [
        (34, 4, 500 * GIB, "single", 34, 1),
        (35, 4, 500 * GIB, "peers", 34, 2),
        (35, 1, 500 * GIB, "migrated", 32, 1),
        (36, 4, 500 * GIB, "peers", 34, 4),
        (37, 4, 900 * GIB, "migrated", 32, 1),
        (37, 8, 0, "peers", 34, 8),
        (20, 1, 0, "single", 20, 1),
    ],
)
def test_the_smallest_that_fits(wires: int, count: int, host: int, kind: str, local: int, devices: int) -> None:
    """A state takes the fewest devices on which it fits, and host memory only where devices do not suffice."""
    found = deploy(wires, Options(precision="single"), gpus(count, host=host))
    assert (found.kind, found.levels.local, len(found.devices)) == (kind, local, devices)
    assert fits(found, gpus(count, host=host))


def test_a_placement_is_described_in_a_line() -> None:
    """The description says how the state is divided, the bytes of each device, those of the host if any, and why."""
    one, many = (deploy(wires, Options(precision="single"), gpus(1)) for wires in (20, 35))
    assert one.describe() == f"single: 1 state vector, {human(one.device_bytes)} on each device ({one.reason})"
    device, host = human(many.device_bytes), human(many.host_bytes)
    assert many.describe() == (
        f"migrated: 8 sub state vectors of 32 wires, {device} on each device, {host} on the host ({many.host_memory}) "
        f"({many.reason})"
    )


def test_every_table_of_free_bytes() -> None:
    """The chosen placement is the first that fits, has every wire, and holds the bytes of the state."""
    sizes = (1 << 10, 5 * GIB, H200)
    tables = [
        FreeMemory(False, tuple(enumerate(each)), host)
        for count in (1, 2, 3)
        for each in product(sizes, repeat=count)
        for host in (0, 9 * GIB, 800 * GIB, 2000 * GIB)
        if list(each) == sorted(each)
    ]
    kinds = set()
    for free, wires, precision, pair in product(tables, (1, 15, 29, 34, 37), ("single", "double"), (0, 1)):
        if pair and (len(free.devices) < 2 or wires == 1):
            continue
        options = Options(precision=precision, devices=(0, 1) if pair else None)  # type: ignore[arg-type]
        every = list(candidates(wires, options, free)) if wires > 2 else []
        try:
            found = deploy(wires, options, free)
        except OutOfMemory as error:
            assert not any(fits(one, free) for one in every)
            told = str(error)
            assert told.count("needs") == len(every) or wires <= 2
            continue
        kinds.add(found.kind)
        assert fits(found, free)
        if every:
            first = next(one for one in every if fits(one, free))
            assert (first.kind, first.levels, first.devices) == (found.kind, found.levels, found.devices)
        assert found.levels.local + found.levels.peers + found.migration == wires
        assert 0 <= found.levels.slice <= found.levels.local
        assert len(found.devices) == 1 << found.levels.peers
        assert found.device_bytes * len(found.devices) + found.host_bytes >= state_bytes(wires, options.dtype)
        assert found.reason
    assert kinds == {"single", "peers", "migrated", "peers over host"}


@given(
    wires=st.integers(1, 12),
    device_wires=st.integers(1, 12),
    shared=st.sampled_from([1, 2, 4]),
    memory=st.sampled_from(["auto", "whole", "spread"]),
    flight=st.sampled_from([None, 1, 2, 5]),
)
def test_demands_are_met_on_the_cpu(wires: int, device_wires: int, shared: int, memory: Any, flight: Any) -> None:
    """The sub state vectors, peers, host memory and buffers that are asked for are those that are laid out."""
    options = Options(
        device="cpu",
        device_wires=device_wires,
        virtual_peers=shared,
        host_memory=memory,
        in_flight_buffers=flight,
    )
    free = FreeMemory(True, ((0, GIB),), GIB)
    peers = shared.bit_length() - 1
    if peers and device_wires + peers > wires:
        with pytest.raises(OptionError, match="device_wires"):
            deploy(wires, options, free)
        return
    if shared > 1 and memory == "spread" and device_wires + peers < wires:
        with pytest.raises(OptionError, match="'spread' is for one device"):
            deploy(wires, options, free)
        return
    found = deploy(wires, options, free)
    assert found.levels.local == min(device_wires, wires)
    assert found.levels.peers == peers
    assert found.devices == (0,) * shared
    assert (found.host_memory is None) == (found.migration == 0)
    if found.migration:
        assert found.host_memory == ("whole" if memory == "auto" else memory)
        assert 1 <= found.in_flight <= 1 << found.migration
        assert found.in_flight == min(flight, 1 << found.migration) if flight else True


def test_device_wires_and_devices_are_demands() -> None:
    """A state is laid out as asked for, and its reason says that it was asked for."""
    found = deploy(30, Options(devices=[0, 1, 2, 3], device_wires=28), gpus(4))  # type: ignore[arg-type]
    assert (found.kind, found.levels.local, found.devices) == ("peers", 28, (0, 1, 2, 3))
    assert found.reason == "asked for: device_wires=28, 4 devices"
    assert deploy(30, Options(devices=(2, 3)), gpus(4)).devices == (2, 3)
    assert deploy(30, Options(device_wires=28), gpus(4)).kind == "migrated"
    assert deploy(20, Options(device_wires=28), gpus(4)).kind == "single"
    assert deploy(33, Options(devices=(0, 1), device_wires=28), gpus(4)).kind == "peers over host"
    assert deploy(30, Options(device_wires=28, host_memory="spread"), gpus(1)).host_memory == "spread"
    assert deploy(30, Options(device_wires=28, window_slots=16), gpus(1)).levels.slice == 24
    assert deploy(30, Options(virtual_peers=4), gpus(1)).devices == (0, 0, 0, 0)
    assert deploy(30, Options(network="mesh", virtual_peers=4), gpus(1)).levels.network == "mesh"
    layers = Options(network=[(1, "nvlink"), (3, "ib")], virtual_peers=4)
    assert [(one.bits, one.link) for one in deploy(30, layers, gpus(1)).levels.layers] == [(1, "nvlink"), (1, "ib")]
    assert deploy(30, layers, gpus(1)).to_json()["network"] == [
        {"bits": 1, "link": "nvlink", "bytes_per_second": LINKS["nvlink"]},
        {"bits": 1, "link": "ib", "bytes_per_second": LINKS["ib"]},
    ]
    with pytest.raises(OptionError, match="expected layers of 2 bits for 4 devices, got 1 bits"):
        deploy(30, Options(network=[(1, "nvlink")], virtual_peers=4), gpus(1))


def test_max_memory_is_believed() -> None:
    """`max_memory` and `max_host_memory` count in place of the free memory, and the error names both."""
    low = gpus(1, each=GIB, host=GIB)
    assert deploy(34, Options(precision="single", max_memory=H200), low).kind == "single"
    found = deploy(36, Options(precision="single", max_memory=H200, max_host_memory=600 * GIB), low)
    assert (found.kind, found.levels.local, found.host_memory) == ("migrated", 32, "whole")
    with pytest.raises(OutOfMemory, match=r"max_host_memory allows 2 GiB, the host has 1 GiB free"):
        deploy(36, Options(precision="single", max_memory=H200, max_host_memory=2 * GIB), low)


@pytest.mark.parametrize(
    ("wires", "changes", "error", "message"),
    [
        (30, {"devices": (0, 1), "device_wires": 30}, OptionError, r"make 31 wires .* has 30\. Pass device_wires=29"),
        (1, {"devices": (0, 1)}, OptionError, "expected at least 2 wires for 2 devices.* got 1"),
        (30, {"device_wires": 28, "window_slots": 1 << 29}, OptionError, "window_slots from 2 to 268435456 "),
        (36, {"device_wires": 35}, OutOfMemory, r"windows of 35 wires.* needs 256\.1 GiB on GPU 0.*device_wires=34"),
        (35, {"devices": (0,), "max_host_memory": 1}, OutOfMemory, r"34 wires, devices=\[0, 1\] or 256 GiB"),
        (36, {"precision": "double", "max_host_memory": 1}, OutOfMemory, r"It would fit with precision='single', 35"),
    ],
)
def test_what_cannot_be_is_told(wires: int, changes: dict[str, Any], error: type[Exception], message: str) -> None:
    """An impossible demand is refused, and the error says what would fit."""
    with pytest.raises(error, match=message):
        deploy(wires, Options(**{"precision": "single", **changes}), gpus(4))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"devices": [0, 1, 2]}, r"a power of two of GPUs, got 3: .*; pass 2 of them, such as devices=\[0, 1\]"),
        ({"devices": [0, 1, 1, 0]}, r"each GPU once, got .* with GPU 0, 1 more than once"),
        ({"devices": []}, "GPU numbers from 0 up"),
        ({"devices": 2}, "expected a list of GPU numbers, got 2"),
        ({"devices": [0, -1]}, "GPU numbers from 0 up"),
        ({"devices": [0, 1], "device": "cpu"}, "virtual_peers"),
        ({"virtual_peers": 3}, "expected a power of two, got 3; pass virtual_peers=2"),
        ({"virtual_peers": np.int64(6)}, "expected a power of two, got 6; pass virtual_peers=4"),
        ({"window_slots": 6}, "a power of two"),
        ({"device_wires": 2.5}, "whole number from 1"),
        ({"in_flight_buffers": 0}, "from 1 up"),
        ({"network": "ring"}, "'switch', 'mesh'"),
        ({"network": 3}, "a list of layers, got 3; pass network="),
        ({"host_memory": "half"}, "'whole', 'spread'"),
        ({"checkpoint_every": -1}, "expected seconds >= 0, got -1"),
        ({"checkpoint": 3}, "the path of a file"),
        ({"watch": 3}, "Progress"),
    ],
)
def test_options_that_cannot_be_meant(changes: dict[str, Any], message: str) -> None:
    """A meaningless value of an option is refused."""
    with pytest.raises(OptionError, match=message):
        Options(**changes)


def test_a_misspelt_option_is_named() -> None:
    """The error for a misspelt option names the nearest one."""
    with pytest.raises(OptionError, match="Did you mean 'device_wires'"):
        Options().with_({"device_wire": 3})
