"""A part of the amplitudes of a state, which says where it belongs."""

from __future__ import annotations

from typing import NamedTuple

from qsim_ex.precision import Amplitudes


class AmplitudeSlice(NamedTuple):
    """The amplitudes of the basis values from `start` on, up to `stop`.

    amplitudes: NumPy; ``amplitudes[k]`` is that of the basis value ``start + k``, whose bit w is wire w.
    """

    start: int
    amplitudes: Amplitudes

    @property
    def stop(self) -> int:
        """The basis value behind the last one."""
        return self.start + len(self.amplitudes)
