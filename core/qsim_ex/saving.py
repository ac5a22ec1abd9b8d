"""A state in a file: written piece by piece, each piece with a checksum, and read into any placement and precision.

The format is described in docs/saved_states.md. A file appears under its name only when all of it is on the disk; a
file that is damaged or cut short is refused before or while it is read, never taken for a state.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from qsim_ex.devices.memory import human
from qsim_ex.errors import SavedStateError
from qsim_ex.placement.base import Placement
from qsim_ex.steps.layout import Layout

MAGIC = b"qsim-ex state 1\n"
"""The first bytes of every file; the number is that of the format."""

PIECE = 1 << 22
"""Amplitudes of a piece; smaller where a sub state vector is."""

_HEAD = struct.Struct("<II")  # bytes of the header, and its checksum
_FRAME = struct.Struct("<Q")  # the index of a piece's first amplitude
_CHECK = struct.Struct("<I")  # the checksum behind a piece
_ROOM = 4096  # the header's length is a multiple of this, so that it can be written last, at the beginning

Amplitudes = NDArray[np.complexfloating[Any, Any]]


@dataclass(frozen=True, eq=False, slots=True)
class SavedState:
    """A file whose header is sound and whose length is right.

    layout: where wires sit in the indices of the file. piece: amplitudes of a piece. offsets: where the piece that
    begins at an index stands in the file; amplitudes of pieces that are not there are zero. about: what whoever saved
    it wanted to be kept.
    """

    path: Path
    num_wires: int
    dtype: np.dtype[Any]
    layout: Layout
    piece: int
    offsets: Mapping[int, int]
    about: Mapping[str, Any]

    def read(self, file: BinaryIO, first: int) -> Amplitudes | None:
        """The piece that begins at index `first`, None if all of it is zero; raises `SavedStateError`."""
        if first not in self.offsets:
            return None
        file.seek(self.offsets[first])
        size = self.piece * self.dtype.itemsize
        body = bytearray(_FRAME.size + size)
        check = bytearray(_CHECK.size)
        if file.readinto(body) != len(body) or file.readinto(check) != len(check):  # type: ignore[attr-defined]
            raise _damaged(self.path, f"it ends inside the piece at amplitude {first}")
        if zlib.crc32(body) != _CHECK.unpack(check)[0]:
            raise _damaged(self.path, f"the checksum of the piece at amplitude {first} is wrong")
        return np.frombuffer(body, dtype=self.dtype.newbyteorder("<"), offset=_FRAME.size)


def save(placement: Placement, path: Path, about: Mapping[str, Any] | None = None) -> None:
    """Write a state to a file; nothing of the state is copied but a piece at a time.

    Raises `SavedStateError` if the disk has no room, before anything is written, or fails.
    """
    piece = min(PIECE, 1 << placement.levels.local)
    with _written(path, (placement.dtype.itemsize << placement.num_wires) + 2 * _ROOM) as file:
        header: dict[str, Any] = {
            "num_wires": placement.num_wires,
            "dtype": placement.dtype.name,
            "address": list(placement.layout.address),
            "flip": placement.layout.flip,
            "piece": piece,
            "pieces": 0,
            "about": dict(about or {}),
        }
        room = -(-(len(_encoded(header)) + 64) // _ROOM) * _ROOM
        file.write(bytes(room))
        for first, values in placement.pieces(piece):
            frame = _FRAME.pack(first)
            body = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).view(np.uint8).data
            file.write(frame)
            file.write(body)
            file.write(_CHECK.pack(zlib.crc32(body, zlib.crc32(frame))))
            header["pieces"] += 1
        text = _encoded(header).ljust(room - len(MAGIC) - _HEAD.size)
        file.seek(0)
        file.write(MAGIC + _HEAD.pack(len(text), zlib.crc32(text)) + text)


def look(path: Path) -> SavedState:
    """What a file says it holds; raises `SavedStateError` for a file that is missing, damaged, or something else."""
    try:
        with path.open("rb") as file:
            return _look(path, file)
    except OSError as error:
        if isinstance(error, SavedStateError):
            raise
        raise SavedStateError(f"{path} cannot be read: {error.strerror or error}.") from error


def restore(placement: Placement, saved: SavedState) -> None:
    """Overwrite a state of as many wires by a saved one, in whatever placement and precision.

    Raises `SavedStateError` if a checksum is wrong; the state is then neither the old one nor the saved one.
    """
    with saved.path.open("rb") as file:
        placement.overwrite(partial(_parts, saved, file), saved.layout)


def array_of(saved: SavedState) -> Amplitudes:
    """All amplitudes of a file as one array on the host, as they are indexed there."""
    values = np.empty(1 << saved.num_wires, dtype=saved.dtype)
    with saved.path.open("rb") as file:
        for start, part in _parts(saved, file, 0, len(values)):
            values[start : start + len(part)] = part
    return values


def _parts(saved: SavedState, file: BinaryIO, base: int, count: int) -> Iterator[tuple[int, Amplitudes]]:
    """Amplitudes from index `base` on, `count` of them, as (how far behind `base`, values)."""
    zeros = np.zeros(min(saved.piece, count), dtype=saved.dtype)
    for first in range(base - base % saved.piece, base + count, saved.piece):
        values = saved.read(file, first)
        begin = max(base, first)
        if values is None:
            yield begin - base, zeros
        else:
            yield begin - base, values[begin - first : base + count - first]


def _look(path: Path, file: BinaryIO) -> SavedState:
    if file.read(len(MAGIC)) != MAGIC:
        raise SavedStateError(f"{path} is not a state that qsim-ex has saved (or one of another version).")
    head = file.read(_HEAD.size)
    length, check = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, 1)
    text = file.read(length)
    if len(text) != length or zlib.crc32(text) != check:
        raise _damaged(path, "the checksum of its header is wrong")
    header = json.loads(text)
    dtype, piece, pieces = np.dtype(header["dtype"]), header["piece"], header["pieces"]
    start, step = file.tell(), _FRAME.size + piece * dtype.itemsize + _CHECK.size
    size = os.fstat(file.fileno()).st_size
    if size != start + pieces * step:
        raise _damaged(path, f"it has {size} bytes, and {start + pieces * step} are wanted")
    offsets = {}
    for number in range(pieces):
        file.seek(start + number * step)
        offsets[_FRAME.unpack(file.read(_FRAME.size))[0]] = start + number * step
    if len(offsets) != pieces or any(first % piece or first >> header["num_wires"] for first in offsets):
        raise _damaged(path, "its pieces are not where they belong")
    layout = Layout(tuple(header["address"]), header["flip"])
    return SavedState(path, header["num_wires"], dtype, layout, piece, offsets, header["about"])


def _encoded(header: Mapping[str, Any]) -> bytes:
    return json.dumps(header).encode()


def _damaged(path: Path, how: str) -> SavedStateError:
    return SavedStateError(f"{path} is damaged: {how}. Save the state again, or take an earlier file.")


@contextmanager
def _written(path: Path, needed: int) -> Iterator[BinaryIO]:
    """A file under another name that gets its own when all of it is on the disk, and is removed if anything fails."""
    part = path.with_name(path.name + ".part")
    try:
        free = shutil.disk_usage(path.parent).free
        if needed > free:
            raise SavedStateError(f"{path} needs {human(needed)}; the disk has {human(free)} free.")
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        if isinstance(error, SavedStateError):
            raise
        raise SavedStateError(f"{path} cannot be written: {error.strerror or error}.") from error
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def _sync_folder(folder: Path) -> None:
    """Make a new name last; only systems that open folders can and need it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
