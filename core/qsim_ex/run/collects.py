"""What traversals give states to: at saves, and at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.saves import Save, SaveValues
from qsim_ex.placement.base import States
from qsim_ex.run.branches import Branches
from qsim_ex.run.request import BatchInputs, WorkUnit


class Collects(Protocol):
    """Takes the states of a run: at saves and at the end. done: see `Collector`."""

    done: NDArray[np.bool_] | None

    def read(self, states: States, saves: Sequence[Save]) -> list[SaveValues]:
        """Return the values of a save, or of several expectation values, one for each row of the states."""

    def save(
        self, unit: WorkUnit, save: Save, values: SaveValues, branches: Branches, rounds: tuple[int, ...] = ()
    ) -> None:
        """Take the values of a save, one for each branch; rounds: the present round of each loop around it."""

    def ahead(self, states: States) -> None:
        """Queue what `finish` needs of the states, at the end of the program, before anybody waits for them."""

    def finish(self, unit: WorkUnit, inputs: BatchInputs, states: States, branches: Branches) -> None:
        """Take states at the end of the program; they are released after it."""

    def left(self, unit: WorkUnit, branches: Branches) -> Branches:
        """Return the branches of a unit without the shots that are done; called only if `done` is kept."""
