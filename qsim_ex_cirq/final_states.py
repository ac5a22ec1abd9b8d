"""The state at the end of a circuit, measured where the circuit says so: one that is alive, and one that was saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import PauliSum, StateVector, apply_readout
from qsim_ex_cirq.batches import BatchMember
from qsim_ex_cirq.results import Bits, Metadata, Vector, last_of
from qsim_ex_cirq.translation.translation import Translation

FINAL = "final state"
"""The label under which final states are saved."""

DRIFTING = 64
"""Final states in complex64 are normalised after this many gates: Cirq refuses a norm that is off by more than 5e-6."""


class FinalState:
    """The state at the end of a circuit, its measurements done; the caller who made the state closes it.

    before: uint8 [1, classical bits], what was measured before the end.
    """

    def __init__(
        self,
        state: StateVector,
        translation: Translation,
        seed: int,
        timings: dict[str, float],
        began: float,
        before: Bits | None = None,
    ) -> None:
        self.state = state
        self.translation = translation
        self.seed = seed
        self.measurements = self._measure(before)
        ended = perf_counter() - began
        self.timings = {**timings, "run": ended - sum(timings.values()), "total": ended}

    def vector(self) -> Vector:
        """Return the amplitudes in Cirq's order: on the CPU the engine's own array, from elsewhere a copy."""
        if self.state.dtype == np.complex64 and self.translation.circuit.num_gates >= DRIFTING:
            self.state.collapse((), 0)  # which divides by the norm
        state = self.state.canonical()
        apart = state.device.kind == "gpu" or not state.in_one_piece
        return state.to_numpy() if apart else np.asarray(state)

    def amplitudes(self, values: Sequence[int]) -> Vector:
        """Return the amplitudes of some basis values."""
        return self.state.amplitudes(values)

    def expectation(self, sums: Sequence[PauliSum]) -> NDArray[Any]:
        """Return the expectation values of observables."""
        return self.state.expectation(list(sums))

    def metadata(self) -> Metadata:
        """Return where and how the state was found."""
        where = self.state.where
        return {
            "seed": self.seed,
            "device": where.device.name,
            "device_description": where.device.description,
            "device_reason": where.reason,
            "precision": self.state.options.precision,
            "placement": self.state.placement,
            "deployment": where.deployment.to_json(),
            "timings": self.timings,
            "peak_bytes": where.needed,
        }

    def _measure(self, before: Bits | None) -> dict[str, Bits]:
        """Measure the wires that are measured at the end, which collapses the state; return the record of each key."""
        wires = self.translation.at_end
        shape = (1, self.translation.circuit.num_clbits)
        bits = np.zeros(shape, dtype=np.uint8) if before is None else before.copy()
        if wires:
            value = self.state.measure(wires, seed=self.seed)
            bits[0, list(wires)] = [value >> k & 1 for k in range(len(wires))]
            bits = self._misread(bits)
        return last_of(self.translation, bits)

    def _misread(self, bits: Bits) -> Bits:
        """Return the bits with readout errors in those measured at the end; those before were read already."""
        at_end = set(self.translation.at_end)
        errors = tuple(error for error in self.translation.readout if at_end.issuperset(error.clbits))
        if not errors:
            return bits
        read = apply_readout(np.packbits(bits, axis=1, bitorder="little"), errors, self.seed)
        return np.unpackbits(read, axis=1, count=bits.shape[1], bitorder="little")


class SavedFinalState:
    """The final state of a point that ran in a batch, on the host; it answers what `FinalState` answers.

    Nothing is measured at the end of the point's circuit. result: where and how the state was found.
    """

    def __init__(self, point: BatchMember) -> None:
        self.translation = point.translation
        result = point.result()
        self.measurements = last_of(point.translation, point.bits())
        self._vector: Vector = result.saved[FINAL]
        if self._vector.dtype == np.complex64 and self.translation.circuit.num_gates >= DRIFTING:
            self._vector /= np.linalg.norm(self._vector)
        self.result = replace(result, saved={})

    def vector(self) -> Vector:
        """Return the amplitudes in Cirq's order: a row of the batch's array, which is not copied."""
        return self._vector

    def amplitudes(self, values: Sequence[int]) -> Vector:
        """Return the amplitudes of some basis values."""
        return self.vector()[list(values)]
