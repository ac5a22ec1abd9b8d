"""What can be asked of a state wherever its amplitudes lie.

Questions come in wires. `Single` and `Divided` fulfil this protocol; sampling, expectation values and `StateVector`
know amplitudes through it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.devices.base import Device
    from qsim_ex.placement.deployment import Deployment
    from qsim_ex.placement.divided.visited import NearSubState

Amplitudes = NDArray[np.complexfloating[Any, Any]]
Tick = Callable[[], None]

Pieces = Callable[[int, int], Iterable[tuple[int, Amplitudes]]]
"""Given the first index of a range and how many amplitudes it has: all of them, in pieces, each with its offset."""

NormCheck = Callable[[float], None]
"""Raises `DeviceError` if a squared norm is not what it has to be."""

MARGINAL_WIRES = 22
"""Most wires that one pass sums over, so that what comes back stays in a processor's cache."""

CHUNK = 1 << 20
"""How many amplitudes are gathered at a time: their indices take 8 MiB."""

PIECE = 1 << 24
"""How many amplitudes at most cross the host at a time: 256 MiB in complex128."""


class Placement(Protocol):
    """2^n amplitudes somewhere.

    kind: the name of its row in `kinds`, for results and messages; what depends on the kind is a method here.
    layout: the index bit of each wire at rest. No question changes it in a state on one device or in host memory;
    between several devices, what is brought near may stay there.
    fresh: mask of index bits that are 0 all over (see `steps.Sweep`).
    """

    kind: str
    layout: Layout
    fresh: int

    @property
    def num_wires(self) -> int:
        """How many wires the state has."""

    @property
    def levels(self) -> Levels:
        """How the index bits are divided."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """complex64 or complex128."""

    @property
    def devices(self) -> Sequence[Device]:
        """The devices on which amplitudes are worked on: one for each entry of the `work` of a run."""

    def release(self) -> None:
        """Let go of all memory; may be called again."""

    # --- what it says of itself ----------------------------------------------------------------------------------

    @property
    def planning_levels(self) -> Levels | None:
        """The levels that a plan for this state has to be made for; None for a state in one piece."""

    @property
    def slice_bits(self) -> int:
        """Index bits of what is copied in one piece."""

    @property
    def array(self) -> Any | None:
        """All amplitudes as they lie, NumPy or CuPy, [2^n], where one array holds them; otherwise None."""

    @property
    def bytes_moved(self) -> int:
        """Bytes copied so far between devices, and between devices and the host."""

    def ticks(self, plan: Plan) -> int:
        """How often `run` calls its `tick` for a plan."""

    def stage_ends(self, plans: Sequence[Plan]) -> list[int]:
        """How often `tick` has been called at the end of each stage of some plans that run one after another."""

    def report(self) -> dict[str, Any]:
        """What a result says of a divided state, as what JSON can hold; nothing for one in one piece."""

    def norm_check(self, num_gates: int) -> NormCheck | None:
        """What checks the squared norm after so many gates, where amplitudes were moved about; otherwise None."""

    def deployed(self, before: Deployment) -> Deployment:
        """The deployment of this state, which was made from one of another number of wires."""

    # --- changes -------------------------------------------------------------------------------------------------

    def run(self, plan: Plan, work: Sequence[tuple[Any, Iterable[Any]]], tick: Tick) -> None:
        """Run a plan that starts in this layout with these fresh bits.

        work: for each device, what it has prepared and the numbers of all steps. `tick` is called between steps.
        """

    def write_zeros(self, bits: int = -1) -> None:
        """Write the zeros of fresh index bits (all of them by default), which are then fresh no longer."""

    def mark_zero(self, bits: int) -> None:
        """Index bits are fresh from now on: where one of them is 1 all amplitudes are zero, and need no memory."""

    def arrange(self, layout: Layout) -> None:
        """Move amplitudes so that they lie in another layout."""

    def forget(self) -> None:
        """All amplitudes are about to be overwritten, so they may lie in the order of the wires at once."""

    def write(self, start: int, values: Amplitudes) -> None:
        """Overwrite amplitudes from index `start` on: from that basis value, in the layout of the wires' order."""

    def overwrite(self, pieces: Pieces, layout: Layout) -> None:
        """Overwrite all amplitudes, by index: they lie in that layout then. `pieces` is asked once for each index."""

    def scale(self, when: When, inside: float, outside: float) -> None:
        """Multiply the amplitudes at which `when` (on wires) holds by `inside`, all others by `outside`."""

    def extend(self, count: int) -> Placement:
        """This state with `count` more wires in |0>, numbered from n on; this placement is released."""

    def shrink(self, wires: Sequence[int]) -> Placement:
        """This state without some wires, each of which is at 0 or at 1; this placement is released.

        The others keep their order and are numbered anew from 0. Raises `StateError`, with the weight, if some of
        the wires are found at more than one value.
        """

    def clone(self) -> Self:
        """Another placement of the same kind, on the same devices, that holds the same state."""

    # --- by hand -------------------------------------------------------------------------------------------------

    def expose(self) -> None:
        """Write everything to memory, so that amplitudes may be looked at where they lie; the devices may be busy."""

    def slice_at(self, number: int) -> Any:
        """A slice in host memory of an exposed state, without a copy: NumPy, or the device's array if it lies there.

        Raises `StateError` for a state without slices in host memory.
        """

    def visit_one(self, number: int) -> Iterator[NearSubState]:
        """Bring one sub state vector near; it may be changed until the iterator ends."""

    # --- amplitudes ----------------------------------------------------------------------------------------------

    def gather(self, values: NDArray[np.int64], wires: Sequence[int]) -> Amplitudes:
        """Amplitudes of basis values; bit k of a value is wire ``wires[k]``."""

    def read(self, start: int, stop: int, wires: Sequence[int]) -> Amplitudes:
        """Amplitudes of the basis values from `start` up to `stop`; bit k of a value is wire ``wires[k]``."""

    def stored(self, start: int, stop: int) -> Amplitudes:
        """Amplitudes at the indices from `start` up to `stop`, as they lie."""

    def pieces(self, size: int) -> Iterator[tuple[int, Amplitudes]]:
        """All amplitudes that are not known to be zero, in pieces of at most `size`, each with its first index.

        The order is that in which they come near.
        """

    # --- sums, all in float64 ------------------------------------------------------------------------------------

    def norm_squared(self) -> float:
        """Σ |amplitude|²."""

    @property
    def marginal_wires(self) -> int:
        """Most wires that one marginal should be asked for."""

    def marginal(self, wires: Sequence[int], when: When = ALWAYS) -> NDArray[np.float64]:
        """Σ |amplitude|² for each value of `wires`, over the basis values at which `when` (on wires) holds.

        float64 [2^wires], ``wires[0]`` least significant.
        """

    def searched_bits(self, shots: int) -> int:
        """How many of the lowest wires one `search` should go through, for so many shots."""

    def search(
        self, wires: Sequence[int], prefixes: NDArray[np.int64], runs: NDArray[np.int64], targets: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """For each target, the value of `wires` that it falls on behind its prefix (see `Device.search`).

        prefixes: values of all other wires, shifted to where they stand in a basis value; one for each run.
        """

    def paulis(self, parts: Sequence[tuple[int, Sequence[int]]]) -> list[NDArray[np.complex128]]:
        """For each X-part (a mask of wires) and each of its Z-parts <ψ| X-part · Z-part |ψ>, without factors of i."""

    def density(self, wires: Sequence[int]) -> NDArray[np.complex128]:
        """The reduced density matrix of some wires, not normalised, ``wires[0]`` least significant."""

    def inner(self, other: Placement) -> complex:
        """<self|other>; the other's amplitudes are brought into this layout first."""
