"""There is one sum of memory: what a placement was chosen by is what it allocates, for every row of the table."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from support.plain_device import PlainDevice

from qsim_ex.deployment.choice import candidates
from qsim_ex.devices.cpu.device import HostCopies
from qsim_ex.devices.peering import link
from qsim_ex.options import Options
from qsim_ex.placement import kinds
from qsim_ex.placement.request import FreeMemory

GIB = 1 << 30
WIRES = (8, 11)

REQUESTS: list[dict[str, Any]] = [
    {},
    {"device_wires": 5},
    {"device_wires": 5, "host_memory": "spread"},
    {"device_wires": 6, "in_flight_buffers": 1},
    {"device_wires": 4, "in_flight_buffers": 5, "window_slots": 4},
    {"virtual_peers": 2},
    {"virtual_peers": 8, "network": "mesh"},
    {"virtual_peers": 2, "device_wires": 5},
    {"virtual_peers": 4, "device_wires": 4, "in_flight_buffers": 2, "network": "mesh"},
    {"devices": (0, 1)},
    {"devices": (0, 1, 2, 3), "network": "mesh"},
    {"devices": (0, 1), "virtual_peers": 2},
    {"devices": (0, 1), "device_wires": 4},
    {"devices": (0, 1), "virtual_peers": 2, "device_wires": 4},
]
"""Options that every row has some of; devices of different numbers reach one another through the host."""


class Counting(PlainDevice, HostCopies):
    """A device that counts the bytes that it is asked for: on itself, and on the host."""

    def __init__(self, number: int, asked: Counter[str]) -> None:
        super().__init__()
        self.name = f"device {number}"
        self._asked = asked

    def allocate(self, num_amplitudes: int, dtype: DTypeLike) -> Any:
        """A buffer, counted."""
        self._asked[self.name] += num_amplitudes * np.dtype(dtype).itemsize
        return super().allocate(num_amplitudes, dtype)

    def host_memory(self, num_amplitudes: int, dtype: DTypeLike) -> tuple[Any, str]:
        """Host memory, counted."""
        self._asked["host"] += num_amplitudes * np.dtype(dtype).itemsize
        return super().host_memory(num_amplitudes, dtype)


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("changes", REQUESTS, ids=str)
def test_what_was_summed_is_allocated(changes: dict[str, Any], precision: Any) -> None:
    """The bytes of every candidate, on each device and on the host, are those that its placement asks devices for."""
    asked: Counter[str] = Counter()
    devices = [Counting(number, asked) for number in range(4)]
    free = FreeMemory(
        "gpu", tuple((n, GIB) for n in range(4)), GIB, lambda one, other: link(devices[one], devices[other])
    )
    options = Options(**{"device": "auto", "precision": precision, **changes})
    seen = 0
    for num_wires in WIRES:
        for found in candidates(num_wires, options, free):
            asked.clear()
            made = kinds.KINDS[found.kind].create(found, [devices[n] for n in found.devices], options.dtype, None)
            expected = {f"device {n}": found.device_bytes * count for n, count in Counter(found.devices).items()}
            assert dict(asked) == expected | ({"host": found.host_bytes} if found.host_bytes else {})
            assert (made.kind, made.num_wires, made.levels) == (found.kind, num_wires, found.levels)
            made.release()
            seen += 1
    assert seen


def test_every_row_is_asked() -> None:
    """The requests above have every row of the table among their candidates, and both uses of host memory."""
    free = FreeMemory("gpu", tuple((n, GIB) for n in range(4)), GIB)
    found = [one for changes in REQUESTS for one in candidates(8, Options(**changes), free)]
    assert {one.kind for one in found} == {row.name for row in tuple(kinds.KINDS.values())}
    assert {one.host_memory for one in found} == {None, "whole", "spread"}


def test_a_row_from_outside() -> None:
    """A registered row is preferred while it lasts and gone afterwards, and no name is in the table twice."""
    before = tuple(kinds.KINDS.values())
    row = kinds.PlacementKind("elsewhere", True, before[0].lay_out, before[0].create)
    with kinds.registered(row):
        assert tuple(kinds.KINDS.values()) == (row, *before)
        with pytest.raises(ValueError, match="got 'elsewhere', which is in the table already"), kinds.registered(row):
            pass
    assert tuple(kinds.KINDS.values()) == before
