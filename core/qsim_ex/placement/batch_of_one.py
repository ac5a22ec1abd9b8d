"""One state where many are expected: divided states, and devices that know no batches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import NotSupported
from qsim_ex.placement.base import Amplitudes, Placement
from qsim_ex.placement.batch import Floats, Parts, Rows
from qsim_ex.steps.layout import Layout


class BatchOfOne:
    """One state, wherever it lies, as a `States`: what is said of it is said by its placement."""

    rows = 1

    def __init__(self, placement: Placement) -> None:
        self.single = placement
        self.run = placement.run
        self.ticks = placement.ticks
        self.stage_ends = placement.stage_ends
        self.report = placement.report
        self.norm_check = placement.norm_check
        self.release = placement.release

    @property
    def num_wires(self) -> int:
        """The state's."""
        return self.single.num_wires

    @property
    def layout(self) -> Layout:
        """The state's."""
        return self.single.layout

    @layout.setter
    def layout(self, layout: Layout) -> None:
        self.single.layout = layout

    @property
    def fresh(self) -> int:
        """The state's."""
        return self.single.fresh

    @property
    def bytes_moved(self) -> int:
        """Bytes copied so far."""
        return self.single.bytes_moved

    def take(self, rows: Rows) -> BatchOfOne:
        """A copy of the state; `rows` is [0]."""
        if len(rows) != 1:
            raise ValueError(f"{len(rows)} rows of a state that is alone")
        return BatchOfOne(self.single.clone())

    def row(self, row: int) -> Placement:  # noqa: ARG002
        """The state."""
        return self.single

    def marginals(self, wires: Sequence[int]) -> Floats:
        """Its sums."""
        return self.single.marginal(wires)[None]

    def search(self, rows: Rows, wires: int, prefixes: Rows, runs: Rows, targets: Floats) -> Rows:  # noqa: ARG002
        """The values in the one row."""
        return self.single.search(range(wires), prefixes, runs, targets)

    def paulis(self, parts: Parts) -> NDArray[np.complex128]:
        """Its sums."""
        return np.concatenate([np.zeros(0, dtype=np.complex128), *self.single.paulis(parts)])[None]

    def read(self) -> Amplitudes:
        """Its amplitudes."""
        self.single.write_zeros()
        n = self.single.num_wires
        return self.single.read(0, 1 << n, range(n))[None]

    def read_in_order(self) -> Amplitudes:
        """Its amplitudes, once its wires are in order; where they cannot be moved so, they are read where they lie."""
        with suppress(NotSupported):
            self.single.arrange(Layout.identity(self.single.num_wires))
        return self.read()

    def hand_over(self) -> Placement:
        """The state, which somebody else releases from now on."""
        self.release = _nothing
        return self.single


def _nothing() -> None:
    """What there is to release of a state that was handed over."""
