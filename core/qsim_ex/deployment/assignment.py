"""Where a state is: its devices and its placement, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qsim_ex.comm.protocol import Communicator
from qsim_ex.devices.base import Device
from qsim_ex.options import Options
from qsim_ex.placement.deployment import Deployment, single
from qsim_ex.precision import STORAGE

if TYPE_CHECKING:
    from qsim_ex.circuit.circuit import Circuit


@dataclass(frozen=True, slots=True)
class Assignment:
    """The devices and the placement of a state, with the reason.

    device: the device, or the first of several. deployment: how the state is divided, and why.
    free: bytes that each device had free (or that `max_memory` allows). host_free: bytes that the host has free.
    devices: one for each peer; the same device several times if peers share it.
    ranks: the connection to the other processes that share the state; None for a state of this process alone.
    heard: what rank 0 has told the others as they compared what they were asked for, see `comm.agreed`.
    compared: the circuit of this state that all have compared, so that its first use need not.
    """

    device: Device
    deployment: Deployment
    free: int
    host_free: int
    devices: tuple[Device, ...]
    ranks: Communicator | None = None
    heard: Any = None
    compared: Circuit | None = None

    @property
    def reason(self) -> str:
        """The reason for these devices and this placement."""
        return self.deployment.reason

    @property
    def grows(self) -> bool:
        """Whether the state is in one piece on a device on which states grow."""
        return self.device.grows and self.deployment.in_one_piece

    @property
    def needed(self) -> int:
        """Bytes of amplitudes on each device."""
        return self.deployment.device_bytes


def on(device: Device, num_wires: int, options: Options, reason: str, free: int = 0, host_free: int = 0) -> Assignment:
    """Return the assignment of a state in one piece to one device."""
    made = single(num_wires, STORAGE[options.dtype], options.device_id, reason)
    return Assignment(device, made, free, host_free, (device,))
