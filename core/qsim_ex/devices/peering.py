"""Copies between the memories of two devices: which go straight, and which through the host."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from qsim_ex.devices.base import Device

Link = Literal["same device", "peer", "through the host"]

_ALREADY_ENABLED = 704
"""cudaErrorPeerAccessAlreadyEnabled, which CuPy does not name: other code in this process has enabled it."""


def link(device: Device, other: Device) -> Link:
    """Return how amplitudes get from one device to another; enable peer access if the driver allows it."""
    if device.name == other.name:
        return "same device"
    if device.kind == "gpu" == other.kind and _peers(_gpu(device), _gpu(other)) and _peers(_gpu(other), _gpu(device)):
        return "peer"
    return "through the host"


def _gpu(device: Device) -> int:
    """Return the driver's number of a GPU, whose name is "gpu:0"."""
    return int(device.name.partition(":")[2])


@lru_cache(maxsize=256)
def _peers(device_id: int, other_id: int) -> bool:
    """Return whether one GPU can read and write another's memory, and enable it.

    The driver is asked once: for four GPUs the twelve questions took a tenth of the time of a small state.
    """
    import cupy

    runtime = cupy.cuda.runtime
    if not runtime.deviceCanAccessPeer(device_id, other_id):
        return False
    with cupy.cuda.Device(device_id):
        try:
            runtime.deviceEnablePeerAccess(other_id)
        except runtime.CUDARuntimeError as error:
            if error.status != _ALREADY_ENABLED:
                raise
    return True
