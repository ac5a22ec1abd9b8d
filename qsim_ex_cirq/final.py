"""The state at the end of a circuit: measured where the circuit says so, and ready to be asked."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import PauliSum, StateVector, apply_readout
from qsim_ex_cirq.results import Bits, Metadata, Vector, last_of
from qsim_ex_cirq.translation import Translation


class FinalState:
    """The state at the end of a circuit, its measurements done; whoever made the state closes it.

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
        """The amplitudes in Cirq's order; on the CPU the engine's own array; from elsewhere the one copy."""
        state = self.state.canonical()
        apart = state.device.kind == "gpu" or not state.in_one_piece
        return state.to_numpy() if apart else np.asarray(state)

    def amplitudes(self, values: Sequence[int]) -> Vector:
        """Those of some basis values."""
        return self.state.amplitudes(values)

    def expectation(self, sums: Sequence[PauliSum]) -> NDArray[Any]:
        """The expectation values of observables."""
        return self.state.expectation(list(sums))

    def metadata(self) -> Metadata:
        """Where and how the state came about."""
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
        """Measure and collapse what is measured at the end."""
        wires = self.translation.at_end
        shape = (1, self.translation.circuit.num_clbits)
        bits = np.zeros(shape, dtype=np.uint8) if before is None else before.copy()
        if wires:
            value = self.state.measure(wires, seed=self.seed)
            bits[0, list(wires)] = [value >> k & 1 for k in range(len(wires))]
            bits = self._misread(bits)
        return last_of(self.translation, bits)

    def _misread(self, bits: Bits) -> Bits:
        """The bits that were measured at the end as they are read; what was measured before has been read already."""
        at_end = set(self.translation.at_end)
        errors = tuple(error for error in self.translation.readout if at_end.issuperset(error.clbits))
        if not errors:
            return bits
        read = apply_readout(np.packbits(bits, axis=1, bitorder="little"), errors, self.seed)
        return np.unpackbits(read, axis=1, count=bits.shape[1], bitorder="little")
