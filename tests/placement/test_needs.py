"""There is one sum of memory: a placement allocates what it was chosen by, for every row of the table."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from support.deployments import ROWS, DeploymentRow
from support.plain_device import PlainDevice

from qsim_ex.deployment.choice import candidates
from qsim_ex.devices.memory import HostCopies
from qsim_ex.devices.peering import link
from qsim_ex.options import Options
from qsim_ex.placement import kinds
from qsim_ex.placement.deployment import FreeMemory

GIB = 1 << 30


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
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_what_was_summed_is_allocated(row: DeploymentRow, precision: Any) -> None:
    """The bytes of every candidate, on each device and on the host, are those that its placement asks devices for."""
    asked: Counter[str] = Counter()
    devices = [Counting(number, asked) for number in range(4)]
    free = FreeMemory(
        False, tuple((n, GIB) for n in range(4)), GIB, lambda one, other: link(devices[one], devices[other])
    )
    options = Options(**{"device": "auto", "precision": precision, **row.options})
    seen = set()
    for num_wires in (max(row.wires, 8), max(row.wires, 8) + 3):
        for found in candidates(num_wires, options, free):
            asked.clear()
            on = [devices[n] for n in found.devices]
            made = kinds.KINDS[found.kind].module.create(found, on, options.dtype, None)
            expected = {f"device {n}": found.device_bytes * count for n, count in Counter(found.devices).items()}
            assert dict(asked) == expected | ({"host": found.host_bytes} if found.host_bytes else {})
            assert (made.kind, made.num_wires, made.levels) == (found.kind, num_wires, found.levels)
            made.release()
            seen.add(made.kind)
    assert row.kind in seen


def test_a_row_from_outside() -> None:
    """A registered row is preferred while it lasts and gone afterwards, and no name is in the table twice."""
    before = tuple(kinds.KINDS.values())
    row = kinds.PlacementKind("elsewhere", True, before[0].module)
    with kinds.registered(row):
        assert tuple(kinds.KINDS.values()) == (row, *before)
        with pytest.raises(ValueError, match="got 'elsewhere', which is in the table already"), kinds.registered(row):
            pass
    assert tuple(kinds.KINDS.values()) == before
