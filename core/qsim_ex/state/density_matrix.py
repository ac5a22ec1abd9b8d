"""`DensityMatrix`: the object that users hold for exact noise. Its memory is a state vector of twice as many wires."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.ops import When, mask_of
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.density.doubled import doubled
from qsim_ex.density.questions import DensityRows
from qsim_ex.density.superoperators import patterns_of, places_of
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.display.described import with_options
from qsim_ex.errors import NotSupported, OptionError, OutOfMemory, StateError
from qsim_ex.observe import expectation, sampling
from qsim_ex.options import OptionKeywords, Options
from qsim_ex.placement.base import Placement
from qsim_ex.placement.batch_of_one import BatchOfOne
from qsim_ex.placement.index_bits import unpack
from qsim_ex.precision import AmplitudeDtype
from qsim_ex.state import basis
from qsim_ex.state.initial import require_circuit
from qsim_ex.state.vector import StateVector

Complex = NDArray[np.complexfloating]
Floats = NDArray[np.float64]


@with_options(Options, but=("checkpoint", "checkpoint_every", "method"))
class DensityMatrix:
    """The density matrix of `num_wires` qubits, 4^n numbers on one device or divided over several and host memory.

    ``DensityMatrix(3, device="cpu").apply(circuit)``. Arguments and results are in wires, as those of `StateVector`:
    bit w of the number of a row or a column is wire w. ``with`` closes it; only one thread at a time may use it.

    options, changes: see `Options`.
    initial: a basis value, 2^n normalised amplitudes of a pure state, or a density matrix [2^n, 2^n]; |0…0⟩⟨0…0| if
        None.
    Raises `OutOfMemory` with the sum before anything is allocated, `DeviceError`, `OptionError`, `StateError`.
    """

    def __init__(
        self,
        num_wires: int,
        *,
        options: Options | None = None,
        initial: int | ArrayLike | None = None,
        **changes: Unpack[OptionKeywords],
    ) -> None:
        self.num_wires = n = check.count(num_wires, "num_wires")
        given = replace((options or Options()).with_(changes), method="automatic")  # of the state vector behind it
        start = _checked(0 if initial is None else initial, n)
        try:
            if isinstance(start, int):
                self._state = StateVector(2 * n, options=given, initial=start | start << n)
            else:
                self._state = StateVector(2 * n, options=given)
                self._state.set(start.T)
        except OutOfMemory as error:
            raise OutOfMemory(f"the density matrix of {n} wires is a state of {2 * n} wires: {error}") from error
        self._touched = 0 if isinstance(start, int) and start == 0 else (1 << n) - 1

    def __repr__(self) -> str:
        where = "closed" if self.closed else self._state.device.name
        return f"DensityMatrix({self.num_wires} wires, {self.dtype.name}, {where})"

    def __reduce_ex__(self, _protocol: object) -> Any:
        raise TypeError("a DensityMatrix owns memory and cannot be pickled; make another one from to_numpy().")

    @property
    def options(self) -> Options:
        """The options that it was made with."""
        return self._state.options

    @property
    def where(self) -> Assignment:
        """The devices and the placement, with the reason."""
        return self._state.where

    @property
    def dtype(self) -> AmplitudeDtype:
        """The dtype of the entries: complex64 or complex128."""
        return self._state.dtype

    # --- work ------------------------------------------------------------------------------------------------------

    def apply(self, circuit: Circuit, cancel: threading.Event | None = None) -> Self:
        """Apply a circuit: gates, channels, resets, and measurements whose outcomes nobody reads.

        Such a measurement sets to zero what is between its wires' 0 and 1. Raises `NotSupported` for classical
        conditions and saves, which `Simulator.run` takes, and `Cancelled` if the event is set; then it is closed.
        """
        n = self.num_wires
        require_circuit(circuit, n)
        bound = Bindings.of(circuit.operands[:1])
        made = doubled(
            circuit.structure,
            circuit.operands.shape[1],
            patterns_of(places_of(circuit.structure), bound),
            observed=True,
            sampled=False,
            num_wires=n,
            touched=self._touched,
            dephased=True,
        )
        if made.bits:
            raise NotSupported(
                "expected a circuit without classical conditions, got one whose conditions read what was measured "
                "on the way; run it with Simulator(method='density_matrix') and save the density matrix."
            )
        self._state.apply(Circuit.of_structure(made.structure, made.operands(circuit.operands[:1])), cancel)
        self._touched = made.touched
        return self

    def set(self, values: ArrayLike) -> None:
        """Overwrite all entries by a density matrix [2^n, 2^n], amplitudes [2^n], or a basis value."""
        start = _checked(values, self.num_wires)
        if isinstance(start, int):
            basis_state = np.zeros(1 << self.num_wires, dtype=np.complex128)
            basis_state[start] = 1
            start = np.outer(basis_state, basis_state)
        self._state.set(start.T)
        self._touched = (1 << self.num_wires) - 1

    # --- chance ----------------------------------------------------------------------------------------------------

    def measure(self, wires: Sequence[int], *, seed: int | None = None, random: float | None = None) -> int:
        """Measure wires, project on the value that is found, and return it, bit k being ``wires[k]``.

        random: a number in [0, 1) in place of a seed.
        """
        wires = basis.order(wires, self.num_wires, "measure")
        if random is None:
            random = float(sampling.uniforms(*self._key(seed), 1)[0])
        if not 0 <= random < 1:
            raise OptionError(f"expected random >= 0 and < 1, got random={random!r}; pass a seed, or random=0.5.")
        values, _ = sampling.chosen(self.probabilities(wires), np.array([random]))
        value = int(values[0])
        self.collapse(wires, value)
        return value

    def collapse(self, wires: Sequence[int], bits: int | Sequence[int]) -> float:
        """Project wires on a value and return its probability; raises `StateError` if that is 0."""
        wires = basis.order(wires, self.num_wires, "collapse")
        value = basis.bits(bits, len(wires), "collapse")
        weights = self.probabilities(wires)
        if weights[value] <= 0:
            raise StateError(f"wires {list(wires)} are never found at {value:0{len(wires)}b}: its probability is 0.")
        held = mask_of(tuple(wire for k, wire in enumerate(wires) if value >> k & 1))
        with self._state.placed() as placement:
            mask, n = mask_of(wires), self.num_wires
            placement.scale(When(mask | mask << n, held | held << n), 1 / float(weights[value]), 0.0)
        return float(weights[value] / weights.sum())

    def sample(self, shots: int, wires: Sequence[int] | None = None, seed: int | None = None) -> NDArray[np.uint8]:
        """Measure `shots` times without changing the state: 0s and 1s, uint8 [shots, wires]."""
        wires = basis.order(wires, self.num_wires, "sample")
        numbers = sampling.uniforms(*self._key(seed), check.shots(shots))
        values, _ = sampling.chosen(self.probabilities(wires), numbers)
        packed = values.astype("<u8").view(np.uint8).reshape(len(values), 8)
        return unpack(packed, len(wires))

    def _key(self, seed: int | None) -> tuple[int, int]:
        return self._state._key(seed)

    # --- questions -------------------------------------------------------------------------------------------------

    def probabilities(self, wires: Sequence[int] | None = None) -> Floats:
        """Return the probability of each value of `wires` (default all), float64 [2^k]; they add up to the trace."""
        wires = basis.order(wires, self.num_wires, "probabilities")
        with self._rows() as rows:
            found: Floats = np.maximum(rows.populations(wires)[0], 0)
        return found

    @overload
    def expectation(self, observable: PauliSum) -> float | complex: ...
    @overload
    def expectation(self, observable: Sequence[PauliSum]) -> NDArray[np.inexact]: ...
    def expectation(self, observable: PauliSum | Sequence[PauliSum]) -> float | complex | NDArray[np.inexact]:
        """Return tr(Hρ) of one Pauli sum, or of several; real if all coefficients are. Raises `WireError`."""
        sums = (observable,) if isinstance(observable, PauliSum) else tuple(observable)
        expectation.fit(sums, self.num_wires)
        with self._rows() as rows:
            found: NDArray[np.inexact] = rows.expectations(sums)[0][0]
        if all(complex(term.coefficient).imag == 0 for one in sums for term in one.terms):
            found = np.ascontiguousarray(found.real)
        return found[0].item() if isinstance(observable, PauliSum) else found

    def matrix(self, wires: Sequence[int] | None = None) -> NDArray[np.complex128]:
        """Return the density matrix of some wires, complex128 [2^k, 2^k]; the others are traced out."""
        wires = basis.order(wires, self.num_wires, "matrix")
        with self._rows() as rows:
            found: NDArray[np.complex128] = rows.matrices(wires)[0, 0]
        return found

    def to_numpy(self) -> Complex:
        """Return all entries ⟨r|ρ|c⟩ as a new array [2^n, 2^n] in the precision of the options."""
        size = 1 << self.num_wires
        return self._state.to_numpy().reshape(size, size).T

    @property
    def trace(self) -> float:
        """The trace, which is 1 but for rounding."""
        return float(self.probabilities(()).sum())

    @property
    def purity(self) -> float:
        """The trace of ρ², which is 1 for a pure state."""
        with self._state.placed() as placement:
            return placement.norm_squared()

    @contextmanager
    def _rows(self) -> Iterator[DensityRows]:
        with self._state.placed() as placement:
            yield DensityRows(BatchOfOne(_known(placement)), self.num_wires, 0)

    # --- its life --------------------------------------------------------------------------------------------------

    def clone(self) -> Self:
        """Return another one in the same state and placement on the same devices. Raises `OutOfMemory`."""
        made = type(self).__new__(type(self))
        made.num_wires, made._touched, made._state = self.num_wires, self._touched, self._state.clone()
        return made

    @property
    def closed(self) -> bool:
        """Whether its memory was freed."""
        return self._state.closed

    def close(self) -> None:
        """Free the memory; every later use raises `StateVectorClosed`. May be called again."""
        self._state.close()

    def __enter__(self) -> Self:
        self._state.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _known(placement: Placement) -> Placement:
    """Return a placement without fresh bits, so that every entry can be gathered."""
    placement.write_zeros()
    return placement


def _checked(initial: object, num_wires: int) -> int | NDArray[np.complex128]:
    """Return a basis value or a density matrix [2^n, 2^n]; raises `CircuitError` and `StateError`."""
    if isinstance(initial, int | np.integer):
        return basis.value(initial, num_wires, "initial")
    array, size = np.asarray(initial), 1 << num_wires
    if array.ndim == 1 or array.shape == (1, 1):
        vector = check.state(array, num_wires)
        return np.outer(vector, vector.conj())
    if array.shape != (size, size):
        raise StateError(
            f"expected a density matrix of shape ({size}, {size}) for {num_wires} wires, got {array.shape}; pass 2^n "
            "rows and columns, or 2^n amplitudes."
        )
    matrix = array.astype(np.complex128)
    if not np.isfinite(matrix).all():
        raise StateError("expected finite entries of a density matrix, got NaN or infinity; check their computation.")
    limit = check.norm_tolerance(array.dtype)
    if abs(np.trace(matrix) - 1) > limit or np.abs(matrix - matrix.conj().T).max() > limit:
        raise StateError(
            f"expected a Hermitian matrix of trace 1, got trace {np.trace(matrix):.9g}; divide it by its trace."
        )
    return matrix
