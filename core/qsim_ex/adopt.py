"""What a state vector is made from: a caller's array used in place, a basis value, or amplitudes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, assert_never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex import basis
from qsim_ex.circuit import check
from qsim_ex.devices import probe
from qsim_ex.devices.base import Device
from qsim_ex.devices.memory import state_bytes
from qsim_ex.errors import DeviceError, OptionError, StateError
from qsim_ex.options import Options
from qsim_ex.placement.divided import Divided
from qsim_ex.placement.migrated import Migrated
from qsim_ex.placement.peers import Peers
from qsim_ex.placement.peers_over_host import PeersOverHost
from qsim_ex.steps import Layout


def adopt(array: Any, num_wires: int, options: Options, stream: Any, allocator: Any) -> tuple[probe.Where, Options]:
    """Where a caller's array lies, and the options with its precision.

    Raises `StateError` unless it is contiguous, writeable, complex64 or complex128, and of 2^num_wires amplitudes;
    `DeviceError` if it lies elsewhere than on the device that the options demand.
    """
    device = probe.device_of(array, stream, allocator)
    if options.device not in ("auto", device.kind):
        raise DeviceError(f"device={options.device!r} was asked for, the array lies on {device.name}.")
    precision = {np.dtype(np.complex64): "single", np.dtype(np.complex128): "double"}.get(np.dtype(array.dtype))
    if precision is None:
        raise StateError(f"array: complex64 or complex128 is wanted, got {array.dtype}.")
    if array.shape != (1 << num_wires,) or not array.flags.c_contiguous:
        raise StateError(
            f"array: {num_wires} wires need a contiguous array of shape ({1 << num_wires},), got {array.shape}."
        )
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        raise StateError("array: it is read only; give a copy.")
    found = replace(options, precision=precision)  # type: ignore[arg-type]
    size = state_bytes(num_wires, found.dtype)
    return probe.on(device, num_wires, found, "where the caller's array lies", size, size), found


def fresh(num_wires: int, options: Options, stream: Any, allocator: Any) -> probe.Where:
    """Where a new state goes, checked for memory, with the caller's stream and allocator where given."""
    where = probe.place(num_wires, options)
    if stream is None and allocator is None:
        return where
    if where.device.kind != "gpu":
        raise OptionError(f"stream and allocator belong to a GPU, and the state goes to the CPU ({where.reason}).")
    if where.deployment.kind != "single":
        raise OptionError(f"stream and allocator belong to a state on one GPU; here: {where.deployment.describe()}.")
    device = probe.gpu_with(where.deployment.devices[0], stream, allocator)
    return replace(where, device=device, devices=(device,))


def divided(where: probe.Where, options: Options) -> Divided:
    """A state |0…0> in several sub state vectors, as it was deployed; raises `OutOfMemory`, and keeps nothing then."""
    how = where.deployment
    match how.kind:
        case "peers":
            return Peers(where.devices, how.num_wires, options.dtype, how.levels, limit=options.max_memory)
        case "migrated":
            return Migrated(
                where.device,
                Layout.identity(how.num_wires),
                how.levels,
                options.dtype,
                slots=how.in_flight,
                scenario=how.host_memory or "whole",
                allowed=_allowed(where, options),
            )
        case "peers over host":
            return PeersOverHost(
                where.devices,
                how.num_wires,
                options.dtype,
                how.levels,
                frames=how.in_flight,
                limit=_allowed(where, options),
            )
        case "single":
            raise ValueError("a state in one piece is not divided.")
        case _:
            assert_never(how.kind)


def _allowed(where: probe.Where, options: Options) -> tuple[int, int] | None:
    """Bytes of each device and of the host, where the caller has said how many; None for what is free."""
    if options.max_memory is None and options.max_host_memory is None:
        return None
    return where.free, where.host_free if options.max_host_memory is None else options.max_host_memory


def begun(where: probe.Where, options: Options, initial: int | NDArray[np.complex128]) -> Divided:
    """A state in several sub state vectors that is a basis state or has these amplitudes."""
    made = divided(where, options)
    if isinstance(initial, int):
        made.layout = replace(made.layout, flip=initial)
        return made
    try:
        made.forget()
        made.write(0, initial.astype(options.dtype, copy=False))
    except BaseException:
        made.release()
        raise
    return made


def checked(initial: int | ArrayLike, num_wires: int) -> int | NDArray[np.complex128]:
    """A basis value or normalised amplitudes, checked before any memory is taken.

    Raises `CircuitError` for a basis value out of range, `StateError` for amplitudes that are not a state.
    """
    if isinstance(initial, int | np.integer):
        return basis.value(initial, num_wires, "initial")
    if hasattr(initial, "__cuda_array_interface__"):
        raise StateError("initial: amplitudes on the host are wanted; use array= for an array on a GPU.")
    return check.state(initial, num_wires)


def put(device: Device, buffer: Any, initial: int | NDArray[np.complex128]) -> None:
    """Write a basis state or amplitudes into a buffer that lies in the order of the wires."""
    if isinstance(initial, int):
        device.set_basis(buffer, initial)
    else:
        device.write(buffer, 0, initial.astype(buffer.dtype, copy=False))
