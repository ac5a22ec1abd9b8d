"""One state where many are expected: for divided states, and devices without batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import NotSupported
from qsim_ex.placement.base import Floats, Parts, Placement, Rows
from qsim_ex.placement.wires import cloned
from qsim_ex.precision import Amplitudes
from qsim_ex.steps.layout import Layout


class BatchOfOne:
    """One state in any placement as a `States`; its placement does all the work."""

    rows = 1

    def __init__(self, placement: Placement) -> None:
        self.single = placement
        self.run = placement.run
        self.passes = placement.passes
        self.report = placement.report
        self.norm_check = placement.norm_check
        self.release = placement.release

    @property
    def num_wires(self) -> int:
        """The number of wires of the state."""
        return self.single.num_wires

    @property
    def layout(self) -> Layout:
        """The layout of the state."""
        return self.single.layout

    @layout.setter
    def layout(self, layout: Layout) -> None:
        self.single.layout = layout

    @property
    def fresh(self) -> int:
        """The fresh bits of the state."""
        return self.single.fresh

    @property
    def bytes_moved(self) -> int:
        """Bytes copied so far."""
        return self.single.bytes_moved

    def take(self, rows: Rows) -> BatchOfOne:
        """Return a copy of the state; `rows` is [0]."""
        if len(rows) != 1:
            raise ValueError(f"expected 1 row of a single state, got {len(rows)}; pass rows=[0].")
        return BatchOfOne(cloned(self.single))

    def row(self, row: int) -> Placement:  # noqa: ARG002
        """Return the state."""
        return self.single

    def marginals(self, wires: Sequence[int]) -> Floats:
        """Return the marginal of the state, [1, 2^wires]."""
        return self.single.marginal(wires)[None]

    def search(self, rows: Rows, wires: int, prefixes: Rows, runs: Rows, targets: Floats) -> Rows:  # noqa: ARG002
        """Return the values in the one row; see `States.search`."""
        return self.single.search(range(wires), prefixes, runs, targets)

    def paulis(self, parts: Parts) -> NDArray[np.complex128]:
        """Return <ψ| X-part · Z-part |ψ> of the state, [1, all z]."""
        return np.concatenate([np.zeros(0, dtype=np.complex128), *self.single.paulis(parts)])[None]

    def gather(self, values: Rows, wires: Sequence[int]) -> Amplitudes:
        """Return amplitudes of basis values, [1, values]; bit k of a value is wire ``wires[k]``."""
        self.single.write_zeros()
        return self.single.gather(values, wires)[None]

    def read(self) -> Amplitudes:
        """Return the amplitudes in the order of the wires, [1, 2^n]."""
        self.single.write_zeros()
        n = self.single.num_wires
        return self.single.read(0, 1 << n, range(n))[None]

    def read_in_order(self) -> Amplitudes:
        """Return the amplitudes after moving them to the order of the wires, or in place where they cannot be moved."""
        with suppress(NotSupported):
            self.single.arrange(Layout.identity(self.single.num_wires))
        return self.read()

    def overwrite(self, amplitudes: Amplitudes) -> None:
        """Overwrite all amplitudes, [1, 2^n], in the order of the wires."""

        def pieces(first: int, size: int) -> Iterator[tuple[int, Amplitudes]]:
            yield 0, amplitudes[0, first : first + size]

        self.single.overwrite(pieces, Layout.identity(self.num_wires))

    def hand_over(self) -> Placement:
        """Return the state, which the caller releases from now on."""
        self.release = _nothing
        return self.single


def _nothing() -> None:
    """Do nothing: the release of a state that was handed over."""
