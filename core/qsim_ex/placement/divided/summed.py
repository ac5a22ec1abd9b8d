"""What all ranks answer together: each for its own amplitudes; the answers are added up, and all ranks get the sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.comm.protocol import Communicator
from qsim_ex.placement.base import Amplitudes
from qsim_ex.placement.divided.exchanged import Exchanged


class Summed(Exchanged):
    """A divided state whose parts are on several ranks, with the answers that are sums over all of them.

    communicator: connects the ranks.
    """

    communicator: Communicator

    def _sum(self, mine: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of the answers of all ranks; that of a large answer takes its place, a piece at a time."""
        if mine.nbytes <= thresholds.now.summed_bytes:
            return self.communicator.allreduce(mine)
        flat, size = mine.reshape(-1), thresholds.now.summed_bytes // mine.itemsize
        for first in range(0, flat.size, size):
            flat[first : first + size] = self.communicator.allreduce(flat[first : first + size])
        return flat.reshape(mine.shape)

    def gather(self, values: NDArray[np.int64], wires: Sequence[int]) -> Amplitudes:
        """Return amplitudes of basis values; bit k of a value is wire ``wires[k]``."""
        return self._sum(super().gather(values, wires))

    def read(self, start: int, stop: int, wires: Sequence[int]) -> Amplitudes:
        """Return amplitudes of basis values `start` up to `stop`; bit k of a value is wire ``wires[k]``."""
        return self._sum(super().read(start, stop, wires))

    def stored(self, start: int, stop: int) -> Amplitudes:
        """Return the amplitudes at the indices from `start` up to `stop`, in the order of the indices."""
        return self._sum(super().stored(start, stop))

    def norm_squared(self) -> float:
        """Return Σ |amplitude|²."""
        return float(self._sum(np.array(super().norm_squared(), dtype=np.float64)))

    def marginal(self, wires: Sequence[int], when: When = ALWAYS) -> NDArray[np.float64]:
        """Return Σ |amplitude|² for each value of `wires`, over the basis values at which `when` (on wires) holds."""
        return self._sum(super().marginal(wires, when))

    def search(
        self, wires: Sequence[int], prefixes: NDArray[np.int64], runs: NDArray[np.int64], targets: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Return for each target the value of `wires` that it falls on; one rank holds it, all others find no bit."""
        _, value = self.open(wires)  # bits that are known, which every rank finds
        return self._sum(super().search(wires, prefixes, runs, targets) & ~value) | value

    def paulis(self, parts: Sequence[tuple[int, Sequence[int]]]) -> list[NDArray[np.complex128]]:
        """Return <ψ| X-part · Z-part |ψ> for each X-part (a mask of wires) and each of its Z-parts, no factors of i."""
        return [self._sum(mine) for mine in super().paulis(parts)]

    def _wide_pauli(self, x: int, zs: Sequence[int]) -> NDArray[np.complex128]:
        """Return one X-part that does not fit into a visit, on rank 0; it is a sum over all ranks already."""
        found = super()._wide_pauli(x, zs)
        return found if self.communicator.rank == 0 else np.zeros_like(found)

    def density(self, wires: Sequence[int]) -> NDArray[np.complex128]:
        """Return the reduced density matrix of wires, not normalised, ``wires[0]`` least significant."""
        return self._sum(super().density(wires))
