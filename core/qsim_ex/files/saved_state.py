"""The format of a state in a file: pieces, each with a checksum, read into any placement and precision.

The format is described in docs/saved_states.md. A file appears under its name only when all of it is on the disk. A
file that is damaged or cut short raises `SavedStateError` before or while it is read.
"""

from __future__ import annotations

import errno
import math
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from weakref import finalize

import numpy as np

from qsim_ex import thresholds
from qsim_ex.errors import SavedStateError
from qsim_ex.files.header import MOST_BYTES, BadHeader, Header, parsed
from qsim_ex.placement.base import Placement
from qsim_ex.precision import STORAGE, AmplitudeDtype, Amplitudes
from qsim_ex.steps.index_map import IndexMap

MAGIC = b"qsim-ex state 2\n"
"""The first bytes of every file; the number is the version of the format."""

ROOM = 4096
"""The header's length is a multiple of this, so that it can be written last, at the beginning."""


_SAME = 1e-4
"""How far the norm may be from the recorded one, relatively: sums in another order round differently."""

_HEAD = struct.Struct("<II")  # bytes of the header, and its checksum
_FRAME = struct.Struct("<Q")  # the index of a piece's first amplitude
_CHECK = struct.Struct("<I")  # the checksum behind a piece
_BLOCK = 1024  # numbers whose squares are added up in their own precision, before float64 takes over


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class SavedState:
    """An open file whose header is valid and whose length is right; it is closed when nobody has this any more.

    Amplitudes are read from the file that was opened, whatever has its name by then.

    path: the name, for errors. header: the fields, each in its range. offsets: the position in the file of each piece,
    by the index of its first amplitude; amplitudes of pieces that are not in the file are zero. content: a checksum of
    the pieces' checksums, which tells whether two processes have opened one file. weights: Σ |amplitude|² of every
    piece that was read.
    """

    path: Path
    file: BinaryIO
    header: Header
    offsets: Mapping[int, int]
    content: int
    weights: dict[int, float] = field(default_factory=dict)

    def close(self) -> None:
        """Close the file; nothing can be read any more."""
        self.file.close()

    @property
    def num_wires(self) -> int:
        """The number of wires of the state."""
        return self.header.num_wires

    @property
    def dtype(self) -> AmplitudeDtype:
        """The dtype of the amplitudes in the file."""
        return self.header.dtype

    @property
    def index_map(self) -> IndexMap:
        """Which basis state each index of the file holds."""
        return self.header.index_map

    @property
    def piece(self) -> int:
        """The number of amplitudes of a piece."""
        return self.header.piece

    @property
    def about(self) -> Mapping[str, Any]:
        """The JSON object that was saved with the state."""
        return self.header.about

    def mask(self, name: str) -> int:
        """Return a mask of wires from `about`, by default all wires; raise `SavedStateError` for anything else."""
        every = (1 << self.num_wires) - 1
        told = self.about.get(name, hex(every))
        try:
            value = int(told, 16)
        except (TypeError, ValueError):
            value = -1
        if not 0 <= value <= every:
            raise _damaged(self.path, f"{name}: expected a mask of {self.num_wires} wires, got {ascii(told)[:60]}")
        return value

    def read(self, first: int) -> Amplitudes | None:
        """Return the piece that begins at index `first`, None if all of it is zero; raises `SavedStateError`."""
        if first not in self.offsets:
            return None
        file = self.file
        file.seek(self.offsets[first])
        size = STORAGE[self.dtype].nbytes(self.piece)
        body = bytearray(_FRAME.size + size)
        check = bytearray(_CHECK.size)
        if file.readinto(body) != len(body) or file.readinto(check) != len(check):  # type: ignore[attr-defined]
            raise _damaged(self.path, f"the file ends inside the piece at amplitude {first}")
        if zlib.crc32(body) != _CHECK.unpack(check)[0] or _FRAME.unpack_from(body)[0] != first:
            raise _damaged(self.path, f"the checksum of the piece at amplitude {first} is wrong")
        values = np.frombuffer(body, dtype=self.dtype.newbyteorder("<"), offset=_FRAME.size)
        weight = _weight(values)
        if not math.isfinite(weight):
            raise _damaged(self.path, f"an amplitude of the piece at amplitude {first} is not finite")
        self.weights[first] = weight
        return values

    def check_norm(self) -> None:
        """Raise `SavedStateError` unless the pieces that were read, which must be all, have the recorded norm."""
        norm, told = math.sqrt(sum(self.weights.values())), self.header.norm
        if abs(norm - told) > _SAME * told:
            raise _damaged(self.path, f"expected amplitudes of norm {told:.9g}, as recorded, got norm {norm:.9g}")


def begun(placement: Placement, path: Path, about: Mapping[str, Any] | None) -> tuple[Header, int]:
    """Return the header of a state that is about to be written, and the bytes that it will take at most."""
    header = Header(
        placement.num_wires,
        placement.dtype,
        IndexMap.of(placement.layout),
        min(thresholds.now.file_piece, 1 << placement.levels.local),
        0,
        1.0,
        about or {},
    )
    try:
        return header, -(-(len(header.encoded()) + 64) // ROOM) * ROOM
    except BadHeader as error:
        raise SavedStateError(f"{path} cannot be written: {error}.") from error


def framed_bytes(piece: int, dtype: AmplitudeDtype) -> int:
    """Return the bytes of a piece in a file."""
    return _FRAME.size + STORAGE[dtype].nbytes(piece) + _CHECK.size


def write_piece(file: BinaryIO, first: int, values: Amplitudes) -> float:
    """Write the piece that begins at index `first`, and return its Σ |amplitude|²."""
    frame = _FRAME.pack(first)
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    body = little.view(np.uint8).data
    file.write(frame)
    file.write(body)
    file.write(_CHECK.pack(zlib.crc32(body, zlib.crc32(frame))))
    return _weight(little)


def require_finite(path: Path, weight: float) -> None:
    """Raise `SavedStateError` unless the squared norm of what was written is finite."""
    if not math.isfinite(weight):
        raise SavedStateError(
            f"{path}: expected finite amplitudes, got infinite ones or NaN; nothing was written. Check the gates "
            "and amplitudes that made the state."
        )


def write_header(file: BinaryIO, header: Header, room: int) -> None:
    """Write the header at the beginning of a file, when all pieces are there."""
    text = header.encoded().ljust(room - len(MAGIC) - _HEAD.size)
    file.seek(0)
    file.write(MAGIC + _HEAD.pack(len(text), zlib.crc32(text)) + text)


def look(path: Path) -> SavedState:
    """Return the description of a saved file; raise `SavedStateError` if it is missing, damaged, or no saved state."""
    file = opened(path)
    if file is None:
        raise SavedStateError(f"{path} cannot be read: {os.strerror(errno.ENOENT)}. Check its path.")
    return looked_into(file, path)


def looked_into(file: BinaryIO, path: Path) -> SavedState:
    """Return the description of an open file, which is closed with it, or now if it is none; see `look`."""
    try:
        found = look_into(file, path)
    except BaseException as error:
        file.close()
        if isinstance(error, OSError) and not isinstance(error, SavedStateError):
            raise SavedStateError(f"{path} cannot be read: {error.strerror or error}. Check its path.") from error
        raise
    finalize(found, file.close)
    return found


def opened(path: Path) -> BinaryIO | None:
    """Open a file to read; None if there is none of that name. Raises `SavedStateError` if it cannot be read."""
    try:
        if path.exists() and not path.is_file():
            raise SavedStateError(f"{path} cannot be read: expected a file, got a folder or a device. Check its path.")
        return path.open("rb")
    except FileNotFoundError:
        return None
    except OSError as error:
        if isinstance(error, SavedStateError):
            raise
        raise SavedStateError(f"{path} cannot be read: {error.strerror or error}. Check its path.") from error


def restore(placement: Placement, saved: SavedState) -> None:
    """Overwrite a state by a saved one of as many wires, in any placement and precision.

    Raises `SavedStateError` if a checksum is wrong; the state is then neither the old one nor the saved one.
    """
    placement.overwrite(partial(_parts, saved), saved.index_map.layout)


def _parts(saved: SavedState, base: int, count: int) -> Iterator[tuple[int, Amplitudes]]:
    """Yield `count` amplitudes from index `base` on, as (offset from `base`, values)."""
    zeros = np.zeros(min(saved.piece, count), dtype=saved.dtype)
    for first in range(base - base % saved.piece, base + count, saved.piece):
        values = saved.read(first)
        begin = max(base, first)
        if values is None:
            yield begin - base, zeros
        else:
            yield begin - base, values[begin - first : base + count - first]


def look_into(file: BinaryIO, path: Path) -> SavedState:
    """Return the description of an open file; nothing is allocated that is larger than the file itself.

    path: its name, for errors. Raises `SavedStateError`.
    """
    size = file.seek(0, 2)
    file.seek(0)
    if file.read(len(MAGIC)) != MAGIC:
        raise SavedStateError(
            f"{path} is not a state saved by qsim-ex in a format that this version reads. Load a file that "
            "StateVector.save has written; remove it if it was a checkpoint."
        )
    head = file.read(_HEAD.size)
    length, check = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, 1)
    if length > MOST_BYTES:
        raise _damaged(path, f"header: expected at most {MOST_BYTES} bytes, got {length}")
    text = file.read(length)
    if len(text) != length or zlib.crc32(text) != check:
        raise _damaged(path, "the checksum of its header is wrong")
    try:
        header = parsed(text)
    except BadHeader as error:
        raise _damaged(path, f"header: {error}") from error
    start, step = file.tell(), framed_bytes(header.piece, header.dtype)
    if size != start + header.pieces * step:
        raise _damaged(path, f"expected {start + header.pieces * step} bytes, got {size}")
    offsets, content = {}, check
    for number in range(header.pieces):
        file.seek(start + number * step)
        frame = file.read(_FRAME.size)
        offsets[_FRAME.unpack(frame)[0]] = start + number * step
        file.seek(start + (number + 1) * step - _CHECK.size)
        content = zlib.crc32(frame + file.read(_CHECK.size), content)
    if len(offsets) != header.pieces or any(first % header.piece or first >> header.num_wires for first in offsets):
        raise _damaged(path, "expected pieces at distinct multiples of their size, got others")
    return SavedState(path, file, header, offsets, content)


def _weight(values: Amplitudes) -> float:
    """Return Σ |amplitude|², in float64 but for short runs; not finite if one of the amplitudes is not."""
    real = values.view(values.real.dtype)
    rows = real.reshape(-1, min(_BLOCK, len(real)))
    with np.errstate(all="ignore"):
        return float(np.einsum("ij,ij->i", rows, rows).sum(dtype=np.float64))


def _damaged(path: Path, how: str) -> SavedStateError:
    return SavedStateError(f"{path} is damaged: {how}. Save the state again, or use an earlier file.")
