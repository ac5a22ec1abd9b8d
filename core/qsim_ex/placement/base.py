"""The protocol of a placement: what can be asked of a state in any memory.

Questions are in wires. `Single` and `Divided` fulfil this protocol; sampling, expectation values and `StateVector`
use amplitudes through it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.devices.base import Buffer
from qsim_ex.precision import AmplitudeDtype, Amplitudes
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.comm.protocol import Communicator
    from qsim_ex.devices.base import Device
    from qsim_ex.placement.deployment import Deployment
    from qsim_ex.placement.divided.near import NearSubState

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

Tick = Callable[[], None]

Parts = Sequence[tuple[int, Sequence[int]]]
"""Parts (x, zs) of Pauli strings, masks of wires: the X-part of some, and the Z-part of each."""

Pieces = Callable[[int, int], Iterable[tuple[int, Amplitudes]]]
"""Given the first index of a range and its number of amplitudes: all of them, in pieces, each with its offset."""

NormCheck = Callable[[float], None]
"""Raises `DeviceError` if a squared norm is not the expected one."""


class RunsPlans(Protocol):
    """What one state and many of one structure have in common: they run plans, and say what that takes."""

    @property
    def num_wires(self) -> int:
        """The number of wires of each state."""

    def release(self) -> None:
        """Release all memory; may be called again."""

    @property
    def bytes_moved(self) -> int:
        """Bytes copied so far between devices, and between devices and the host."""

    def passes(self, plan: Plan) -> Iterable[tuple[int, int]]:
        """Return for each pass of `run` over the states how many stages of a plan it has, and how many ticks."""

    def report(self) -> dict[str, object]:
        """Return what a result reports of a divided state, as JSON values; empty for a state in one piece."""

    def norm_check(self, num_gates: int, told: Callable[[], str] = str) -> NormCheck | None:
        """Return a check of the squared norm after `num_gates` gates, where amplitudes were moved; otherwise None."""


class Placement(RunsPlans, Protocol):
    """2^n amplitudes in some memory.

    kind: the name of its row in `kinds`, for results and messages; all that depends on the kind is a method here.
    layout: the index bit of each wire at rest. No question changes it in a state on one device or in host memory;
    between several devices, wires that were brought near may stay there.
    fresh: mask of index bits that are 0 in the whole state (see `steps.Sweep`).
    """

    kind: str
    layout: Layout
    fresh: int

    @property
    def levels(self) -> Levels:
        """How the index bits are divided."""

    @property
    def dtype(self) -> AmplitudeDtype:
        """complex64 or complex128."""

    @property
    def devices(self) -> Sequence[Device]:
        """The devices that work on amplitudes: one for each entry of the `work` of a run."""

    # --- description ---------------------------------------------------------------------------------------------

    @property
    def planning_levels(self) -> Levels | None:
        """The levels that a plan for this state needs; None for a state in one piece."""

    @property
    def slice_bits(self) -> int:
        """The number of index bits of a part that is copied in one piece."""

    @property
    def array(self) -> Buffer | None:
        """All amplitudes in the order of their indices, NumPy or CuPy, [2^n], if one array holds them; else None."""

    @property
    def shared_by(self) -> Communicator | None:
        """The connection to the other processes that hold parts of the state; None if this one holds all of it."""

    def deployed(self, before: Deployment) -> Deployment:
        """Return the deployment of this state, which was made from one of another number of wires."""

    # --- changes -------------------------------------------------------------------------------------------------

    def run(self, plan: Plan, work: Sequence[tuple[Any, Iterable[object]]], tick: Tick) -> None:
        """Run a plan that starts in this layout with these fresh bits.

        work: for each device, its prepared steps and the numbers of all steps. `tick` is called between steps.
        """

    def write_zeros(self, bits: int = -1) -> None:
        """Write the zeros of fresh index bits (all of them by default), which are not fresh afterwards."""

    def mark_zero(self, bits: int) -> None:
        """Mark index bits as fresh: all amplitudes at which one of them is 1 are zero, and need no memory."""

    def arrange(self, layout: Layout) -> None:
        """Move amplitudes to another layout."""

    def forget(self) -> None:
        """Prepare for overwriting all amplitudes: they may be anything, and the layout may become the wires' order."""

    def write(self, start: int, values: Amplitudes) -> None:
        """Overwrite amplitudes from index `start` on, which is that basis value in the layout of the wires' order."""

    def overwrite(self, pieces: Pieces, layout: Layout) -> None:
        """Overwrite all amplitudes, by index in the given layout. `pieces` is called once for each index."""

    def scale(self, when: When, inside: float, outside: float) -> None:
        """Multiply the amplitudes at which `when` (on wires) holds by `inside`, all others by `outside`."""

    # --- other numbers of wires, see `wires` ----------------------------------------------------------------------

    @property
    def home_bits(self) -> int:
        """The number of index bits of a part that stays where it is: all of them in one memory."""

    def another(self, num_wires: int) -> Self:
        """Return a placement of this kind on these devices for `num_wires` wires: |0…0>, every index bit fresh.

        Raises `NotSupported` where a kind cannot.
        """

    def copy_to(self, new: Self, layout: Layout) -> None:
        """Copy amplitudes to `another` placement: of each part, as many as both have there; what is new is fresh.

        layout: that of the wires there.
        """

    # --- direct access to memory ---------------------------------------------------------------------------------

    def expose(self) -> None:
        """Write everything to memory, so that amplitudes can be read in place; the devices may be busy."""

    def slice_at(self, number: int) -> Buffer:
        """Return a slice of an exposed state in host memory, without a copy: NumPy, or the device's array on a device.

        Raises `StateError` for a state without slices in host memory.
        """

    def visit_one(self, number: int) -> Iterator[NearSubState]:
        """Yield one sub state vector, brought near; it may be changed until the iterator ends."""

    # --- amplitudes ----------------------------------------------------------------------------------------------

    def gather(self, values: NDArray[np.int64], wires: Sequence[int]) -> Amplitudes:
        """Return the amplitudes of basis values; bit k of a value is wire ``wires[k]``."""

    def read(self, start: int, stop: int, wires: Sequence[int]) -> Amplitudes:
        """Return the amplitudes of basis values from `start` up to `stop`; bit k of a value is wire ``wires[k]``."""

    def stored(self, start: int, stop: int) -> Amplitudes:
        """Return the amplitudes at the indices from `start` up to `stop`, in the order of the indices."""

    def own_slices(self) -> Iterator[tuple[int, Amplitudes]]:
        """Yield the amplitudes that this process holds, by index, each slice with its first index."""

    def pieces(self, size: int) -> Iterator[tuple[int, Amplitudes]]:
        """Yield all amplitudes that are not known to be zero, in pieces of at most `size`, each with its first index.

        The order is that in which they are brought near.
        """

    # --- sums, all in float64 ------------------------------------------------------------------------------------

    def norm_squared(self) -> float:
        """Return Σ |amplitude|²."""

    @property
    def marginal_wires(self) -> int:
        """The most wires that one marginal should have."""

    def marginal(self, wires: Sequence[int], when: When = ALWAYS) -> NDArray[np.float64]:
        """Return Σ |amplitude|² for each value of `wires`, over the basis values at which `when` (on wires) holds.

        float64 [2^wires], ``wires[0]`` least significant.
        """

    def searched_bits(self, shots: int) -> int:
        """Return how many of the lowest wires one `search` should cover, for this number of shots."""

    def search(
        self, wires: Sequence[int], prefixes: NDArray[np.int64], runs: NDArray[np.int64], targets: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Return for each target the value of `wires` that it falls on behind its prefix (see `Device.search`).

        prefixes: values of all other wires, shifted to their bits in a basis value; one for each run.
        """

    def paulis(self, parts: Sequence[tuple[int, Sequence[int]]]) -> list[NDArray[np.complex128]]:
        """Return <ψ| X-part · Z-part |ψ> for each X-part (a mask of wires) and each of its Z-parts, no factors of i."""

    def density(self, wires: Sequence[int]) -> NDArray[np.complex128]:
        """Return the reduced density matrix of some wires, not normalised, ``wires[0]`` least significant."""

    def inner(self, other: Placement) -> complex:
        """Return <self|other>; the other's amplitudes are moved to this layout first."""


class States(RunsPlans, Protocol):
    """Some states of one structure.

    rows: the number of states. layout, fresh: of all of them, see `Placement`.
    """

    rows: int

    @property
    def layout(self) -> Layout:
        """The index bit of each wire."""

    @property
    def fresh(self) -> int:
        """Mask of index bits that are 0 in all states (see `steps.Sweep`)."""

    def run(self, plan: Plan, work: Sequence[tuple[Any, Iterable[object]]], tick: Tick) -> None:
        """Run a plan that starts in this layout; `work` holds the prepared steps and the numbers of all rows."""

    def take(self, rows: Rows) -> Self:
        """Return new states, in memory of their own: row k is row ``rows[k]`` of these."""

    def row(self, row: int) -> Placement:
        """Return one row; it shares its memory with these states."""

    def marginals(self, wires: Sequence[int]) -> Floats:
        """Return Σ |amplitude|² for each row and value of `wires`, [rows, 2^wires], ``wires[0]`` least significant."""

    def search(self, rows: Rows, wires: int, prefixes: Rows, runs: Rows, targets: Floats) -> Rows:
        """Return for each target the value of the lowest wires that it falls on, in a row and behind a prefix there."""

    def paulis(self, parts: Parts) -> NDArray[np.complex128]:
        """Return <ψ| X-part · Z-part |ψ> of each row, for each z of each part (x, zs), masks of wires: [rows, zs]."""

    def gather(self, values: Rows, wires: Sequence[int]) -> Amplitudes:
        """Return amplitudes of basis values, [rows, values]; bit k of a value is wire ``wires[k]``."""

    def read(self) -> Amplitudes:
        """Return all amplitudes in the order of the wires, [rows, 2^n]."""

    def read_in_order(self) -> Amplitudes:
        """Return the same after moving the states to the order of the wires; no bit is fresh afterwards."""

    def overwrite(self, amplitudes: Amplitudes) -> None:
        """Overwrite all amplitudes, [rows, 2^n] or, if they are equal in all rows, [1, 2^n], in the wires' order."""

    @property
    def single(self) -> Placement | None:
        """The state, if there is one and it has its own placement."""
