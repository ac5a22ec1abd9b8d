"""Parameter sweeps: one circuit with many values of its parameters, built once.

A `ParameterSweepBuilder` is a `CircuitBuilder` whose gates may have arrays for parameters, one value for each binding.
It builds a `ParameterSweep`: a circuit that gives the structure, and the rows of the gate table that make its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.parameters.bindings import Bindings, Operands
from qsim_ex.errors import ParameterError

FEW_BYTES = 1 << 20
"""Operands of so many bytes are kept: they are looked at more than once, and making them has a cost of its own."""

_AT_ONCE = 1 << 12
"""Gates whose entries are made at a time."""

Values = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False, slots=True)
class SweptGate:
    """The operands of one row of the gate table whose parameters are arrays.

    offsets: where the entries of each operation begin. parameters: for each operation those of the row, an array with
    one value for each binding where they are swept and one number where they are not.
    """

    row: str
    offsets: list[int]
    parameters: list[tuple[Any, ...]]

    def fill(self, operands: Operands, which: Numbers) -> None:
        """Write the entries of some bindings, by their numbers, into operands [len(which), total].

        A few bindings at a time, so that all that is made of them stays in a processor's cache.
        """
        chosen = np.empty((len(which), len(self.offsets), len(self.parameters[0])))
        for k, parameters in enumerate(self.parameters):
            for i, parameter in enumerate(parameters):
                chosen[:, k, i] = parameter[which] if isinstance(parameter, np.ndarray) else parameter
        step = max(1, _AT_ONCE // len(self.offsets))
        for first in range(0, len(which), step):
            part = chosen[first : first + step]
            entries = GATES[self.row].entries(part.reshape(-1, part.shape[2]))
            shaped = entries.reshape(*part.shape[:2], -1)
            operands[first : first + step, np.add.outer(self.offsets, np.arange(shaped.shape[2]))] = shaped


@dataclass(frozen=True, eq=False, slots=True)
class ParameterSweep:
    """One circuit with `count` bindings of its parameters; a circuit of numbers is a sweep of one.

    template: the circuit with some numbers at the places that `swept` fills.
    """

    template: Circuit
    count: int = 1
    swept: tuple[SweptGate, ...] = ()

    def operands(self, which: Numbers) -> Operands:
        """Those of some bindings, by their numbers: complex128 [len(which), total], laid out as in the template."""
        found = np.repeat(self.template.operands, len(which), axis=0)
        for one in self.swept:
            one.fill(found, which)
        return found

    def bindings(self) -> Bindings:
        """The operands of all bindings; see `bindings_of`."""
        return bindings_of(self.template, self.count, lambda begin, end: self.operands(np.arange(begin, end)))

    def circuit(self, binding: int) -> Circuit:
        """The circuit of one binding; all have one structure, the same object."""
        if not self.swept:
            return self.template
        of, operands = self.template, self.operands(np.array([binding]))
        operands.setflags(write=False)
        return Circuit(of.num_qubits, of.num_clbits, of.instructions, operands)


def bindings_of(template: Circuit, count: int, operands: Callable[[int, int], Operands]) -> Bindings:
    """Bindings whose operands are made when they are asked for, or, where they are few, once and for all."""
    few = count * template.operands.nbytes <= FEW_BYTES
    return Bindings.of(operands(0, count)) if few and count else Bindings(count, operands)


def real_values(found: Any, count: int, named: object) -> Values:
    """What a parameter `named` came out as, as float64 [count]; raises `ParameterError` where it is not real."""
    array = np.asarray(found)
    if np.iscomplexobj(array):
        if array.imag.any():
            raise ParameterError(f"the parameter {named} is not real for all values.")
        array = array.real
    return np.broadcast_to(array.astype(np.float64), (count,))


class ParameterSweepBuilder(CircuitBuilder):
    """A builder whose gates may have arrays for parameters, float64 [bindings], all of one length."""

    def __init__(self, num_qubits: int, num_clbits: int) -> None:
        super().__init__(num_qubits, num_clbits)
        self._swept: dict[str, SweptGate] = {}
        self._angles: Values | None = None  # of the Pauli rotation that is being appended

    def sweep(self, count: int) -> ParameterSweep:
        """What was built, with `count` bindings."""
        return ParameterSweep(self.build(), count, tuple(self._swept.values()))

    def pauli_rotation(
        self,
        angle: Any,
        paulis: str,
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
    ) -> CircuitBuilder:
        """Append exp(−i·angle/2·P) for an angle, or an array of them."""
        if isinstance(angle, np.ndarray):
            self._check_finite((angle,), "pauli_rotation")
            self._angles, angle = angle, 0.0
        super().pauli_rotation(angle, paulis, wires, controls=controls, control_values=control_values)
        self._angles = None
        return self

    def _append_parametric_parity(
        self, entries: NDArray[np.complex128], reads: tuple[int, ...], controls: Sequence[int], values: int | None
    ) -> None:
        if self._angles is not None:  # two entries are those of rz; one, where no wire is acted on, is a phase
            row, angles = ("rz", self._angles) if entries.size == 2 else ("global_phase", -self._angles / 2)
            self._sweep(row, (angles,))
        super()._append_parametric_parity(entries, reads, controls, values)

    def _append(
        self,
        name: str,
        wires: tuple[int, ...],
        parameters: tuple[Any, ...],
        controls: tuple[int, ...],
        values: int,
        label: str,
    ) -> None:
        if any(isinstance(parameter, np.ndarray) for parameter in parameters):
            self._sweep(name, parameters)
            parameters = tuple(0.0 if isinstance(p, np.ndarray) else p for p in parameters)
        super()._append(name, wires, parameters, controls, values, label)

    def _sweep(self, row: str, parameters: tuple[Any, ...]) -> None:
        """What is appended next has these parameters."""
        swept = self._swept.setdefault(row, SweptGate(row, [], []))
        swept.offsets.append(self._size)
        swept.parameters.append(parameters)

    def _check_finite(self, parameters: tuple[Any, ...], name: str) -> None:
        for parameter in parameters:
            if not isinstance(parameter, np.ndarray):
                super()._check_finite((parameter,), name)
            elif not (finite := np.isfinite(parameter)).all():
                first = int(np.argmin(finite))
                raise ParameterError(f"gate {name!r} has a parameter that is not finite in binding {first}.")
