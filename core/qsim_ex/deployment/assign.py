"""The assignment of a state to devices: which devices, in which placement, and why.

A state that fits in one piece on the device that `devices.discover` chooses is stored there. Otherwise `choice` looks
for a placement on all devices and the host that the options allow. Every result holds the reason.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from qsim_ex.comm import connection, launcher
from qsim_ex.deployment.assignment import Assignment, on
from qsim_ex.deployment.choice import deploy
from qsim_ex.devices import discover
from qsim_ex.devices.base import Device
from qsim_ex.devices.memory import require
from qsim_ex.devices.peering import link
from qsim_ex.errors import DeviceError, OutOfMemory
from qsim_ex.later import later
from qsim_ex.options import Options
from qsim_ex.placement.deployment import FreeMemory, single
from qsim_ex.precision import STORAGE

if TYPE_CHECKING:
    from qsim_ex.comm.agreed import Ask
    from qsim_ex.deployment import over_ranks
else:
    over_ranks = later("qsim_ex.deployment.over_ranks")


def assign(num_wires: int, options: Options, states: int = 1, ask: Ask | None = None) -> Assignment:
    """Choose devices and placement of a state and check that it fits; several states use them one after another.

    A state that is divided over several processes is assigned by all of them together: they all call this, and compare
    what they are asked for by `ask`, with an error on all that names what differs. Raises
    `DeviceError` or `MissingPackage` if a requested device is not there, `OutOfMemory` with the sum of every placement
    if the state does not fit, `OptionError` for options that contradict one another.
    """
    reason, several = "", launcher.LAUNCHED or connection.CONNECTED.is_set()
    if options.processes != "never" and (options.processes != "auto" or several):
        with connection.in_turn(options.processes):
            where, reason = over_ranks.over_ranks(num_wires, options, states, ask)
        if where is not None:
            return where
    divides = options.divides
    device, why = discover.choose(num_wires, options, states)
    reason = f"{why}; {reason}" if reason else why
    whole = single(num_wires, STORAGE[options.dtype], options.device_id, reason)
    needed = whole.device_bytes
    on_host = device.in_host_memory
    # The host memory of a state on a GPU is checked again when it is allocated; an older figure is good enough here.
    host_free = discover.free_bytes(device if on_host else discover.HOST, needed if on_host else 0)
    if not divides:
        free = discover.free_bytes(device, needed)
        allowed = free if options.max_memory is None else options.device_limit
        if needed <= allowed:
            return Assignment(device, whole, allowed, host_free, (device,))
        if device.in_host_memory:
            limit = None if options.max_memory is None else options.device_limit
            require(num_wires, options.dtype, [("the host", host_free)], limit=limit)
    try:
        free_now = survey(device, options, host_free)
        found = deploy(num_wires, options, free_now, reason)
    except OutOfMemory as error:
        if options.device != "auto" or divides or needed > host_free:
            raise
        return on(discover.cpu(options.threads), num_wires, options, f"auto: {error}", host_free, host_free)
    if device.in_host_memory:
        devices = (device,) * len(found.devices)
    else:
        devices = tuple(device if number == options.device_id else discover.gpu(number) for number in found.devices)
    least = min(dict(free_now.devices)[number] for number in found.devices)
    allowed = least if options.max_memory is None else options.device_limit
    return Assignment(devices[0], found, allowed, host_free, devices)


def survey(device: Device, options: Options, host_free: int) -> FreeMemory:
    """Return the free memory of the host and of all devices that the options allow, the chosen one among them.

    Raises `DeviceError` for devices that are not there or that differ in generation.
    """
    if device.in_host_memory:
        return FreeMemory(True, ((0, host_free),), host_free)
    if options.devices is not None:
        numbers = options.devices
        if absent := [number for number in numbers if number >= discover.gpu_count()]:
            told = ", ".join(map(str, absent))
            raise DeviceError(
                f"expected GPUs of this machine, got devices={list(numbers)}, of which GPU {told} is not there; "
                f"{discover.present(discover.gpu_count())}."
            )
        if len(found := {discover.generation(number) for number in numbers}) > 1:
            each = ", ".join(f"GPU {number} has {discover.generation(number)}" for number in numbers)
            raise DeviceError(
                f"expected GPUs of one generation, got devices={list(numbers)} with {len(found)} compute capabilities "
                f"({each}); leave out the others, since the slowest would delay them all."
            )
    elif options.divides:
        numbers = (options.device_id,)
    else:
        first = options.device_id
        others = (number for number in range(discover.gpu_count()) if number != first)
        numbers = (first, *(number for number in others if discover.generation(number) == discover.generation(first)))
    memory = tuple((number, discover.gpu(number).memory()[0]) for number in numbers)
    return FreeMemory(False, memory, host_free, lambda one, other: link(discover.gpu(one), discover.gpu(other)))


class Assigner:
    """Chooses devices and placements of states; for small states it keeps an assignment for a second."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._known: dict[int, tuple[float, Assignment]] = {}
        given = options.devices or ()
        self._spreads = len(given) > 1 and options.virtual_peers == 1

    def one(self, num_wires: int, ask: Ask | None = None) -> Assignment:
        """Return the assignment of a state of some wires; raises `OutOfMemory`, `DeviceError`. ask: see `assign`."""
        now = monotonic()
        when, where = self._known.get(num_wires, (-inf, None))
        if where is None or now - when > 1:
            where = assign(num_wires, self._options, 1, ask)
            if where.deployment.in_one_piece and 64 * where.deployment.device_bytes < where.free:
                self._known[num_wires] = now, where
        return where

    def many(self, num_wires: int, states: int, ask: Ask | None = None) -> list[Assignment]:
        """Return the assignments of several states: one for each device if all can hold whole states, otherwise one.

        ask: see `assign`.
        """
        if states == 1:
            return [self.one(num_wires, ask)]
        if self._spreads:
            options, each = self._options, []
            if options.device_wires is None or options.device_wires >= num_wires:
                alone = replace(options, devices=None, device="gpu")
                each = [assign(num_wires, replace(alone, device_id=k), states, ask) for k in options.devices or ()]
            if each and all(where.deployment.in_one_piece for where in each):
                return each
        return [assign(num_wires, self._options, states, ask)]
