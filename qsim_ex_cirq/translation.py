"""What comes of translating a circuit of Cirq."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise.readout import ReadoutErrors
from qsim_ex.circuit.ops import Channel, Initialize, Instruction, Reset, Save
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex_cirq.reading import Measurement


@dataclass(frozen=True, eq=False)
class Translation:
    """A circuit of the engine, or several that differ in numbers alone, and what Cirq's side must remember of them.

    qubits: the order; qubit k is wire n−1−k. measurements: in the order of the circuit. at_end: the wires that are
    measured at the end, ascending, wire w into classical bit w. readout: how classical bits are misread.
    """

    qubits: tuple[cirq.Qid, ...]
    sweep: ParameterSweep
    measurements: tuple[Measurement, ...]
    at_end: tuple[int, ...]
    readout: ReadoutErrors = ()

    @property
    def circuit(self) -> Circuit:
        """The circuit, where there is one."""
        return self.sweep.template

    @property
    def measures_midway(self) -> bool:
        """Whether something is measured before the end."""
        return self.circuit.num_clbits > len(self.qubits)

    @property
    def leaves_to_chance(self) -> bool:
        """Whether something happens at random on the way: noise, a reset, a measurement."""
        return self.measures_midway or any(isinstance(one, Channel | Reset) for one in self.circuit.instructions)

    def saving(self, label: str) -> Translation:
        """The same, with the state before the measurements at the end saved under a label."""
        of = self.circuit
        end = len(of.instructions) - bool(self.at_end)
        return self._with((*of.instructions[:end], Save(label), *of.instructions[end:]), of.operands)

    def beginning_in(self, vector: NDArray[np.complexfloating[Any, Any]]) -> Translation:
        """The same, from a state of all wires, complex [2^n]; raises `StateError` if it is none."""
        of, n = self.circuit, len(self.qubits)
        operands = np.concatenate([of.operands, check.state(vector, n)[None]], axis=1)
        operands.setflags(write=False)
        return self._with((Initialize(tuple(range(n)), of.operands.shape[1]), *of.instructions), operands)

    def _with(self, instructions: tuple[Instruction, ...], operands: NDArray[np.complex128]) -> Translation:
        of = self.circuit
        return replace(
            self, sweep=replace(self.sweep, template=Circuit(of.num_qubits, of.num_clbits, instructions, operands))
        )
