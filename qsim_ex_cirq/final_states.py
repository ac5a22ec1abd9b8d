"""The state at the end of a circuit, measured where the circuit says so: one that is alive, and one that was saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import apply_readout
from qsim_ex.errors import StateError
from qsim_ex.frameworks import BY_DTYPE, check
from qsim_ex_cirq.batches import BatchMember
from qsim_ex_cirq.results import Bits, Metadata, Records, Vector, last_of
from qsim_ex_cirq.translation.translation import Translation

if TYPE_CHECKING:
    from qsim_ex import PauliSum, StateVector

FINAL = "final state"
"""The label under which final states are saved."""

DRIFT = 2e-6
"""The norm of final states is asked for where rounding may move it by as much: Cirq refuses one that is off by 5e-6."""

OFF = 1e-6
"""A final state whose norm is off by more is normalised, which takes a pass over it."""

ANCILLA_TOLERANCE = 1e-4
"""How far the norm of a state may be from 1 where all ancillas are 0."""


def _drifts(dtype: np.dtype[Any], translation: Translation) -> bool:
    """Return whether rounding may have moved the norm of a final state, by the number of gates in the circuit."""
    return BY_DTYPE[dtype].tolerances.rounding_per_gate * translation.circuit.num_gates >= DRIFT


def _of_qubits(vector: Vector, translation: Translation) -> Vector:
    """Return the amplitudes in which all ancillas are 0; raises `StateError` if others are not 0."""
    if not translation.ancillas:
        return vector
    kept = vector[: 1 << translation.num_wires].copy()
    norm = check.norm(kept)
    if abs(norm - 1) > ANCILLA_TOLERANCE:
        raise ancillas_are_left(norm**2)
    return kept


def ancillas_are_left(weight: float) -> StateError:
    """Return the error for a decomposition that leaves its own qubits in other states than |0⟩."""
    return StateError(
        f"expected decompositions to leave their own qubits in |0⟩, got the weight {weight:.3g} there; undo what they "
        "do to these qubits, or reset them."
    )


def metadata_of(state: StateVector) -> dict[str, object]:
    """Return where and how a state is stored."""
    where = state.where
    return {
        "device": where.device.name,
        "device_description": where.device.description,
        "device_reason": where.reason,
        "precision": state.options.precision,
        "placement": state.placement,
        "deployment": where.deployment.to_json(),
        "peak_bytes": where.needed,
    }


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
        if state.num_wires > translation.num_wires:
            state.remove_wires(translation.ancillas)
        self.seed = seed
        self.measurements = self._measure(before)
        ended = perf_counter() - began
        self.timings = {**timings, "run": ended - sum(timings.values()), "total": ended}

    def vector(self) -> Vector:
        """Return the amplitudes in Cirq's order: on the CPU the engine's own array, from elsewhere a copy."""
        if _drifts(self.state.dtype, self.translation) and abs(self.state.norm() - 1) > OFF:
            self.state.collapse((), 0)  # which divides by the norm
        state = self.state.canonical()
        apart = not state.device.in_host_memory or not state.in_one_piece
        return state.to_numpy() if apart else np.asarray(state)

    def amplitudes(self, values: Sequence[int]) -> Vector:
        """Return the amplitudes of some basis values."""
        return self.state.amplitudes(values)

    def expectation(self, sums: Sequence[PauliSum]) -> NDArray[Any]:
        """Return the expectation values of observables."""
        return self.state.expectation(list(sums))

    def metadata(self) -> Metadata:
        """Return where and how the state was found."""
        return {"seed": self.seed, **metadata_of(self.state), "timings": self.timings}

    def _measure(self, before: Bits | None) -> dict[str, Records]:
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
        self._vector = _of_qubits(result.saved[FINAL], self.translation)
        if _drifts(self._vector.dtype, self.translation) and abs((norm := check.norm(self._vector)) - 1) > OFF:
            self._vector /= norm
        self.result = replace(result, saved={})

    def vector(self) -> Vector:
        """Return the amplitudes in Cirq's order: a row of the batch's array, which is not copied."""
        return self._vector

    def amplitudes(self, values: Sequence[int]) -> Vector:
        """Return the amplitudes of some basis values."""
        return self.vector()[list(values)]
