"""Parameter sweeps: one circuit with many values of its parameters, built once.

A `ParameterSweepBuilder` is a `CircuitBuilder` whose gates may have arrays for parameters, one value for each binding.
It builds a `ParameterSweep`: a circuit with the structure, and the rows of the gate table that compute its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit, OperandBuilder, operations_of
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.parameters.bindings import Bindings, Operands
from qsim_ex.errors import ParameterError

FEW_BYTES = 1 << 20
"""Largest size of operands that are kept, in bytes: they are read more than once, and computing them takes time."""

_AT_ONCE = 1 << 12
"""Gates whose entries are computed at a time."""

Values = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False, slots=True)
class SweptGate:
    """The operands of gates of one row of the gate table whose parameters are arrays.

    offsets: where the entries of each gate begin. parameters: for each gate the parameters of the row; a swept
        parameter is an array with one value for each binding, any other is one number. of_factors: whether the gates
        are products of the row's factors, whose entries follow one another.
    """

    row: str
    offsets: list[int]
    parameters: list[Sequence[Any]]
    of_factors: bool = False

    def fill(self, operands: Operands, which: Numbers) -> None:
        """Write the entries of some bindings, by their numbers, into operands [len(which), total].

        It takes a few bindings at a time, so that all intermediate arrays fit in a processor's cache.
        """
        chosen = self._chosen(which)
        step = max(1, _AT_ONCE // len(self.offsets))
        offsets = tuple(self.offsets)
        for first in range(0, len(which), step):
            part = chosen[first : first + step]
            begin = 0
            for row, given in operations_of(self.row, part.reshape(-1, part.shape[2]), self.of_factors):
                shaped = GATES[row].entries(given).reshape(*part.shape[:2], -1)
                operands[first : first + step, _places(offsets, begin, shaped.shape[2])] = shaped
                begin += shaped.shape[2]

    def _chosen(self, which: Numbers) -> Values:
        """Return the parameters of some bindings, float64 [len(which), gates, parameters]."""
        if len(which) == 1:  # a loop that binds one point after another
            (one,) = which.tolist()
            return np.array([[[p[one] if isinstance(p, np.ndarray) else p for p in own] for own in self.parameters]])
        chosen = np.empty((len(which), len(self.offsets), len(self.parameters[0])))
        for k, parameters in enumerate(self.parameters):
            for i, parameter in enumerate(parameters):
                chosen[:, k, i] = parameter[which] if isinstance(parameter, np.ndarray) else parameter
        return chosen


@lru_cache(maxsize=1024)
def _places(offsets: tuple[int, ...], begin: int, count: int) -> NDArray[np.intp]:
    """Return where the operands of some gates are, [gates, count]; cached, since the same gates are bound again."""
    places: NDArray[np.intp] = np.add.outer(np.array(offsets), np.arange(begin, begin + count))
    return places


@dataclass(frozen=True, eq=False, slots=True)
class ParameterSweep:
    """One circuit with `count` bindings of its parameters; a circuit without swept parameters is a sweep of one.

    template: the circuit, with arbitrary numbers at the places that `swept` fills.
    """

    template: Circuit
    count: int = 1
    swept: tuple[SweptGate, ...] = ()

    def operands(self, which: Numbers) -> Operands:
        """Return the operands of some bindings, given by their numbers.

        They are complex128 [len(which), total], laid out as in the template.
        """
        found = np.repeat(self.template.operands, len(which), axis=0)
        for one in self.swept:
            one.fill(found, which)
        return found

    def bindings(self) -> Bindings:
        """Return the operands of all bindings; see `bindings_of`."""
        return bindings_of(self.template, self.count, lambda begin, end: self.operands(np.arange(begin, end)))

    def circuit(self, binding: int) -> Circuit:
        """Return the circuit of one binding; all have one structure, the same object."""
        if not self.swept:
            return self.template
        of, operands = self.template, self.operands(np.array([binding]))
        operands.setflags(write=False)
        return Circuit(of.num_qubits, of.num_clbits, of.instructions, operands)


def bindings_of(template: Circuit, count: int, operands: Callable[[int, int], Operands]) -> Bindings:
    """Return bindings whose operands are computed on demand, or, where they are few, once."""
    few = count * template.operands.nbytes <= FEW_BYTES
    return Bindings.of(operands(0, count)) if few and count else Bindings(count, operands)


def real_values(found: Any, count: int, named: object) -> Values:
    """Return the values of the parameter `named` as float64 [count]; raises `ParameterError` if one is not real."""
    array = np.asarray(found)
    if np.iscomplexobj(array):
        if array.imag.any():
            raise ParameterError(
                f"expected real values, got the parameter {named}, which is not real for all of them; pass others."
            )
        array = array.real
    return np.broadcast_to(array.astype(np.float64), (count,))


class SweptOperandBuilder(OperandBuilder):
    """Numbers of gates of which some have arrays for parameters, one value for each binding."""

    def swept(self) -> Iterator[SweptGate]:
        """Yield the gates that have an array among their parameters, those of one row together."""
        for of, of_factors in ((self.whole, False), (self.factored, True)):
            for name, alike in of.items():
                offsets, parameters = alike.offsets, alike.parameters
                which = [k for k, given in enumerate(parameters) if _has_array(given)]
                if which:
                    yield SweptGate(name, [offsets[k] for k in which], [parameters[k] for k in which], of_factors)

    def _given(self, rows: list[Sequence[Any]]) -> Values:
        """Return the parameters of some gates, with 0 for each array."""
        return super()._given([[0.0 if isinstance(p, np.ndarray) else p for p in given] for given in rows])


def _has_array(parameters: Sequence[Any]) -> bool:
    return any(isinstance(parameter, np.ndarray) for parameter in parameters)


class ParameterSweepBuilder(CircuitBuilder):
    """A builder whose gates may have arrays for parameters, float64 [bindings], all of one length."""

    _takes_arrays = True

    def __init__(self, num_qubits: int, num_clbits: int) -> None:
        super().__init__(num_qubits, num_clbits)
        self._operands: SweptOperandBuilder = SweptOperandBuilder()
        self._rotations: dict[str, SweptGate] = {}  # of Pauli rotations, by the row with their entries
        self._angles: Values | None = None  # of the Pauli rotation that is being appended

    def sweep(self, count: int) -> ParameterSweep:
        """Return the sweep of the circuit so far, with `count` bindings."""
        return ParameterSweep(self.build(), count, (*self._operands.swept(), *self._rotations.values()))

    def pauli_rotation(
        self,
        angle: Any,
        paulis: str,
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
    ) -> CircuitBuilder:
        """Append exp(−i·angle/2·P) for one angle, or an array of angles."""
        if isinstance(angle, np.ndarray):
            self._check_finite((angle,), "pauli_rotation")
            self._angles, angle = angle, 0.0
        super().pauli_rotation(angle, paulis, wires, controls=controls, control_values=control_values)
        self._angles = None
        return self

    def _append_parametric_parity(
        self, entries: NDArray[np.complex128], reads: tuple[int, ...], controls: Sequence[int], values: int | None
    ) -> None:
        if self._angles is not None:  # two entries are those of rz; one entry (on no wire) is a global phase
            row, angles = ("rz", self._angles) if entries.size == 2 else ("global_phase", -self._angles / 2)
            swept = self._rotations.setdefault(row, SweptGate(row, [], []))
            swept.offsets.append(self._operands.size)
            swept.parameters.append((angles,))
        super()._append_parametric_parity(entries, reads, controls, values)

    def _are_finite(self, parameters: Sequence[Sequence[Any]]) -> bool:
        given = list(chain.from_iterable(parameters))
        columns = {id(one): one for one in given if isinstance(one, np.ndarray)}
        numbers = [one for one in given if not isinstance(one, np.ndarray)]
        return super()._are_finite([numbers]) and all(np.isfinite(column).all() for column in columns.values())

    def _check_finite(self, parameters: tuple[Any, ...], name: str) -> None:
        for parameter in parameters:
            if not isinstance(parameter, np.ndarray):
                super()._check_finite((parameter,), name)
            elif not (finite := np.isfinite(parameter)).all():
                first = int(np.argmin(finite))
                raise ParameterError(
                    f"gate {name!r}: expected finite parameters, got one that is not finite in binding {first}; check "
                    "how it was computed."
                )
