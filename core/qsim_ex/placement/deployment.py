"""The deployment of a state: a placement that is described and not made yet, and the request that it answers.

Everything here is arithmetic. A row of `kinds` answers a request (how many wires, on which devices, with which options
and how much free memory) with deployments, each with its sum of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

from qsim_ex.devices.peering import Link
from qsim_ex.display.amounts import human
from qsim_ex.errors import OptionError
from qsim_ex.options import Options
from qsim_ex.options.network import layers_of, nearest_bits
from qsim_ex.precision import STORAGE, Storage
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


SLICE = 20
"""The most bits of a slice, unless options say otherwise: 8 MiB in complex64, enough for a copy at full speed."""

SLOT_BITS = 8
"""The bits of a sub state vector above its slices, unless options say otherwise: the most wires traded at once."""

SMALLEST_WINDOW = 16
"""The fewest wires of a sub state vector that is chosen automatically; below, host memory alone is better."""

IN_FLIGHT = 3
"""The number of buffers with which copies in, work, and copies out overlap."""

MARGIN = 32
"""One part in MARGIN of a device's free memory is left for uses other than amplitudes, unless max_memory is given."""

BOUNDLESS = 1 << 200
"""The free bytes of memory that nobody has measured: more than anything needs."""


class MemoryNeeds(NamedTuple):
    """The bytes that a placement takes: on the device of each peer, and on the host. The one sum of its memory."""

    devices: tuple[int, ...]
    host: int


Limits = tuple[int, int] | None
"""The bytes of each device and of the host that may be used, where a caller has given them; None for free memory."""


def nearest(device: int, other: int) -> Link:
    """Return the link between GPUs that were not queried: a direct one."""
    return "same device" if device == other else "peer"


@dataclass(frozen=True, slots=True)
class FreeMemory:
    """The memory that may be used.

    in_host_memory: whether the memory of the devices is the host's.
    devices: the number and the free bytes of each device; equal devices are used in this order.
    host: free bytes of the host; on the CPU, where the device is the host, the same bytes.
    link: the link from the device of one number to that of another.
    """

    in_host_memory: bool
    devices: tuple[tuple[int, int], ...]
    host: int
    link: Callable[[int, int], Link] = field(default=nearest, compare=False)

    def on_device(self, number: int, options: Options) -> int:
        """Return the bytes of a device that amplitudes may take."""
        return dict(self.devices)[number] if options.max_memory is None else options.device_limit

    def on_host(self, options: Options) -> int:
        """Return the bytes of the host that amplitudes may take."""
        return self.host if options.max_host_memory is None else options.host_limit


@dataclass(frozen=True, slots=True)
class StateRequest:
    """A state of `num_wires` wires on some devices; `devices` has each number once, however many peers share it.

    ranks: the number of processes that share the state, a power of two; then `devices` has the devices of this one.
    """

    num_wires: int
    options: Options
    free: FreeMemory
    devices: tuple[int, ...]
    ranks: int = 1

    def allows(self, shared: bool | None, in_device_memory: bool) -> bool:
        """Return whether a kind of placement can be meant, given these columns of its row (`kinds.PlacementKind`).

        A state goes to one device or several, with windows or without; None leaves that to the row's `lay_out`.
        """
        return shared is None or (shared == (self.peers > 0) and not (in_device_memory and self.windowed))

    @property
    def peers(self) -> int:
        """The number of device bits."""
        return (self.ranks * len(self.devices) * self.options.virtual_peers).bit_length() - 1

    @property
    def places(self) -> tuple[int, ...]:
        """The number of each peer's device."""
        return tuple(number for number in self.devices for _ in range(self.options.virtual_peers))

    @property
    def links(self) -> Mapping[tuple[int, int], Link]:
        """The link from each peer to each other."""
        places = tuple(enumerate(self.places))
        return {(a, b): self.free.link(one, other) for a, one in places for b, other in places if a != b}

    @property
    def windowed(self) -> bool:
        """Whether options ask for windows that do not hold the whole state at once."""
        wires = self.options.device_wires
        return wires is not None and wires + self.peers < self.num_wires

    def local(self) -> int:
        """Return the wires of a sub state vector; raise `OptionError` where the devices cannot share so few wires."""
        local, wires = self.num_wires - self.peers, self.options.device_wires
        if wires is not None:
            self._agrees(wires)
            return min(local, wires)
        if local < 0 or (self.peers and local < 1):
            raise OptionError(
                f"expected at least {self.peers + 1} wires for {1 << self.peers} devices, each of which needs a local "
                f"wire, got {self.num_wires}; use fewer devices."
            )
        return local

    def _agrees(self, wires: int) -> None:
        """Raise `OptionError` if the devices, with `wires` wires each, have more room than the state has wires."""
        if self.peers and wires + self.peers > self.num_wires:
            devices, shared = self.options.devices, self.options.virtual_peers
            named = f"devices={list(devices)}" if devices else f"virtual_peers={shared}"
            raise OptionError(
                f"{named} and device_wires={wires} make {wires + self.peers} wires ({self.peers} + {wires}); the state "
                f"has {self.num_wires}. Pass device_wires={max(self.num_wires - self.peers, 0)}, or leave it out."
            )

    def levels(self, local: int) -> Levels:
        """Return the levels with a slice that is long enough for a copy and leaves room for wires that trade places."""
        slots, network = self.options.window_slots, self.options.network
        if slots is None:
            piece = max(0, min(SLICE, local - SLOT_BITS))
        else:
            piece = local - (slots.bit_length() - 1)
            if not 0 <= piece < local:
                raise OptionError(
                    f"expected window_slots from 2 to {1 << local} for a sub state vector of {local} wires, got "
                    f"{slots}; pass a power of two in this range, or leave it out."
                )
        if network == "auto" or network == "switch":
            return Levels(local, self.peers, piece)
        if network == "mesh":
            return Levels(local, self.peers, piece, "mesh")
        return Levels(local, self.peers, piece, layers=nearest_bits(layers_of(network), self.peers))

    # --- windows -----------------------------------------------------------------------------------------------------

    def window(self) -> int | None:
        """Return the wires of a window of a state in host memory; None if none is needed, or only tiny ones would fit.

        It is the option's value, or else the most of which a GPU can hold several, one being worked on.
        """
        if self.options.device_wires is not None:
            return self.local() if self.windowed else None
        if self.free.in_host_memory:
            return None
        size = min(self._roomy(number) for number in self.devices) // self.options.virtual_peers
        flight = self.options.in_flight_buffers or IN_FLIGHT
        local = STORAGE[self.options.dtype].count(size // flight).bit_length() - 1
        local = min(local, self.num_wires - self.peers - 1)
        return local if local >= SMALLEST_WINDOW else None

    def in_flight(self, local: int, most: int | None = IN_FLIGHT) -> int:
        """Return how many windows each device should hold: the option's value, or as many as fit, at most `most`."""
        groups = 1 << (self.num_wires - local - self.peers)
        if self.options.in_flight_buffers is not None:
            return min(self.options.in_flight_buffers, groups)
        size = STORAGE[self.options.dtype].nbytes(1 << local) * self.options.virtual_peers
        fitting = min(self._roomy(number) // size for number in self.devices)
        return max(1, min(fitting, groups - 1) if most is None else min(fitting, groups, most))

    def _roomy(self, number: int) -> int:
        """Return the bytes of a device that several sub state vectors may fill."""
        allowed = self.free.on_device(number, self.options)
        return allowed if self.options.max_memory is not None else allowed - allowed // MARGIN
