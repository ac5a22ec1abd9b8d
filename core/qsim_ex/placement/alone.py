"""One state where many are expected: divided states, and devices that know no batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.placement.base import Amplitudes, Placement, Tick
from qsim_ex.placement.batch import Floats, Parts, Rows
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan


class Alone:
    """One state, wherever it lies, as a `States`."""

    rows = 1

    def __init__(self, placement: Placement) -> None:
        self.placement = placement

    @property
    def layout(self) -> Layout:
        """The state's."""
        return self.placement.layout

    @layout.setter
    def layout(self, layout: Layout) -> None:
        self.placement.layout = layout

    @property
    def fresh(self) -> int:
        """The state's."""
        return self.placement.fresh

    def run(self, plan: Plan, work: Sequence[tuple[Any, Iterable[Any]]], tick: Tick) -> None:
        """Run the plan."""
        self.placement.run(plan, work, tick)

    def take(self, rows: Rows) -> Alone:
        """A copy of the state; `rows` is [0]."""
        if len(rows) != 1:
            raise ValueError(f"{len(rows)} rows of a state that is alone")
        return Alone(self.placement.clone())

    def row(self, row: int) -> Placement:  # noqa: ARG002
        """The state."""
        return self.placement

    def marginals(self, wires: Sequence[int]) -> Floats:
        """Its sums."""
        return self.placement.marginal(wires)[None]

    def paulis(self, parts: Parts) -> NDArray[np.complex128]:
        """Its sums."""
        return np.concatenate([np.zeros(0, dtype=np.complex128), *self.placement.paulis(parts)])[None]

    def read(self) -> Amplitudes:
        """Its amplitudes."""
        self.placement.settle()
        n = self.placement.num_wires
        return self.placement.read(0, 1 << n, range(n))[None]

    def release(self) -> None:
        """Give its memory back."""
        self.placement.release()
