"""The host's memory, and checks whether a state fits, before anything is allocated and with the sum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qsim_ex.devices import pinned
from qsim_ex.devices.cpu import buffers
from qsim_ex.display.amounts import human
from qsim_ex.errors import OutOfMemory
from qsim_ex.kernels import host
from qsim_ex.precision import PRECISIONS, STORAGE, AmplitudeDtype, Amplitudes


def state_bytes(num_wires: int, dtype: AmplitudeDtype) -> int:
    """Return the bytes of 2^num_wires amplitudes."""
    return STORAGE[dtype].nbytes(1 << num_wires)


def memory_of_host() -> tuple[int, int]:
    """Return the host's free and total bytes for this process; memory kept for other states counts as free."""
    free, total = host.memory()
    return min(free + kept_bytes(), total), total


def kept_bytes() -> int:
    """Return the bytes of the host that are kept for states and not in use."""
    return (buffers.kept_bytes() if buffers.kept else 0) + (pinned.kept_bytes() if pinned.kept else 0)


def require(
    num_wires: int,
    dtype: AmplitudeDtype,
    places: Sequence[tuple[str, int]],
    *,
    states: int = 1,
    limit: int | None = None,
) -> None:
    """Raise `OutOfMemory` unless the states fit in the first place.

    places: names and free bytes; only the first is checked, the others are named in the message.
    limit: bytes that the caller allows, in place of what is free.
    """
    needed = states * state_bytes(num_wires, dtype)
    free = places[0][1]
    if needed <= (free if limit is None else limit):
        return
    what = f"{num_wires} wires in {dtype.name}" + (f", {states} times," if states > 1 else "")
    room = free if limit is None else limit
    have = [f"{name} has {human(size)} free" for name, size in places]
    if limit is not None:
        have.insert(0, f"max_memory allows {human(limit)}")
    have[0] += f", enough for {_most(room // states)}"
    rows = [row for row in PRECISIONS.values() if row.storage.bytes < STORAGE[dtype].bytes]
    cheaper = "".join(
        f"precision={row.name!r} ({row.storage.dtype.name}), "  # Cirq's users choose the dtype
        for row in rows
        if states * row.storage.nbytes(1 << num_wires) <= room
    )
    if fit := room // state_bytes(num_wires, dtype):
        cheaper += f"{fit} of these states, "
    raise OutOfMemory(
        f"{what} need {human(needed)}; {'; '.join(have)}. Use {cheaper}fewer wires, or a device with more memory."
    )


def _most(room: int) -> str:
    """Return how many wires fit into memory, in words, for each precision."""
    most = {row.storage.dtype.name: max(0, (room // row.storage.bytes).bit_length() - 1) for row in PRECISIONS.values()}
    return " or ".join(f"{wires} wires in {name}" for name, wires in most.items())


def require_on_host(what: str, needed: int, free: int, instead: str = "Ask for a part of it.") -> None:
    """Raise `OutOfMemory` unless a result of `needed` bytes fits into the host's memory; instead: what to do."""
    if needed > free:
        raise OutOfMemory(f"{what} needs {human(needed)}; the host has {human(free)} free. {instead}")


def pageable(num_amplitudes: int, dtype: AmplitudeDtype) -> Amplitudes:
    """Return host memory from NumPy; raises `OutOfMemory`."""
    size = STORAGE[dtype].nbytes(num_amplitudes)
    _require_free(size)
    try:
        return np.empty(num_amplitudes, dtype)
    except MemoryError as error:
        raise OutOfMemory(f"the system refused {human(size)} of host memory; use fewer wires.") from error


def _require_free(size: int) -> None:
    """Raise `OutOfMemory` unless the host has that many bytes free.

    Linux grants memory that it does not have, and kills the process that uses it, so we check first.
    """
    free, total = host.memory()
    if size > free:
        raise OutOfMemory(
            f"a state needs {human(size)} of host memory; {human(free)} are free of {human(total)}. "
            "Use precision='single', fewer wires, or more memory."
        )


def require_amplitudes(num_amplitudes: int, dtype: AmplitudeDtype) -> None:
    """Raise `OutOfMemory` if amplitudes have no room, also without the memory that is kept for other states."""
    size = STORAGE[np.dtype(dtype)].nbytes(num_amplitudes)
    free, total = host.memory()
    if size > free and kept_bytes():
        pinned.release()
        buffers.release()
        free, total = host.memory()
    if size > free:
        raise OutOfMemory(
            f"{num_amplitudes} amplitudes in {dtype.name} need {human(size)}; this machine has "
            f"{human(free)} free of {human(total)}. Use precision='single', fewer wires, or more memory."
        )
