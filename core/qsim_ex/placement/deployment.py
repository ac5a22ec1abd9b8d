"""The deployment of a state: a placement that is described and not made yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from qsim_ex.display.amounts import human
from qsim_ex.precision import Storage
from qsim_ex.steps.layout import Levels


@dataclass(frozen=True, slots=True)
class Deployment:
    """The memory in which the amplitudes of a state will be stored.

    kind: the name of its row in `placement.kinds`. levels: how its index bits are divided.
    devices: the number of each peer's device, repeated where peers share a device.
    in_flight: how many sub state vectors each device holds at a time.
    host_memory: the slices with a place on the host ('whole' or 'spread', see `Options`); None without migration bits.
    device_bytes: bytes of amplitudes on each peer's device, for each of its peers. host_bytes: on the host.
    reason: why this placement was chosen.
    in_one_piece: whether one buffer on one device holds the state, so that it may grow and be worked on beside others.
    planning_levels: the levels that a plan for the state needs; None for a state in one piece.
    """

    kind: str
    num_wires: int
    levels: Levels
    devices: tuple[int, ...]
    in_flight: int
    host_memory: Literal["whole", "spread"] | None
    device_bytes: int
    host_bytes: int
    reason: str
    in_one_piece: bool = field(init=False, repr=False)
    planning_levels: Levels | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        piece = self.levels.local == self.num_wires and self.host_memory is None
        object.__setattr__(self, "in_one_piece", piece)
        object.__setattr__(self, "planning_levels", None if piece else self.levels)

    @property
    def migration(self) -> int:
        """The number of migration bits."""
        return self.num_wires - self.levels.local - self.levels.peers

    def to_json(self) -> dict[str, object]:
        """Return all fields as JSON values, with the number of index bits of each kind."""
        return {
            "kind": self.kind,
            "num_wires": self.num_wires,
            "device_wires": self.levels.local,
            "peer_wires": self.levels.peers,
            "migration_wires": self.migration,
            "slice_wires": self.levels.slice,
            "network": [layer.to_json() for layer in self.levels.layers] or self.levels.network,
            "devices": list(self.devices),
            "in_flight_buffers": self.in_flight,
            "host_memory": self.host_memory,
            "bytes_per_device": self.device_bytes,
            "bytes_on_host": self.host_bytes,
            "reason": self.reason,
        }

    def describe(self) -> str:
        """Return a description in one line."""
        words = f"{self.kind}: {describe_division(self)}, {human(self.device_bytes)} on each device"
        if self.host_memory:
            words += f", {human(self.host_bytes)} on the host ({self.host_memory})"
        return f"{words} ({self.reason})"


@lru_cache(maxsize=256)
def single(num_wires: int, storage: Storage, device: int, reason: str) -> Deployment:
    """Return the deployment as one buffer on one device; made once for each number of wires."""
    return Deployment(
        "single", num_wires, Levels(num_wires), (device,), 1, None, storage.nbytes(1 << num_wires), 0, reason
    )


def describe_division(candidate: Deployment) -> str:
    """Return the number of sub state vectors, in words."""
    count = 1 << (candidate.num_wires - candidate.levels.local)
    return "1 state vector" if count == 1 else f"{count} sub state vectors of {candidate.levels.local} wires"
