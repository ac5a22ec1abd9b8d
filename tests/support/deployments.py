"""The one table of ways to place a state that tests try: a way is a row of options.

Tests take their ways from `ON_CPU` and `ON_GPUS`, or select among `ROWS`; none of them has a list of its own. A new
placement is one more row here, and every test of whole runs, files, checkpoints, sums of memory and the contract of
placements then tries it. Numbers of wires are so small that circuits of eight wires climb every level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DeploymentRow:
    """Options that lead to one kind of placement.

    kind: the name of its row in `qsim_ex.placement.kinds`. options: as `Simulator` and `StateVector` take them.
    wires: the fewest wires for which the options lead to this kind. gpus: how many GPUs it is for; 0 is for the CPU.
    """

    name: str
    kind: str
    options: Mapping[str, Any]
    wires: int
    gpus: int = 0

    def __str__(self) -> str:
        return self.name

    @property
    def devices(self) -> tuple[int, ...]:
        """The number of the device of each peer; a device that several peers share is there several times."""
        each = self.options.get("virtual_peers", 1)
        return tuple(number for number in self.options.get("devices", (0,)) for _ in range(each))


def _gpus(count: int, **options: Any) -> dict[str, Any]:
    """Options for a state over some GPUs."""
    return {"devices": tuple(range(count)), **options}


ROWS: tuple[DeploymentRow, ...] = (
    # On the CPU.
    DeploymentRow("single", "single", {}, 0),
    DeploymentRow("peers 2", "peers", {"virtual_peers": 2}, 2),
    DeploymentRow("peers 4", "peers", {"virtual_peers": 4}, 3),
    DeploymentRow("peers 8, mesh", "peers", {"virtual_peers": 8, "network": "mesh"}, 4),
    DeploymentRow("peers 8, layers", "peers", {"virtual_peers": 8, "network": [(2, "nvlink"), (1, "ib")]}, 4),
    DeploymentRow("migrated, 3 windows", "migrated", {"device_wires": 5}, 6),
    DeploymentRow(
        "migrated, spread", "migrated", {"device_wires": 5, "host_memory": "spread", "in_flight_buffers": 2}, 6
    ),
    DeploymentRow(
        "migrated, one window", "migrated", {"device_wires": 4, "in_flight_buffers": 1, "window_slots": 4}, 5
    ),
    DeploymentRow("migrated, 5 windows", "migrated", {"device_wires": 4, "in_flight_buffers": 5, "window_slots": 4}, 5),
    DeploymentRow("peers over host", "peers over host", {"virtual_peers": 2, "device_wires": 5}, 7),
    DeploymentRow(
        "peers over host, one buffer",
        "peers over host",
        {"virtual_peers": 4, "device_wires": 4, "in_flight_buffers": 1},
        7,
    ),
    DeploymentRow(
        "peers over host, mesh",
        "peers over host",
        {"virtual_peers": 4, "device_wires": 4, "in_flight_buffers": 2, "network": "mesh"},
        7,
    ),
    # On GPUs, whose tiles are larger.
    DeploymentRow("peers 2 on 1 GPU", "peers", {"virtual_peers": 2}, 2, 1),
    DeploymentRow("peers 4 on 1 GPU", "peers", {"virtual_peers": 4}, 3, 1),
    DeploymentRow("migrated, 1 GPU", "migrated", {"device_wires": 11}, 12, 1),
    DeploymentRow("migrated, 1 GPU, spread", "migrated", {"device_wires": 11, "host_memory": "spread"}, 12, 1),
    DeploymentRow("migrated, 1 GPU, one window", "migrated", {"device_wires": 9, "in_flight_buffers": 1}, 10, 1),
    DeploymentRow("peers over host, 1 GPU", "peers over host", {"virtual_peers": 2, "device_wires": 10}, 12, 1),
    DeploymentRow("2 GPUs", "peers", _gpus(2), 2, 2),
    DeploymentRow("4 GPUs", "peers", _gpus(4), 3, 4),
    DeploymentRow("4 GPUs, mesh", "peers", _gpus(4, network="mesh"), 3, 4),
    DeploymentRow("peers 4 on 2 GPUs", "peers", _gpus(2, virtual_peers=2), 3, 2),
    DeploymentRow("2 GPUs over host", "peers over host", _gpus(2, device_wires=10), 12, 2),
    DeploymentRow("peers 4 on 2 GPUs over host", "peers over host", _gpus(2, virtual_peers=2, device_wires=10), 13, 2),
)

ON_CPU: dict[str, DeploymentRow] = {row.name: row for row in ROWS if not row.gpus}
"""The rows that run everywhere, by name."""

ON_GPUS: dict[str, DeploymentRow] = {row.name: row for row in ROWS if row.gpus}
"""The rows that need GPUs, by name."""
