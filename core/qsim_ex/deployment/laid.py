"""How a state lies that several processes share, as far as free memory does not decide it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from qsim_ex import thresholds
from qsim_ex.comm.connection import RanksInUse
from qsim_ex.comm.neighbours import HOSTS, MeasuredBy, Rate, layers_of_ranks, on_hosts
from qsim_ex.deployment.rooms import Room
from qsim_ex.deployment.seats import local_options
from qsim_ex.devices import discover
from qsim_ex.devices.base import Device
from qsim_ex.devices.memory import state_bytes
from qsim_ex.devices.peering import Link, link
from qsim_ex.errors import DeviceError, QsimExError
from qsim_ex.options import Options
from qsim_ex.options.network import LINKS, Layer, Layers
from qsim_ex.placement.deployment import BOUNDLESS, Deployment, FreeMemory, StateRequest, nearest
from qsim_ex.placement.exchange.mapped_rates import MappedRates
from qsim_ex.placement.ranks import over_host
from qsim_ex.placement.ranks import ranks as placement

if TYPE_CHECKING:
    from qsim_ex.comm.protocol import Communicator


_INSIDE: tuple[Link, ...] = ("same device", "peer", "through the host")
_NAMES = ("memory", "nvlink", "pcie")
"""The kinds of links between devices of a rank, and the names of their bandwidths, which are not measured."""


class Laid(NamedTuple):
    """How a state lies, as far as free memory does not decide it.

    given, own: the options of the call, and those of this rank. numbers: of its devices. windowed: whether options ask
    for windows. device, devices: see `Assignment`. error: why there are none.
    """

    given: Options
    own: Options
    numbers: tuple[int, ...]
    windowed: bool
    deployment: Deployment
    device: Device | None = None
    reason: str = ""
    devices: tuple[Device, ...] = ()
    error: QsimExError | None = None


def lay_out(num_wires: int, options: Options, states: int, ranks: RanksInUse, communicator: Communicator) -> Laid:
    """Return how a state will lie, as far as free memory does not decide it; all ranks call it."""
    own = local_options(options, communicator)
    numbers = tuple(own.devices or (own.device_id,))
    windowed = _by_options(num_wires, own, numbers, ranks.used).windowed
    # Whoever continues a run from a checkpoint would measure other bandwidths.
    if own.network == "auto" and own.checkpoint is None and not windowed:
        own = own.with_({"network": _found(own, communicator, ranks.used, num_wires, states) or "auto"})
    deployment = next(_laid_out(_by_options(num_wires, own, numbers, ranks.used)))
    laid = Laid(options, own, numbers, windowed, deployment)
    try:
        device, reason = discover.choose(deployment.levels.local, own, states)
        devices = _devices(device, numbers, own.virtual_peers)
    except QsimExError as raised:
        return laid._replace(error=raised)
    deployment = replace(deployment, reason=divided(reason, ranks))
    return laid._replace(deployment=deployment, device=device, reason=reason, devices=devices)


def divided(reason: str, ranks: RanksInUse) -> str:
    """Return the reason of a device, and over what the state is divided."""
    return f"{reason}; divided over {ranks.describe()}"


def _by_options(num_wires: int, own: Options, numbers: Sequence[int], used: int) -> StateRequest:
    """Return a request that no free memory answers, so that all ranks answer it alike."""
    return StateRequest(num_wires, own, FreeMemory(True, tuple((n, 0) for n in numbers), 0), tuple(numbers), used)


def for_windows(
    num_wires: int,
    own: Options,
    device: Device,
    numbers: tuple[int, ...],
    used: int,
    rooms: Sequence[Room],
) -> StateRequest:
    """Return a request for windows that all ranks answer alike: the least memory of any is the limit on all."""
    least = max(1, min(one.for_windows for one in rooms))
    free = FreeMemory(device.in_host_memory, (), BOUNDLESS, _link(device))
    return StateRequest(num_wires, own.with_({"max_memory": least}), free, numbers, used)


def _laid_out(request: StateRequest) -> Iterator[Deployment]:
    """Yield how a state over ranks lies, by its options alone."""
    yield from (over_host if request.windowed else placement).lay_out(request)


def _link(device: Device) -> Callable[[int, int], Link]:
    """Return the link between two devices of this rank, by their numbers."""
    if device.in_host_memory:
        return nearest
    return lambda one, other: link(discover.gpu(one), discover.gpu(other))


def _devices(device: Device, numbers: Sequence[int], each: int) -> tuple[Device, ...]:
    """Return the devices of this rank, each as often as sub state vectors share it; raise `DeviceError`."""
    if device.in_host_memory:
        return (device,) * each
    if absent := [number for number in numbers if number >= discover.gpu_count()]:
        told = ", ".join(map(str, absent))
        raise DeviceError(
            f"expected GPUs of this host, got devices={list(numbers)}, of which GPU {told} is not there; "
            f"{discover.present(discover.gpu_count())}."
        )
    return tuple(discover.gpu(number) for number in numbers for _ in range(each))


def _trading(own: Options, communicator: Communicator, used: int, num_wires: int, states: int) -> MeasuredBy:
    """Return what measures trades as they will be made, by options that are equal on all ranks."""
    each = len(own.devices or (0,)) * own.virtual_peers
    local = max(0, num_wires - (used * each).bit_length() + 1)  # too few wires are told when all is laid out
    cpu = own.device == "cpu" or (own.device == "auto" and own.devices is None and local < discover.GPU_FROM)
    if cpu and state_bytes(local, own.dtype) < thresholds.now.large_bytes:
        return HOSTS

    def measured_by() -> Rate:
        device: Any = None
        with suppress(QsimExError):  # it is told when all devices are checked
            device, _ = discover.choose(local, own, states)
        kinds = communicator.allgather(device.kind if device is not None else "")
        return MappedRates(communicator, device, used) if kinds[0] and len(set(kinds)) == 1 else on_hosts

    return MeasuredBy("cpu" if cpu else own.device, measured_by)


def _found(own: Options, communicator: Communicator, used: int, num_wires: int, states: int) -> Layers:
    """Return the layers of the network: between the devices of a rank, then between ranks, which is measured."""
    layers = layers_of_ranks(communicator, used, _trading(own, communicator, used, num_wires, states))
    each = len(own.devices or (0,)) * own.virtual_peers
    if each == 1:
        return layers
    gpus = [discover.gpu(number) for number in own.devices or () if number < discover.gpus_here()]
    kinds: set[Link] = {link(one, other) for one in gpus for other in gpus if one is not other}
    slowest = max((_INSIDE.index(kind) for kind in kinds), default=0)
    name = _NAMES[max(communicator.allgather(slowest))]
    rate = max(LINKS[name], layers[0].bytes_per_second if layers else 0.0)
    return (Layer(each.bit_length() - 1, name, rate), *layers)
