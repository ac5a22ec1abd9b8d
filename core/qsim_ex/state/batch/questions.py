"""Read-only questions to a batch of states; one call returns the answers of all states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex import thresholds
from qsim_ex.circuit import check
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.base import Buffer
from qsim_ex.devices.memory import state_bytes
from qsim_ex.errors import MatrixError, NotSupported
from qsim_ex.observe import expectation, sampling, seeding
from qsim_ex.observe.expectation import density_of, strings_of
from qsim_ex.options import Options
from qsim_ex.placement.batch import Batch
from qsim_ex.placement.index_bits import pack, unpack
from qsim_ex.precision import STORAGE, Amplitudes
from qsim_ex.state import basis
from qsim_ex.state.memory_owner import MemoryOwner
from qsim_ex.steps.index_map import IndexMap
from qsim_ex.steps.layout import Layout


class BatchedQuestions(MemoryOwner):
    """The read-only half of `BatchedStateVector`; no question moves an amplitude."""

    def __init__(self, states: Batch, where: Assignment, options: Options) -> None:
        super().__init__(states.num_wires, where, options)
        self.rows = states.rows
        self._states = states

    # --- what it is ------------------------------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """The index bit of each wire, and the wires that are stored inverted; the same in all states."""
        return self._states.layout

    @property
    def index_map(self) -> IndexMap:
        """Which basis state the amplitude at each index of a state belongs to, the same in all states."""
        return IndexMap.of(self._states.layout)

    @property
    def stride(self) -> int:
        """The number of amplitudes from the beginning of one state to that of the next: 2^n."""
        return 1 << self.num_wires

    @property
    def nbytes(self) -> int:
        """The bytes of the amplitudes of all states."""
        return self.rows * state_bytes(self.num_wires, self.dtype)

    @property
    def array(self) -> Buffer:
        """The amplitudes as they are stored, without a copy: NumPy or CuPy, [rows, 2^n], to be read by `layout`."""
        with self._guard:
            return self._states.buffer[: self.rows << self.num_wires].reshape(self.rows, self.stride)

    # --- sums -------------------------------------------------------------------------------------------------

    def probabilities(
        self, wires: Sequence[int] | None = None, where: Mapping[int, int] | None = None
    ) -> NDArray[np.float64]:
        """Return Σ |amplitude|² (elsewhere called abs2sum) for each value of `wires` (all by default), in each state.

        float64 [rows, 2^k], ``wires[0]`` least significant. where: wires that are held at a value; the sums are joint
        probabilities, and are not renormalised.
        """
        with self._guard:
            wires = basis.order(wires, self.num_wires, "probabilities")
            self._fits_host("an array of probabilities", 8 * self.rows << len(wires))
            return self._states.marginals(wires, basis.condition(where, wires, self.num_wires))

    def norm(self) -> NDArray[np.float64]:
        """Return ‖ψ‖ of each state, float64 [rows]."""
        with self._guard:
            return np.asarray(np.sqrt(self._states.marginals(())[:, 0]))

    def expectation(self, observable: PauliSum | Sequence[PauliSum]) -> NDArray[np.inexact]:
        """Return <ψ|H|ψ> of each state: [rows] for one Pauli sum, [rows, sums] for several, which share passes.

        Real (float64) if all coefficients are real, complex otherwise. Raises `WireError`.
        """
        with self._guard:
            sums = (observable,) if isinstance(observable, PauliSum) else tuple(observable)
            expectation.fit(sums, self.num_wires)
            strings = 1 + sum(len(one.terms) for one in sums)
            found = np.concatenate([expectation.in_rows(part, sums)[0] for _, part in self._parts(strings)])
            real = all(complex(term.coefficient).imag == 0 for one in sums for term in one.terms)
            result = np.ascontiguousarray(found.real) if real else found
            return result[:, 0] if isinstance(observable, PauliSum) else result

    def expectation_matrix(self, matrix: ArrayLike, wires: Sequence[int]) -> NDArray[np.complex128]:
        """Return <ψ|M|ψ> of each state, complex128 [rows], for M on up to 12 wires, ``wires[0]`` least significant.

        matrix: any matrix [2^k, 2^k], or one for each state, [rows, 2^k, 2^k].
        """
        with self._guard:
            wires = self._few(wires, "expectation_matrix")
            array, size = np.asarray(matrix, dtype=np.complex128), 1 << len(wires)
            if array.ndim != 3:
                array = check.square(array, len(wires), "expectation_matrix")[None]
            elif array.shape != (self.rows, size, size):
                raise MatrixError(
                    f"expectation_matrix: expected, for {len(wires)} wires of {self.rows} states, a matrix ({size}, "
                    f"{size}) for all, or ({self.rows}, {size}, {size}), got {array.shape}."
                )
            found = np.empty(self.rows, dtype=np.complex128)
            for first, some in self._densities(wires):
                rows = slice(first, first + len(some))
                found[rows] = np.einsum("rij,rji->r", array if len(array) == 1 else array[rows], some)
            return found

    def density(self, wires: Sequence[int]) -> NDArray[np.complex128]:
        """Return the reduced density matrix of some wires (12 at most) in each state, complex128 [rows, 2^k, 2^k].

        ``wires[0]`` is least significant; the trace is the state's squared norm.
        """
        with self._guard:
            wires = self._few(wires, "density")
            self._fits_host("density matrices", 16 * self.rows << 2 * len(wires))
            return np.concatenate([some for _, some in self._densities(wires)])

    # --- amplitudes and shots ----------------------------------------------------------------------------------------

    def amplitudes(
        self, values: Sequence[int | str] | NDArray[np.generic], wires: Sequence[int] | None = None
    ) -> Amplitudes:
        """Return amplitudes of basis values in each state, [rows, values]; arguments as of `StateVector.amplitudes`."""
        with self._guard:
            wires = basis.order(wires, self.num_wires, "amplitudes", all_wires=True)
            found = basis.values(values, self.num_wires)
            self._fits_host("an array of amplitudes", STORAGE[self.dtype].nbytes(self.rows * len(found)))
            return self._states.gather(found, wires)

    def get(self, start: int = 0, stop: int | None = None) -> Amplitudes:
        """Return amplitudes of basis values from `start` to before `stop` (default: the end), new, [rows, values]."""
        with self._guard:
            stop = self._range(start, 1 << self.num_wires if stop is None else stop)
            self._fits_host("a copy of the amplitudes", STORAGE[self.dtype].nbytes(self.rows * (stop - start)))
            return self._states.read(start, stop)

    def to_numpy(self, wires: Sequence[int] | None = None) -> Amplitudes:
        """Return all amplitudes, a new array [rows, 2^n]; bit k of an index is wire ``wires[k]`` (default: wire k)."""
        with self._guard:
            wires = basis.order(wires, self.num_wires, "to_numpy", all_wires=True)
            self._fits_host("a copy of the states", self.nbytes)
            return self._states.read(wires=wires)

    def draw(self, shots: int, seed: int | Sequence[int] | None = None) -> NDArray[np.int64]:
        """Return the basis value of each shot of each state, int64 [rows, shots]; arguments as of `sample`."""
        with self._guard:
            shots = check.shots(shots)
            self._fits_host(f"a sample of {shots} shots of {self.rows} states", 16 * shots * self.rows)
            seeds, instruction = self._seeds(seed)
            found = np.empty((self.rows, shots), dtype=np.int64)
            for first, part in self._parts(shots):
                numbers = sampling.uniforms_of(seeds[first : first + part.rows], instruction, shots).reshape(-1)
                rows = np.repeat(np.arange(part.rows), shots)
                found[first : first + part.rows] = sampling.draw_states(part, rows, numbers).reshape(-1, shots)
            return found

    def sample(
        self,
        shots: int,
        wires: Sequence[int] | None = None,
        seed: int | Sequence[int] | None = None,
        *,
        packed: bool = False,
    ) -> NDArray[np.uint8]:
        """Measure each state `shots` times without changing it: 0s and 1s, uint8 [rows, shots, wires].

        seed: one for each state, which then has the shots that `StateVector.sample` gives for that seed; or one seed
        from which those of all states are made; if None, the options' seed, or else a fresh one.
        packed: uint8 [rows, shots, ceil(wires / 8)] instead, column k being bit k % 8 of byte k // 8.
        Raises `ShotsError`, `WireError`, `OptionError`.
        """
        with self._guard:
            wires = basis.order(wires, self.num_wires, "sample")
            column = {wire: k for k, wire in enumerate(wires)}
            masks = [1 << column[wire] if wire in column else 0 for wire in range(self.num_wires)]
            bits = pack(self.draw(shots, seed).reshape(-1), masks, len(wires))
            bits = bits if packed else unpack(bits, len(wires))
            return bits.reshape(self.rows, shots, bits.shape[1])

    # --- parts -------------------------------------------------------------------------------------------------------

    def _parts(self, each: int) -> Iterator[tuple[int, Batch]]:
        """Yield all states in parts, of a size at which `each` numbers of each state are `sums_at_once` at most."""
        _ = self._states.buffer  # writes what growing states had not written yet, once for all parts
        return self._states.parts(max(1, thresholds.now.sums_at_once // max(1, each)))

    def _densities(self, wires: Sequence[int]) -> Iterator[tuple[int, NDArray[np.complex128]]]:
        """Yield the number of the first state of a part, and the reduced density matrices of the part's states."""
        if len(wires) <= thresholds.now.batched_string_wires:
            for first, part in self._parts(4 ** len(wires)):
                yield first, density_of(part.paulis(strings_of(wires)), len(wires))
        else:
            for row in range(self.rows):
                yield row, self._states.row(row).density(wires)[None]

    def _few(self, wires: Sequence[int], name: str) -> tuple[int, ...]:
        """Return checked wires; raises `NotSupported` for more than a dense matrix may have."""
        wires = basis.order(wires, self.num_wires, name)
        if len(wires) > expectation.MATRIX_WIRES:
            raise NotSupported(f"{name}: expected at most {expectation.MATRIX_WIRES} wires, got {len(wires)} wires.")
        return wires

    def _seeds(self, seed: int | Sequence[int] | None) -> tuple[tuple[int, ...], int]:
        """Return the key of the next random numbers: seeds of the states, and how often the options' seed was used."""
        counted = seed is None and self.options.seed is not None
        if seed is None:
            seed = seeding.fresh_seed() if self.options.seed is None else self.options.seed
        seeds = seeding.seeds_of(seed, self.rows, "states")
        self._draws += counted
        return seeds, self._draws - 1 if counted else 0
