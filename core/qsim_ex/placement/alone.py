"""One state where many are expected: divided states, and devices that know no batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import NotSupported
from qsim_ex.placement.base import Amplitudes, NormCheck, Placement, Tick
from qsim_ex.placement.batch import Floats, Parts, Rows
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan


class Alone:
    """One state, wherever it lies, as a `States`."""

    rows = 1

    def __init__(self, placement: Placement) -> None:
        self.placement = placement
        self._handed_over = False

    @property
    def num_wires(self) -> int:
        """The state's."""
        return self.placement.num_wires

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

    def search(self, rows: Rows, wires: int, prefixes: Rows, runs: Rows, targets: Floats) -> Rows:  # noqa: ARG002
        """The values in the one row."""
        return self.placement.search(range(wires), prefixes, runs, targets)

    def paulis(self, parts: Parts) -> NDArray[np.complex128]:
        """Its sums."""
        return np.concatenate([np.zeros(0, dtype=np.complex128), *self.placement.paulis(parts)])[None]

    def read(self) -> Amplitudes:
        """Its amplitudes."""
        self.placement.settle()
        n = self.placement.num_wires
        return self.placement.read(0, 1 << n, range(n))[None]

    def read_in_order(self) -> Amplitudes:
        """Its amplitudes, once its wires are in order; where they cannot be moved so, they are read where they lie."""
        with suppress(NotSupported):
            self.placement.arrange(Layout.identity(self.placement.num_wires))
        return self.read()

    # --- what it says of itself ----------------------------------------------------------------------------------

    @property
    def single(self) -> Placement:
        """The state."""
        return self.placement

    @property
    def bytes_moved(self) -> int:
        """Bytes copied so far."""
        return self.placement.bytes_moved

    def ticks(self, plan: Plan) -> int:
        """How often `run` calls its `tick` for a plan."""
        return self.placement.ticks(plan)

    def stage_ends(self, plans: Sequence[Plan]) -> list[int]:
        """How often at the end of each stage."""
        return self.placement.stage_ends(plans)

    def report(self) -> dict[str, Any]:
        """What its placement tells."""
        return self.placement.report()

    def norm_check(self, num_gates: int) -> NormCheck | None:
        """What checks its squared norm."""
        return self.placement.norm_check(num_gates)

    def hand_over(self) -> Placement:
        """The state, which somebody else releases from now on."""
        placement, self._handed_over = self.placement, True
        return placement

    def release(self) -> None:
        """Give its memory back."""
        if not self._handed_over:
            self.placement.release()
