"""Read-only questions to a state vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.observables import PauliSum, require_sums
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.base import Buffer
from qsim_ex.devices.memory import state_bytes
from qsim_ex.errors import StateError
from qsim_ex.observe import expectation, sampling, seeding
from qsim_ex.options import Options
from qsim_ex.placement.base import Placement
from qsim_ex.placement.index_bits import pack, unpack
from qsim_ex.precision import STORAGE, Amplitudes
from qsim_ex.state import basis
from qsim_ex.state.memory_owner import MemoryOwner
from qsim_ex.steps.index_map import IndexMap
from qsim_ex.steps.layout import Layout


class Questions(MemoryOwner):
    """The read-only half of `StateVector`, which makes it and owns the memory.

    No question moves an amplitude, except `inner` of two states in different layouts.
    """

    def __init__(self, placement: Placement, where: Assignment, options: Options) -> None:
        super().__init__(placement.num_wires, where, options)
        self._placement = placement

    # --- what it is ------------------------------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """The index bit of each wire, and the wires that are stored inverted."""
        return self._placement.layout

    @property
    def index_map(self) -> IndexMap:
        """Which basis state the amplitude at each index belongs to."""
        return IndexMap.of(self._placement.layout)

    @property
    def in_one_piece(self) -> bool:
        """Whether one buffer of one device holds all amplitudes, so that `array` shows them."""
        return self._placement.planning_levels is None

    @property
    def nbytes(self) -> int:
        """The bytes of the amplitudes."""
        return state_bytes(self.num_wires, self.dtype)

    @property
    def array(self) -> Buffer:
        """The amplitudes as they are stored, without a copy: NumPy or CuPy, [2^n], to be read by `layout`."""
        with self._guard:
            found = self._placement.array
            if found is None:
                raise StateError(f"expected a state in one array, got one that is {self._placement.kind}; use get().")
            return found

    # --- sums -------------------------------------------------------------------------------------------------

    def probabilities(
        self, wires: Sequence[int] | None = None, where: Mapping[int, int] | None = None
    ) -> NDArray[np.float64]:
        """Return Σ |amplitude|² for each value of `wires` (default all), float64 [2^k], ``wires[0]`` least significant.

        where: wires that are held at a value; the sums are joint probabilities, and are not renormalised.
        """
        with self._guard:
            wires = basis.order(wires, self.num_wires, "probabilities")
            self._fits_host("an array of probabilities", 8 << len(wires))
            return self._placement.marginal(wires, basis.condition(where, wires, self.num_wires))

    @overload
    def expectation(self, observable: PauliSum) -> float | complex: ...
    @overload
    def expectation(self, observable: Sequence[PauliSum]) -> NDArray[np.inexact]: ...
    def expectation(self, observable: PauliSum | Sequence[PauliSum]) -> float | complex | NDArray[np.inexact]:
        """<ψ|H|ψ> of one Pauli sum, or of several, which share passes over memory.

        Real (float64) if all coefficients are real, complex otherwise. Raises `WireError`.
        """
        with self._guard:
            sums = (observable,) if isinstance(observable, PauliSum) else tuple(observable)
            require_sums(sums)
            found = expectation.pauli_sums(self._placement, sums)
            real = all(complex(term.coefficient).imag == 0 for one in sums for term in one.terms)
            result = found.real if real else found
            return result[0].item() if isinstance(observable, PauliSum) else result

    def expectation_matrix(self, matrix: ArrayLike, wires: Sequence[int]) -> complex:
        """Return <ψ|M|ψ> of any matrix [2^k, 2^k] on up to 12 wires, ``wires[0]`` least significant."""
        with self._guard:
            return expectation.matrix(self._placement, matrix, wires)

    def norm(self) -> float:
        """Return ‖ψ‖."""
        with self._guard:
            return float(np.sqrt(self._placement.norm_squared()))

    def inner(self, other: Questions) -> complex:
        """Return <self|other>. The other's amplitudes may be moved into this state's layout, which changes no state."""
        with self._guard, other._guard:
            if other.num_wires != self.num_wires:
                raise StateError(f"expected another state of {self.num_wires} wires, got one of {other.num_wires}.")
            return self._placement.inner(other._placement)

    def fidelity(self, other: Questions) -> float:
        """Return |<self|other>|²."""
        return abs(self.inner(other)) ** 2

    # --- amplitudes and shots ----------------------------------------------------------------------------------------

    def amplitudes(
        self, values: Sequence[int | str] | NDArray[np.generic], wires: Sequence[int] | None = None
    ) -> Amplitudes:
        """Return the amplitudes of basis values, in their order.

        Bit k of an integer is wire ``wires[k]``; in a string the leftmost character is the last of `wires`. `wires`
        is an order of all wires, by default wire k for bit k. Raises `CircuitError`, `WireError`.
        """
        with self._guard:
            wires = basis.order(wires, self.num_wires, "amplitudes", all_wires=True)
            return self._placement.gather(basis.values(values, self.num_wires), wires)

    def get(self, start: int = 0, stop: int | None = None) -> Amplitudes:
        """Return the amplitudes of basis values from `start` up to `stop` (default: the end) as a new NumPy array."""
        with self._guard:
            stop = self._range(start, 1 << self.num_wires if stop is None else stop)
            self._fits_host("a copy of the amplitudes", STORAGE[self.dtype].nbytes(stop - start))
            return self._placement.read(start, stop, range(self.num_wires))

    def to_numpy(self, wires: Sequence[int] | None = None) -> Amplitudes:
        """Return all amplitudes as a new NumPy array; bit k of the index is wire ``wires[k]`` (default: wire k)."""
        with self._guard:
            wires = basis.order(wires, self.num_wires, "to_numpy", all_wires=True)
            self._fits_host("a copy of the state", self.nbytes)
            return self._placement.read(0, 1 << self.num_wires, wires)

    def draw(
        self, shots: int, seed: int | None = None, *, check_norm: Callable[[float], None] | None = None
    ) -> NDArray[np.int64]:
        """Return the basis value of each of `shots` shots, int64 [shots], bit w = wire w; the state is not changed.

        The same seed gives the same shots on every device and in every layout. check_norm: called with the squared
        norm, a by-product of drawing. Raises `ShotsError`, `OptionError`.
        """
        with self._guard:
            shots = check.shots(shots)
            self._fits_host(f"a sample of {shots} shots", sampling.BYTES_PER_SHOT * shots)
            threads = sampling.threads_for(self.options.threads)
            return sampling.draw_seeded(self._placement, *self._key(seed), shots, check_norm, threads)

    def sample(
        self, shots: int, wires: Sequence[int] | None = None, seed: int | None = None, *, packed: bool = False
    ) -> NDArray[np.uint8]:
        """Measure `shots` times without changing the state: 0s and 1s, uint8 [shots, wires].

        The same seed gives the same shots on every device and in every layout, whichever wires are asked for.
        packed: uint8 [shots, ceil(wires / 8)] instead, column k being bit k % 8 of byte k // 8.
        Raises `ShotsError`, `WireError`, `OptionError`.
        """
        with self._guard:
            wires = basis.order(wires, self.num_wires, "sample")
            column = {wire: k for k, wire in enumerate(wires)}
            masks = [1 << column[wire] if wire in column else 0 for wire in range(self.num_wires)]
            rows = pack(self.draw(shots, seed), masks, len(wires))
            return rows if packed else unpack(rows, len(wires))

    def _key(self, seed: int | None) -> tuple[int, int]:
        """Return the key of the next random numbers: a seed, or the options' seed and how often it was used."""
        if seed is not None:
            return seeding.checked_seed(seed), 0
        if self.options.seed is None:
            fresh = seeding.fresh_seed()
            return (fresh if self.where.ranks is None else self.where.ranks.broadcast(fresh)), 0
        self._draws += 1
        return seeding.checked_seed(self.options.seed), self._draws - 1
