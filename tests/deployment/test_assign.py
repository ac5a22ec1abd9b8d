"""The rule that chooses a device, and the reasons it gives."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from support.plain_device import PlainDevice

from qsim_ex.deployment import assign
from qsim_ex.deployment.hypothetical import assign_hypothetical
from qsim_ex.devices import discover
from qsim_ex.errors import DeviceError, MissingPackage, OutOfMemory
from qsim_ex.options import Options


class PlainGpu(PlainDevice):
    """A GPU as far as the rule can see."""

    kind: Any = "gpu"
    in_host_memory = False
    name = "gpu:0"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> PlainDevice:
    """A host with 12 GiB and no GPU."""
    device = PlainDevice(free=12 << 30)
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: device)
    monkeypatch.setattr(discover, "HOST", device)
    monkeypatch.setattr(discover, "driver_count", lambda: 0)
    return device


@pytest.fixture
def card(host: PlainDevice, monkeypatch: pytest.MonkeyPatch) -> PlainGpu:
    """The same host with a GPU of 4 GiB."""
    assert host.kind == "cpu"
    device = PlainGpu(free=4 << 30)
    monkeypatch.setattr(discover, "gpu_missing", lambda: None)
    monkeypatch.setattr(discover, "gpu", lambda _id=0: device)
    monkeypatch.setattr(discover, "gpu_count", lambda: 1)
    monkeypatch.setattr(discover, "generation", lambda _id: "90")
    return device


def test_auto_without_a_gpu_is_the_cpu(host: PlainDevice) -> None:
    """'auto' takes the CPU where there is no GPU, and says so."""
    where = assign.assign(20, Options())
    assert where.device is host
    assert where.reason.startswith("auto: no GPU found")
    assert (where.needed, where.free) == (16 << 20, 12 << 30)


def test_auto_takes_the_gpu_for_large_states(host: PlainDevice, card: PlainGpu) -> None:
    """'auto' takes the GPU for large states and the CPU for small ones, and says why."""
    assert assign.assign(discover.GPU_FROM, Options()).device is card
    assert assign.assign(discover.GPU_FROM, Options()).reason == "auto: a GPU is present"
    small = assign.assign(discover.GPU_FROM - 1, Options())
    assert small.device is host
    assert "faster on the CPU" in small.reason


def test_auto_takes_host_memory_for_what_only_fits_there(host: PlainDevice, card: PlainGpu) -> None:
    """'auto' divides a state that only a GPU and the host together can hold, and says why."""
    where = assign.assign(29, Options())
    assert (where.device, where.deployment.kind, where.deployment.levels.local) == (card, "migrated", 26)
    assert where.reason == "auto: a GPU is present; single needs 8 GiB on GPU 0, GPU 0 has 4 GiB free"
    assert where.needed == (3 << 30) + (1 << 26)
    assert assign.assign(29, Options(precision="single")).deployment.kind == "single"
    assert host.memory()[0] >= where.deployment.host_bytes


def test_auto_takes_the_host_where_the_gpu_is_full(
    host: PlainDevice, card: PlainGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    """'auto' takes the host where the GPU is full, and says why."""
    monkeypatch.setattr(card, "_free", 1 << 20)
    where = assign.assign(29, Options())
    assert where.device is host
    assert "needs 8 GiB on GPU 0, GPU 0 has 1 MiB free" in where.reason


def test_a_demand_is_never_softened(host: PlainDevice, card: PlainGpu) -> None:
    """device='gpu' stays on the GPU or raises OutOfMemory, and device='cpu' stays on the CPU or does."""
    assert assign.assign(4, Options(device="gpu")).device is card
    assert assign.assign(20, Options(device="cpu")).device is host
    message = r"30 wires in complex128 need 16 GiB\. single needs 16 GiB on GPU 0, GPU 0 has 4 GiB free; "
    with pytest.raises(OutOfMemory, match=message):
        assign.assign(30, Options(device="gpu"))
    assert assign.assign(29, Options(device="gpu", max_memory=8 << 30)).free == 8 << 30
    with pytest.raises(OutOfMemory, match=r"need 16 GiB; the host has 12 GiB free"):
        assign.assign(30, Options(device="cpu"))


def test_devices_that_are_not_there(card: PlainGpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices that are absent, or of several generations, are refused, and the message names them."""
    assert assign.assign(20, Options(devices=(0,))).device is card
    with pytest.raises(DeviceError, match=r"got devices=\[0, 1\], of which GPU 1 is not there; only GPU 0 is there"):
        assign.assign(20, Options(devices=(0, 1)))
    with pytest.raises(DeviceError, match="only GPU 0"):
        assign.assign(20, Options(devices=(5,)))
    monkeypatch.setattr(discover, "gpu_count", lambda: 2)
    where = assign.assign(20, Options(devices=(0, 1)))
    assert (where.deployment.kind, len(where.devices)) == ("peers", 2)
    monkeypatch.setattr(discover, "generation", lambda number: ("80", "90")[number])
    with pytest.raises(DeviceError, match=r"2 compute capabilities \(GPU 0 has 80, GPU 1 has 90\)"):
        assign.assign(20, Options(devices=(0, 1)))
    assert assign.assign(29, Options()).deployment.devices == (0,)  # a GPU of another generation is left alone


def test_a_plan_needs_no_gpu(host: PlainDevice) -> None:
    """A plan for GPUs that are not here can be made, and its reason says that they are not here."""
    device, deployment = assign_hypothetical(
        38, Options(devices=(0, 1, 2, 3), max_memory=139 << 30, precision="single")
    )
    assert (device.name, deployment.kind) == ("gpu:0", "peers over host")
    assert "not on this machine" in deployment.reason
    for wires in (50, 1000):
        assert assign_hypothetical(wires, Options(device="cpu"))[1].reason == "asked for; it does not fit there"
    assert assign_hypothetical(20, Options())[0] is host
    assert assign_hypothetical(30, Options(device="gpu", device_wires=28))[1].kind == "migrated"
    with pytest.raises(DeviceError, match="no GPU found"):
        assign_hypothetical(30, Options(device="gpu"))


@pytest.mark.usefixtures("host")
def test_a_missing_gpu_is_named() -> None:
    """device='gpu' without a GPU raises an error."""
    with pytest.raises(DeviceError, match="no GPU found"):
        assign.assign(20, Options(device="gpu"))


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize(
    ("driver", "expected"), [(None, "There is no NVIDIA driver; use"), (object(), "The NVIDIA driver lists none; use")]
)
def test_a_missing_driver_is_told_from_a_missing_gpu(
    driver: object, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error without a GPU says whether there is a driver."""
    monkeypatch.setattr(discover, "driver_count", lambda: 0)
    monkeypatch.setattr(discover, "_driver", lambda: driver)
    with pytest.raises(DeviceError, match=expected):
        assign.assign(20, Options(device="gpu"))


def test_a_missing_driver_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no driver, the file system is not searched for one in every run."""
    discover.cpu()  # which loads libraries of its own
    looked: list[str] = []

    def absent(name: str) -> None:
        looked.append(name)
        raise OSError

    monkeypatch.setattr("ctypes.CDLL", absent)
    for found_once in (discover._driver, discover.driver_count):
        found_once.cache_clear()
    try:
        reasons = {assign.assign(2, Options()).reason for _ in range(3)}
    finally:
        for found_once in (discover._driver, discover.driver_count):
            found_once.cache_clear()
    assert len(reasons) == 1
    assert len(looked) == len({*looked})


def test_a_missing_package_is_named(host: PlainDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where CuPy is missing, the error and the reason of 'auto' name the command that installs it."""
    monkeypatch.setattr(discover, "driver_count", lambda: 1)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(MissingPackage, match=r"pip install 'qsim-ex\[cuda12\]'"):
        assign.assign(20, Options(device="gpu"))
    where = assign.assign(20, Options())
    assert where.device is host
    assert "pip install" in where.reason
