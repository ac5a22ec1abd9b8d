"""A translated circuit of Cirq, with what its results need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex import Circuit
from qsim_ex.frameworks import (
    Channel,
    Initialize,
    Instruction,
    ParameterSweep,
    ReadoutErrors,
    Reset,
    Save,
    check,
    later,
)
from qsim_ex_cirq.translation.measurements import Measurement

if TYPE_CHECKING:
    from qsim_ex_cirq.qudits import levels as qudit_levels
else:
    qudit_levels = later("qsim_ex_cirq.qudits.levels")


@dataclass(frozen=True, eq=False)
class Translation:
    """A circuit of the engine, or several that differ in numbers alone, and what their results need.

    qubits: the order; qubit k is wire n−1−k. Wires from n on are ancillas, which are |0⟩ before and after. levels: how
    many each qubit has, and which wires these are where one has not two; None if all have.
    measurements: in the order of the circuit. at_end: the wires that are measured at the end, ascending, wire w into
    classical bit w. readout: how classical bits are misread. looped: the keys that are measured in loops, whose records
    are the engine's of these labels, and whether each is a channel's.
    """

    qubits: tuple[cirq.Qid, ...]
    sweep: ParameterSweep
    measurements: tuple[Measurement, ...]
    at_end: tuple[int, ...]
    readout: ReadoutErrors = ()
    looped: Mapping[str, bool] = field(default_factory=dict)
    levels: qudit_levels.Levels | None = None

    @property
    def circuit(self) -> Circuit:
        """The circuit, where there is one."""
        return self.sweep.template

    @property
    def num_wires(self) -> int:
        """How many wires the qubits take."""
        return len(self.qubits) if self.levels is None else self.levels.num_wires

    @property
    def ancillas(self) -> range:
        """The wires that are no qubit's."""
        return range(self.num_wires, self.circuit.num_qubits)

    @property
    def measures_midway(self) -> bool:
        """Whether something is measured before the end."""
        return self.circuit.num_clbits > self.num_wires

    @property
    def is_random(self) -> bool:
        """Whether something is random before the end: noise, a reset, a measurement."""
        return self.measures_midway or not self.circuit.structure.kinds.isdisjoint((Channel, Reset))

    def saving(self, label: str) -> Translation:
        """Return the same, with the state before the measurements at the end saved under a label."""
        of = self.circuit
        end = len(of.instructions) - bool(self.at_end)
        return self._with((*of.instructions[:end], Save(label), *of.instructions[end:]), of.operands)

    def beginning_in(self, vector: NDArray[np.complexfloating]) -> Translation:
        """Return the same, from a state of all wires, complex [2^n]; raises `StateError` if it is none."""
        of, n = self.circuit, self.num_wires
        operands = np.concatenate([of.operands, check.state(vector, n)[None]], axis=1)
        operands.setflags(write=False)
        return self._with((Initialize(tuple(range(n)), of.operands.shape[1]), *of.instructions), operands)

    def _with(self, instructions: tuple[Instruction, ...], operands: NDArray[np.complex128]) -> Translation:
        of = self.circuit
        return replace(
            self, sweep=replace(self.sweep, template=Circuit(of.num_qubits, of.num_clbits, instructions, operands))
        )
