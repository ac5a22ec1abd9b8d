"""The sources of a new state vector: a caller's array used in place, a basis value, or amplitudes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex import thresholds
from qsim_ex.circuit import check
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.deployment import assign
from qsim_ex.deployment.assignment import Assignment, on
from qsim_ex.devices import discover
from qsim_ex.devices.base import Device
from qsim_ex.devices.memory import require, state_bytes
from qsim_ex.errors import CircuitError, DeviceError, NotSupported, OptionError, OutOfMemory, StateError, other_circuit
from qsim_ex.options import OF_PIECES, Options
from qsim_ex.options.methods import USUAL
from qsim_ex.placement.base import Placement
from qsim_ex.placement.kinds import KINDS
from qsim_ex.precision import BY_DTYPE, DTYPES
from qsim_ex.state import basis


def adopt(
    array: Any, num_wires: int, options: Options, stream: Any, allocator: Any, rows: int | None = None
) -> tuple[Assignment, Options]:
    """Return the device of a caller's array, and the options with its precision. rows: states it holds, [rows, 2^n].

    Raises `StateError` unless it is contiguous, writeable, complex64 or complex128, and of 2^num_wires amplitudes;
    `DeviceError` if it is not on the device that the options demand.
    """
    device = discover.device_of(array, stream, allocator)
    if options.device not in ("auto", device.kind):
        raise DeviceError(
            f"expected an array on device={options.device!r}, got one on {device.name}; pass device='auto'."
        )
    precision = BY_DTYPE.get(np.dtype(array.dtype))
    if precision is None:
        raise StateError(f"array: expected {DTYPES}, got {array.dtype}; convert it with astype.")
    shape, of = ((1 << num_wires,), "") if rows is None else ((rows, 1 << num_wires), f" of {rows} states")
    if array.shape != shape:
        raise StateError(
            f"array: {num_wires} wires{of}: expected a contiguous array of shape {shape}, got {array.shape}."
        )
    if not array.flags.c_contiguous:
        apart = [precision.storage.count(step) for step in array.strides]
        raise StateError(
            f"array: expected a contiguous array of shape {shape}, got one whose neighbours along each axis are "
            f"{apart} amplitudes apart; pass a contiguous copy."
        )
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        raise StateError("array: expected a writeable array, got one that is read only; pass a copy.")
    found = replace(options, precision=precision.name)
    size = state_bytes(num_wires, found.dtype)
    return on(device, num_wires, found, "where the caller's array lies", size, size), found


def require_state_options(options: Options) -> None:
    """Raise `OptionError` for a checkpoint, which only a run writes, and a method without state vectors."""
    if options.checkpoint is not None:
        raise OptionError(
            f"expected a state vector without checkpoint, got checkpoint={options.checkpoint!r}; a checkpoint belongs "
            "to a run: use Simulator.run, run_batch or state, or StateVector.save."
        )
    if (instead := USUAL[options.method].instead_of_state) is not None:
        raise OptionError(
            f"expected method='statevector' or 'automatic' for a state vector, got method={options.method!r}; "
            f"{instead}."
        )


def fresh_rows(rows: int, num_wires: int, options: Options) -> Assignment:
    """Return the place of a batch of new states: one device, in one piece, checked for memory.

    Raises `OptionError` for options that divide a state, `OutOfMemory` with the sum and how many states would fit.
    """
    several = options.devices is not None and len(options.devices) > 1
    divides = several or options.virtual_peers > 1 or (options.device_wires or num_wires) < num_wires
    divides = divides or options.over_processes
    if divides or options.changed(OF_PIECES):
        raise OptionError(
            "a batch of states is in one piece on one device; devices, device_wires, virtual_peers and processes divide"
            f" one state, and {', '.join(OF_PIECES)} are for its pieces. Leave them out, or make a batch for each "
            "device."
        )
    if options.devices is not None:
        options = replace(options, devices=None, device="gpu", device_id=options.devices[0])
    device, reason = discover.choose(num_wires, options, rows)
    try:
        return with_room(device, rows, num_wires, options, reason)
    except OutOfMemory as error:
        host = discover.cpu(options.threads)
        if options.device != "auto" or device is host:
            raise
        return with_room(host, rows, num_wires, options, f"auto: {error}")


def with_room(device: Device, rows: int, num_wires: int, options: Options, reason: str) -> Assignment:
    """Return the place of a batch of states on a device that has memory for them; raises `OutOfMemory`."""
    needed = rows * state_bytes(num_wires, options.dtype)
    free = discover.free_bytes(device, needed)
    name = "the host" if device.in_host_memory else device.name
    limit = None if options.max_memory is None else options.device_limit
    require(num_wires, options.dtype, [(name, free)], states=rows, limit=limit)
    where = on(device, num_wires, options, reason, free if limit is None else limit)
    return replace(where, deployment=replace(where.deployment, device_bytes=needed))


def fresh(num_wires: int, options: Options, stream: object, allocator: object) -> Assignment:
    """Return the place of a new state, checked for memory, with the caller's stream and allocator if given."""
    where = assign.assign(num_wires, options)
    if stream is None and allocator is None:
        return where
    if where.device.in_host_memory:
        raise OptionError(f"stream and allocator need a GPU; this state is on the CPU ({where.reason}).")
    if not where.deployment.in_one_piece:
        raise OptionError(f"stream and allocator need a state on one GPU; this one is {where.deployment.describe()}.")
    device = discover.gpu_with(where.deployment.devices[0], stream, allocator)
    return replace(where, device=device, devices=(device,))


def begun(where: Assignment, options: Options, initial: int | NDArray[np.complex128]) -> Placement:
    """Return the placement of a new state that is a basis state or has the given amplitudes.

    Raises `OutOfMemory`; no memory stays allocated then.
    """
    deployment = where.deployment
    made = KINDS[deployment.kind].module.create(
        deployment, where.devices, options.dtype, options.limits(where.free, where.host_free)
    )
    if isinstance(initial, int):  # so far only amplitude 0 is written
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
    """Return a basis value or normalised amplitudes, checked before any memory is taken.

    Raises `CircuitError` for a basis value out of range, `StateError` for amplitudes that are not a state.
    """
    if isinstance(initial, int | np.integer):
        return basis.value(initial, num_wires, "initial")
    if hasattr(initial, "__cuda_array_interface__"):
        raise StateError("initial: expected amplitudes on the host, got an array on a GPU; pass it as array=.")
    return check.state(initial, num_wires)


def checked_rows(initial: Any, rows: int, num_wires: int) -> int | NDArray[Any]:
    """Return the initial states of a batch, checked before any memory is taken.

    A basis value for all; int64 [rows], one for each; or normalised amplitudes [2^n] for all or [rows, 2^n].
    Raises `CircuitError` for basis values, `StateError` for amplitudes, with the numbers of the invalid states.
    """
    if isinstance(initial, int | np.integer) or hasattr(initial, "__cuda_array_interface__"):
        return checked(initial, num_wires)
    array, size = np.asarray(initial), 1 << num_wires
    if array.dtype.kind in "iu":
        if array.shape != (rows,):
            raise CircuitError(
                f"initial: expected one basis value for all states, or whole numbers of shape ({rows},), got shape "
                f"{array.shape}; pass amplitudes as real or complex numbers."
            )
        return row_values(array, num_wires, "initial")
    if array.dtype.kind not in "fc" or array.shape not in ((size,), (rows, size)):
        raise StateError(
            f"initial: for {rows} states of {num_wires} wires, expected amplitudes of shape ({rows}, {size}), or "
            f"({size},) for all, got {array.dtype} of shape {array.shape}."
        )
    known = array.reshape(-1, size)
    step = max(1, thresholds.now.copied_at_once >> num_wires)
    norms = [np.linalg.norm(known[row : row + step].astype(np.complex128), axis=1) for row in range(0, rows, step)]
    off = np.abs(np.concatenate(norms[: -(-len(known) // step)]) - 1)
    if len(bad := np.flatnonzero(~(off <= check.norm_tolerance(array.dtype)))):  # NaN is not within any bound
        which = check.rows(bad) if array.ndim == 2 else "the state"
        raise StateError(f"initial: {which} not normalised: a norm differs from 1 by {off[bad].max():.3g}.")
    return array


def row_values(values: object, num_wires: int, name: str) -> NDArray[np.int64]:
    """Return basis values of some wires, one for each state, as int64; raises `CircuitError` with invalid states."""
    array = np.asarray(values)
    if len(bad := np.flatnonzero((array < 0) | (array >= 1 << num_wires))):
        raise CircuitError(
            f"{name}: expected basis values of {num_wires} wires (0 to 2^{num_wires} - 1), got {array[bad[0]]} for "
            f"{check.rows(bad[:1])}."
        )
    return array.astype(np.int64)


def put(device: Device, buffer: Any, initial: int | NDArray[np.complex128]) -> None:
    """Write a basis state or amplitudes into a buffer in which wire k is index bit k."""
    if isinstance(initial, int):
        device.set_basis(buffer, initial)
    else:
        device.write(buffer, 0, initial.astype(buffer.dtype, copy=False))


def require_circuit(circuit: object, num_wires: int) -> None:
    """Raise `CircuitError` for what is no circuit of the engine, and for one of more wires than a state has."""
    if not isinstance(circuit, Circuit):
        raise other_circuit(circuit, "a qsim_ex.Circuit")
    if circuit.num_qubits > num_wires:
        raise CircuitError(f"expected a circuit of at most {num_wires} wires, got one of {circuit.num_qubits}.")


def require_factors(num_wires: int, low: int, high: int, local: int) -> None:
    """Check the wires of two states whose product a state is to become; local: the wires of a sub state vector."""
    if low + high != num_wires:
        raise StateError(
            f"set_product: expected states of {num_wires} wires together, got {low} and {high} wires; make a state of "
            f"{low + high} wires."
        )
    if high > local:
        raise NotSupported(
            f"set_product: expected a second state of up to {local} wires, as many as a sub state vector has, "
            f"got {high}; make the first state the larger one."
        )
