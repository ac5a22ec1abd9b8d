"""A state over several processes in one file: every process writes its own pieces, at their places in the file.

The file is that of `saved_state`, so any number of processes reads it. All processes see one folder.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

from qsim_ex.comm.connection import renew
from qsim_ex.devices.memory import state_bytes
from qsim_ex.errors import SavedStateError
from qsim_ex.files.header import Header
from qsim_ex.files.saved_state import (
    ROOM,
    SavedState,
    begun,
    framed_bytes,
    look,
    require_finite,
    restore,
    write_header,
    write_piece,
)
from qsim_ex.files.written import written
from qsim_ex.placement.ranks.ranks import Ranks
from qsim_ex.steps.index_map import IndexMap

_TIMES = 10
"""How often ranks open a file before they say that it is not the same on all of them."""


def look_together(path: Path) -> SavedState:
    """Return the description of a file that all ranks see; raise the same `SavedStateError` on all if one does not.

    Where a writer replaces the file while the ranks open it, they open it again, until all have one.
    """
    ranks = renew()
    for _ in range(_TIMES):
        found, error = None, ""
        try:
            found = look(path)
        except SavedStateError as raised:
            error = str(raised)
        everyone = ranks.allgather((error, None if found is None else (found.header.encoded(), found.content)))
        for rank, (told, _) in enumerate(everyone):
            if told:
                raise SavedStateError(f"rank {rank} of {len(everyone)}: {told} Use a folder that all processes share.")
        other = next((rank for rank, one in enumerate(everyone) if one != everyone[0]), None)
        assert found is not None
        if other is None:
            return found
        found.close()
    raise SavedStateError(
        f"{path}: expected the same file on all {len(everyone)} processes, got another one on rank {other} than on "
        "rank 0. Use a folder that all processes share."
    )


def save_together(placement: Ranks, path: Path, about: Mapping[str, object] | None = None) -> None:
    """Write a state to a file; all ranks call it, and all raise the same `SavedStateError` if one of them cannot.

    Rank 0 makes the file, and gives it its name when all have written.
    """
    ranks = placement.communicator
    header, room = begun(placement, path, about)
    error = ""
    if ranks.rank:
        if (part := ranks.broadcast(None)) is not None:
            _write_own(placement, part, room, header.piece)
        error = ranks.broadcast(None)
    else:
        part = None
        try:
            with written(path, state_bytes(placement.num_wires, placement.dtype) + 2 * ROOM) as file:
                file.write(bytes(room))
                file.flush()
                part = ranks.broadcast(Path(file.name).resolve())
                found = _write_own(placement, part, room, header.piece)
                _finish(file, path, replace(header, index_map=IndexMap.of(placement.layout)), room, found)
        except SavedStateError as raised:
            error = str(raised)
            if part is None:
                ranks.broadcast(None)
        ranks.broadcast(error)
    if error:
        raise SavedStateError(error)


def load_together(placement: Ranks, saved: SavedState) -> None:
    """Overwrite a state by a saved one of as many wires; each rank reads its own part, and all check the whole norm."""
    restore(placement, saved)
    for weights in placement.communicator.allgather(dict(saved.weights)):
        saved.weights.update(weights)
    saved.check_norm()


class _Wrote(NamedTuple):
    """What a rank has written: the pieces and their Σ |amplitude|²; and its error in words, or nothing."""

    pieces: int
    weight: float
    error: str


def _write_own(placement: Ranks, part: Path, room: int, piece: int) -> list[_Wrote]:
    """Write this rank's pieces into the file that rank 0 has made, and return what each rank has written."""
    count, weight, error = 0, 0.0, ""
    own = placement.own_pieces(piece)
    try:
        with part.open("r+b") as file:
            for place, first, values in own:
                file.seek(room + place * framed_bytes(piece, values.dtype))
                weight += write_piece(file, first, values)
                count += 1
            file.flush()
            os.fsync(file.fileno())
    except OSError as raised:
        error = f"{part}: {raised.strerror or raised}"
    return placement.communicator.allgather(_Wrote(count, weight, error))


def _finish(file: BinaryIO, path: Path, header: Header, room: int, found: Sequence[_Wrote]) -> None:
    """Write the header of a file whose pieces are written; raise `SavedStateError` if a rank has failed."""
    if failed := [f"rank {rank}: {one.error}" for rank, one in enumerate(found) if one.error]:
        raise SavedStateError(
            f"{path} cannot be written by all processes ({'; '.join(failed)}). Use a folder that all of them share."
        )
    weight = sum(one.weight for one in found)
    require_finite(path, weight)
    write_header(file, replace(header, pieces=sum(one.pieces for one in found), norm=math.sqrt(weight)), room)
