"""A state saved to a file and loaded from one, by one process or by all that share the state.

A file appears under its name only when all of it is on the disk.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from qsim_ex.comm import connection
from qsim_ex.devices.memory import state_bytes
from qsim_ex.errors import SavedStateError
from qsim_ex.files.saved_state import (
    ROOM,
    SavedState,
    begun,
    look,
    require_finite,
    restore,
    write_header,
    write_piece,
)
from qsim_ex.files.written import written
from qsim_ex.later import later
from qsim_ex.options import Options
from qsim_ex.placement.base import Placement
from qsim_ex.steps.index_map import IndexMap

if TYPE_CHECKING:
    from qsim_ex.files import saved_by_ranks
    from qsim_ex.placement.ranks.ranks import Ranks
else:
    saved_by_ranks = later("qsim_ex.files.saved_by_ranks")


def save(placement: Placement, path: Path, about: Mapping[str, object] | None = None) -> None:
    """Write a state to a file, one piece at a time; only one piece is copied at once.

    Raises `SavedStateError` if the disk has no room, before anything is written, or if writing fails.
    """
    if placement.shared_by is not None:
        saved_by_ranks.save_together(cast("Ranks", placement), path, about)
        return
    header, room = begun(placement, path, about)
    with written(path, state_bytes(placement.num_wires, placement.dtype) + 2 * ROOM) as file:
        file.write(bytes(room))
        pieces, weight = 0, 0.0
        for first, values in placement.pieces(header.piece):
            weight += write_piece(file, first, values)
            pieces += 1
        require_finite(path, weight)
        write_header(
            file, replace(header, index_map=IndexMap.of(placement.layout), pieces=pieces, norm=math.sqrt(weight)), room
        )


def look_for(path: Path, options: Options) -> SavedState:
    """Return the description of a file; raise `SavedStateError` if it is missing, damaged, or no saved state.

    With options for several processes all ranks look for the same file, and all raise the same error.
    """
    if not options.over_processes:
        return look(path)
    with connection.in_turn(options.processes):
        return saved_by_ranks.look_together(path)


def load_into(placement: Placement, saved: SavedState) -> None:
    """Overwrite a state by a saved one, and check all of it.

    Raises `SavedStateError` for another number of wires, before the state is touched, and for a wrong checksum, an
    amplitude that is not finite, and a wrong norm; the state is then neither the old one nor the saved one.
    """
    if placement.num_wires != saved.num_wires:
        raise SavedStateError(
            f"{saved.path}: expected a state of {placement.num_wires} wires, got {saved.num_wires} wires; load it into "
            f"a state of {saved.num_wires} wires."
        )
    if placement.shared_by is not None:
        saved_by_ranks.load_together(cast("Ranks", placement), saved)
        return
    restore(placement, saved)
    saved.check_norm()
