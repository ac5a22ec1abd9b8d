"""Every way in which this version divides a state, with capacities so tiny that circuits of eight wires climb them."""

from __future__ import annotations

from typing import Any

from support.plain_device import PlainDevice

from qsim_ex.devices.cpu.device import HostCopies

DEPLOYMENTS: dict[str, dict[str, Any]] = {
    "single": {},
    "peers 2": {"virtual_peers": 2},
    "peers 4": {"virtual_peers": 4},
    "migrated, 3 windows": {"device_wires": 5},
    "migrated, spread": {"device_wires": 5, "host_memory": "spread", "in_flight_buffers": 2},
    "migrated, one window": {"device_wires": 4, "in_flight_buffers": 1, "window_slots": 4},
    "peers over host": {"virtual_peers": 2, "device_wires": 5},
    "peers over host, one buffer": {"virtual_peers": 4, "device_wires": 4, "in_flight_buffers": 1},
}
"""Options on the CPU for states of at least six wires."""


class TinyMachine(PlainDevice, HostCopies):
    """The machine of `plain`, on which circuits of ten wires have many sweeps, with memory that others may fill."""
