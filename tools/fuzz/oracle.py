"""The exact branching oracle: every value of the classical bits with the unnormalised mixed state that belongs to it.

A mixed state is kept as a matrix A [2^n, m] with ρ = A·A†, so that a pure state is one column and stays one. Gates,
channels, measurements, resets, conditions and misread bits are applied from their definitions; no code is shared with
the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.fuzz.gates import matrix_of
from tools.fuzz.numbers import Matrix, pauli

NOTHING = 1e-28
"""A branch with less probability than this is rounding."""


def apply(state: Matrix, matrix: Matrix, wires: Sequence[int]) -> Matrix:
    """The matrix on some wires of a state [2^n, m]; ``wires[0]`` is the least significant bit of its index."""
    n = len(state).bit_length() - 1
    there, back = _axes(n, tuple(wires))
    tensor = state.reshape([2] * n + [-1]).transpose(there)
    moved = (matrix @ tensor.reshape(1 << len(wires), -1)).reshape(tensor.shape)
    return moved.transpose(back).reshape(state.shape)


@lru_cache(maxsize=4096)
def _axes(n: int, wires: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """The axes of a state [2]*n + [m] with those of some wires first, the most significant of all first, and back."""
    first = [n - 1 - wire for wire in reversed(wires)]
    there = first + [axis for axis in range(n + 1) if axis not in first]
    return there, sorted(range(n + 1), key=there.__getitem__)


def under(matrix: Matrix, controls: int, values: int | None) -> Matrix:
    """The matrix with so many more controls, as its most significant bits."""
    size = len(matrix)
    out = np.eye(size << controls, dtype=np.complex128)
    at = slice(size * ((1 << controls) - 1 if values is None else values), None)
    rows = np.arange(size << controls)[at][:size]
    out[np.ix_(rows, rows)] = matrix
    return out


def narrow(state: Matrix) -> Matrix:
    """The same mixed state with no more columns than it has rows."""
    if state.shape[1] <= state.shape[0]:
        return state
    u, s, _ = np.linalg.svd(state, full_matrices=False)
    kept = s > 1e-14
    return u[:, kept] * s[kept]


class Oracle:
    """Reads a program as a circuit builder does, and keeps what may have become of the state.

    branches: classical bits -> A. saved: label -> branches at that point. misread: classical bit -> P(read | true), for
    measurements that write a wrong bit. together: the same for bits that are misread together, which every measurement
    measures together.
    """

    def __init__(
        self,
        wires: int,
        misread: Mapping[int, NDArray[np.float64]] | None = None,
        together: Mapping[tuple[int, ...], NDArray[np.float64]] | None = None,
    ) -> None:
        self.wires = wires
        start = np.zeros((1 << wires, 1), dtype=np.complex128)
        start[0] = 1
        self.branches: dict[int, Matrix] = {0: start}
        self.saved: dict[str, dict[int, Matrix]] = {}
        self.misread = dict(misread or {})
        self.together = dict(together or {})
        self._conditions: list[tuple[tuple[int, ...], frozenset[int]]] = []

    # --- what programs call -----------------------------------------------------------------------------------------

    def gate(
        self,
        name: str,
        wires: Sequence[int],
        *parameters: float,
        controls: Sequence[int] = (),
        control_values: int | None = None,
    ) -> Oracle:
        """A gate of the table."""
        return self._apply(matrix_of(name, parameters), wires, controls, control_values)

    def unitary(
        self, matrix: Matrix, wires: Sequence[int], *, controls: Sequence[int] = (), control_values: int | None = None
    ) -> Oracle:
        """A matrix."""
        return self._apply(np.asarray(matrix), wires, controls, control_values)

    def diagonal(
        self, entries: Matrix, wires: Sequence[int], *, controls: Sequence[int] = (), control_values: int | None = None
    ) -> Oracle:
        """A diagonal matrix."""
        return self._apply(np.diag(entries), wires, controls, control_values)

    def multiplexer(
        self,
        matrices: Matrix,
        selectors: Sequence[int],
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
    ) -> Oracle:
        """Matrices chosen by selectors."""
        size = matrices.shape[1]
        whole = np.zeros((len(matrices) * size,) * 2, dtype=np.complex128)
        for value, matrix in enumerate(matrices):
            whole[value * size : (value + 1) * size, value * size : (value + 1) * size] = matrix
        return self._apply(whole, [*wires, *selectors], controls, control_values)

    def pauli_rotation(
        self,
        angle: float,
        paulis: str,
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
    ) -> Oracle:
        """exp(−i·angle/2·P), by cosine and sine since P² = 1."""
        matrix = np.cos(angle / 2) * np.eye(1 << len(wires)) - 1j * np.sin(angle / 2) * pauli(paulis)
        return self._apply(matrix, wires, controls, control_values)

    def permutation(self, indices: Sequence[int], wires: Sequence[int]) -> Oracle:
        """Value x of the wires becomes ``indices[x]``."""
        matrix = np.zeros((len(indices),) * 2, dtype=np.complex128)
        matrix[list(indices), np.arange(len(indices))] = 1
        return self._apply(matrix, wires)

    def global_phase(self, angle: float) -> Oracle:
        """e^{i·angle}."""
        return self._apply(np.array([[np.exp(1j * angle)]]), ())

    def initialize(self, amplitudes: Matrix, wires: Sequence[int]) -> Oracle:
        """Put wires that are |0> into a state; only the first column of the matrix counts."""
        matrix = np.zeros((len(amplitudes),) * 2, dtype=np.complex128)
        matrix[:, 0] = amplitudes
        return self._apply(matrix, wires)

    def channel(self, kraus: Matrix, wires: Sequence[int]) -> Oracle:
        """ρ → Σ K ρ K†."""
        self.branches = {
            bits: narrow(np.concatenate([apply(state, k, wires) for k in kraus], axis=1))
            if self._holds(bits)
            else state
            for bits, state in self.branches.items()
        }
        return self

    def reset(self, wires: Sequence[int]) -> Oracle:
        """Put wires into |0>."""
        for wire in wires:
            self.channel(np.array([[[1, 0], [0, 0]], [[0, 1], [0, 0]]], dtype=np.complex128), [wire])
        return self

    def measure(self, wires: Sequence[int], clbits: Sequence[int]) -> Oracle:
        """Measure wires into classical bits, one after the other; a misread bit is written wrongly."""
        for wire, clbit in zip(wires, clbits, strict=True):
            found: dict[int, list[Matrix]] = {}
            for bits, state in self.branches.items():
                if not self._holds(bits):
                    found.setdefault(bits, []).append(state)
                    continue
                for true in (0, 1):
                    projector = np.diag([1 - true, true]).astype(np.complex128)
                    kept = apply(state, projector, [wire])
                    row = self.misread[clbit][true] if clbit in self.misread else np.eye(2)[true]
                    for read, weight in enumerate(row):
                        if weight:
                            value = bits & ~(1 << clbit) | read << clbit
                            found.setdefault(value, []).append(np.sqrt(weight) * kept)
            self._join(found)
        for group, matrix in self.together.items():
            if {*group} <= {*clbits}:
                self._misread_together(group, matrix)
        return self

    def _misread_together(self, group: tuple[int, ...], matrix: NDArray[np.float64]) -> None:
        """Write bits of one readout error as they are read; no condition may be around their measurement."""
        assert not self._conditions
        found: dict[int, list[Matrix]] = {}
        for bits, state in self.branches.items():
            for read, weight in enumerate(matrix[_value(bits, group)]):
                found.setdefault(_written(bits, group, read), []).append(np.sqrt(weight) * state)
        self._join(found)

    def store(self, clbits: Sequence[int], value: Callable[[int], int]) -> Oracle:
        """Write into bits a value that depends on all bits."""
        found: dict[int, list[Matrix]] = {}
        for bits, state in self.branches.items():
            made = _written(bits, clbits, value(bits)) if self._holds(bits) else bits
            found.setdefault(made, []).append(state)
        self._join(found)
        return self

    def _join(self, found: Mapping[int, Sequence[Matrix]]) -> None:
        joined = {bits: narrow(np.concatenate(parts, axis=1)) for bits, parts in found.items()}
        self.branches = {bits: state for bits, state in joined.items() if np.vdot(state, state).real > NOTHING}

    def save(self, label: str = "statevector") -> Oracle:
        """Keep the branches under a label."""
        self.saved[label] = dict(self.branches)
        return self

    @contextmanager
    def condition(self, clbits: Sequence[int], values: Iterable[int]) -> Iterator[Oracle]:
        """What comes meanwhile acts only on branches whose bits hold one of the values."""
        self._conditions.append((tuple(clbits), frozenset(values)))
        yield self
        self._conditions.pop()

    # --- what checks ask --------------------------------------------------------------------------------------------

    def vector(self) -> Matrix:
        """The amplitudes, where nothing was left to chance."""
        (state,) = self.branches.values()
        assert state.shape[1] == 1
        return state[:, 0]

    def distribution(self, misread: Sequence[tuple[Sequence[int], NDArray[np.float64]]] = ()) -> dict[int, float]:
        """The probability of each value of the classical bits, after groups of them were misread together."""
        found = {bits: float(np.vdot(state, state).real) for bits, state in self.branches.items()}
        for clbits, matrix in misread:
            after: dict[int, float] = {}
            for bits, probability in found.items():
                true = sum((bits >> bit & 1) << k for k, bit in enumerate(clbits))
                rest = bits & ~sum(1 << bit for bit in clbits)
                for read, weight in enumerate(matrix[true]):
                    value = rest | sum((read >> k & 1) << bit for k, bit in enumerate(clbits))
                    after[value] = after.get(value, 0.0) + probability * weight
            found = after
        return found

    def expectation(self, terms: Mapping[str, complex]) -> complex:
        """tr(ρ·H) over all branches; letter j of a string acts on wire j."""
        total = 0.0 + 0.0j
        for letters, coefficient in terms.items():
            matrix = pauli(letters)
            for state in self.branches.values():
                total += coefficient * np.vdot(state, apply(state, matrix, range(len(letters))))
        return total

    def holds(self, label: str, amplitudes: Any) -> float:
        """How far normalised amplitudes stand out of the states that are possible at a label, 0 … 1."""
        best = 1.0
        for state in self.saved[label].values():
            u, s, _ = np.linalg.svd(state, full_matrices=False)
            basis = u[:, s > 1e-9]
            outside = amplitudes - basis @ (basis.conj().T @ amplitudes)
            best = min(best, float(np.linalg.norm(outside)))
        return best

    # --- inside -----------------------------------------------------------------------------------------------------

    def _apply(
        self, matrix: Matrix, wires: Sequence[int], controls: Sequence[int] = (), values: int | None = None
    ) -> Oracle:
        whole = under(matrix, len(controls), values) if controls else matrix
        on = [*wires, *controls]
        for bits, state in self.branches.items():
            if self._holds(bits):
                self.branches[bits] = apply(state, whole, on)
        return self

    def _holds(self, bits: int) -> bool:
        """Whether all conditions hold in a branch."""
        return all(_value(bits, read) in wanted for read, wanted in self._conditions)


def _value(bits: int, clbits: Sequence[int]) -> int:
    return sum((bits >> bit & 1) << k for k, bit in enumerate(clbits))


def _written(bits: int, clbits: Sequence[int], value: int) -> int:
    for k, bit in enumerate(clbits):
        bits = bits & ~(1 << bit) | (value >> k & 1) << bit
    return bits
