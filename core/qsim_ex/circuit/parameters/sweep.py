"""Parameter sweeps: one circuit with many values of its parameters, built once.

A `ParameterSweepBuilder` is a `CircuitBuilder` whose gates may have arrays for parameters, one value for each binding.
It builds a `ParameterSweep`: a circuit with the structure, and the rows of the gate table that compute its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.parameters.bindings import Bindings, Operands
from qsim_ex.circuit.placed_gate import OperandBuilder, operations_of
from qsim_ex.errors import ParameterError

Values = NDArray[np.float64]
Numbers = NDArray[np.intp]

_NO_VALUES: Values = np.empty(0)


@dataclass(frozen=True, eq=False, slots=True)
class SweptGate:
    """The operands of gates of one row of the gate table of which some parameters differ from binding to binding.

    offsets: where the entries of each gate begin. numbers: float64 [gates, parameters of the row], those that all
        bindings share. at: the places of all other parameters in `numbers`, seen as a flat array; columns: the columns
        of the sweep that they have, times `scale`. of_factors: whether the gates are products of the row's factors,
        whose entries follow one another.
    """

    row: str
    offsets: tuple[int, ...]
    numbers: Values
    at: Numbers
    columns: Numbers
    of_factors: bool = False
    scale: float = 1.0

    def fill(self, operands: Operands, values: Values) -> None:
        """Write the entries of some bindings into operands [bindings, total]; values: [bindings, columns].

        It takes a few bindings at a time, so that all intermediate arrays fit in a processor's cache.
        """
        step = max(1, thresholds.now.entries_at_once // len(self.offsets))
        for first in range(0, len(values), step):
            part = self.parameters(values[first : first + step])
            begin = 0
            for row, given in operations_of(self.row, part.reshape(-1, part.shape[2]), self.of_factors):
                shaped = GATES[row].entries(given).reshape(*part.shape[:2], -1)
                operands[first : first + step, _places(self.offsets, begin, shaped.shape[2])] = shaped
                begin += shaped.shape[2]

    def parameters(self, values: Values) -> Values:
        """Return the parameters of all gates, float64 [bindings, gates, parameters]."""
        found = np.empty((len(values), self.numbers.size))
        found[:] = self.numbers.reshape(-1)
        found[:, self.at] = self.scale * values[:, self.columns]
        return found.reshape(len(values), *self.numbers.shape)


class _SweptGates:
    """The swept gates of a sweep, and its columns.

    arrays: the columns, as they were given.
    """

    def __init__(self) -> None:
        self.gates: list[SweptGate] = []
        self.arrays: list[Values] = []
        self._column: dict[int, int] = {}  # of an array, by its identity

    def append(
        self,
        row: str,
        offsets: Sequence[int],
        parameters: Sequence[Sequence[Any]],
        of_factors: bool = False,
        scale: float = 1.0,
    ) -> None:
        """Append gates of one row, each with its parameters: numbers, and arrays with a value for each binding.

        scale: what the arrays are multiplied by.
        """
        flat = list(chain.from_iterable(parameters))
        at = [k for k, one in enumerate(flat) if isinstance(one, np.ndarray)]
        for k in at:
            if id(flat[k]) not in self._column:
                self._column[id(flat[k])] = len(self.arrays)
                self.arrays.append(flat[k])
        columns = [self._column[id(flat[k])] for k in at]
        for k in at:
            flat[k] = 0.0
        numbers = np.array(flat, dtype=np.float64).reshape(len(offsets), -1)
        found = SweptGate(row, tuple(offsets), numbers, np.array(at), np.array(columns), of_factors, scale)
        self.gates.append(found)


@lru_cache(maxsize=1024)
def _places(offsets: tuple[int, ...], begin: int, count: int) -> NDArray[np.intp]:
    """Return where the operands of some gates are, [gates, count]; cached, since the same gates are bound again."""
    places: NDArray[np.intp] = np.add.outer(np.array(offsets), np.arange(begin, begin + count))
    return places


@dataclass(frozen=True, eq=False, slots=True)
class ParameterSweep:
    """One circuit with `count` bindings of its parameters; a circuit without swept parameters is a sweep of one.

    template: the circuit, with arbitrary numbers at the places that `swept` fills. columns: float64 [count, columns],
    the values of what differs from binding to binding; None if nothing does.
    """

    template: Circuit
    count: int = 1
    swept: tuple[SweptGate, ...] = ()
    columns: Values | None = None

    def operands(self, which: Numbers) -> Operands:
        """Return the operands of some bindings, given by their numbers.

        They are complex128 [len(which), total], laid out as in the template.
        """
        found = np.repeat(self.template.operands, len(which), axis=0)
        if self.columns is not None:
            values = self.columns[which]
            for one in self.swept:
                one.fill(found, values)
        return found

    def bindings(self) -> Bindings:
        """Return the operands of all bindings; see `bindings_of`."""
        found = bindings_of(self.template, self.count, lambda begin, end: self.operands(np.arange(begin, end)))
        return replace(found, made_of=self._made_of)

    def _made_of(self) -> Iterator[bytes]:
        """Yield what the operands are made of besides the template: the columns, and where they go."""
        for one in self.swept:
            yield f"{one.row} {one.offsets} {one.of_factors} {one.scale}".encode()
            yield from (array.tobytes() for array in (one.numbers, one.at, one.columns))
        if self.columns is not None:
            yield self.columns.tobytes()

    def circuit(self, binding: int) -> Circuit:
        """Return the circuit of one binding; all have one structure, the same object."""
        if not self.swept:
            return self.template
        of, operands = self.template, self.operands(np.array([binding]))
        operands.setflags(write=False)
        return Circuit(of.num_qubits, of.num_clbits, of.instructions, operands)


def stacked(arrays: Sequence[Values], count: int) -> Values:
    """Return arrays [count] as the columns of a sweep."""
    return np.concatenate([_NO_VALUES, *arrays]).reshape(len(arrays), count).T


def bindings_of(template: Circuit, count: int, operands: Callable[[int, int], Operands]) -> Bindings:
    """Return bindings whose operands are computed on demand, or, where they are few, once."""
    few = count * template.operands.nbytes <= thresholds.now.kept_bytes
    return Bindings.of(operands(0, count)) if few and count else Bindings(count, operands)


def real_values(found: object, count: int, named: object) -> Values:
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

    def append_swept(self, swept: _SweptGates) -> None:
        """Append the gates that have an array among their parameters, those of one row together."""
        for of, of_factors in ((self.whole, False), (self.factored, True)):
            for name, alike in of.items():
                offsets, parameters = alike.offsets, alike.parameters
                which = [k for k, given in enumerate(parameters) if _has_array(given)]
                if which:
                    swept.append(name, [offsets[k] for k in which], [parameters[k] for k in which], of_factors)

    def _given(self, rows: list[Sequence[object]]) -> Values:
        """Return the parameters of some gates, with 0 for each array."""
        return super()._given([[0.0 if isinstance(p, np.ndarray) else p for p in given] for given in rows])


def _has_array(parameters: Sequence[object]) -> bool:
    return any(isinstance(parameter, np.ndarray) for parameter in parameters)


class ParameterSweepBuilder(CircuitBuilder):
    """A builder whose gates may have arrays for parameters, float64 [bindings], all of one length."""

    _takes_arrays = True

    def __init__(self, num_qubits: int, num_clbits: int) -> None:
        super().__init__(num_qubits, num_clbits)
        self.arrays: tuple[Values, ...] = ()
        self._operands: SweptOperandBuilder = SweptOperandBuilder()
        self._rotations: dict[str, list[tuple[int, Values]]] = {}  # of Pauli rotations, by the row with their entries
        self._angles: Values | None = None  # of the Pauli rotation that is being appended

    def sweep(self, count: int) -> ParameterSweep:
        """Return the sweep of the circuit so far, with `count` bindings; `arrays` has its columns then."""
        swept = _SweptGates()
        self._operands.append_swept(swept)
        for row, rotations in self._rotations.items():
            angles = [(one,) for _, one in rotations]
            swept.append(row, [offset for offset, _ in rotations], angles, scale=1.0 if row == "rz" else -0.5)
        self.arrays = tuple(swept.arrays)
        columns = stacked(self.arrays, count) if swept.gates else None
        return ParameterSweep(self.build(), count, tuple(swept.gates), columns)

    def pauli_rotation(
        self,
        angle: Any,
        paulis: str,
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
    ) -> Self:
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
            row = "rz" if entries.size == 2 else "global_phase"  # of minus half the angle, see `sweep`
            self._rotations.setdefault(row, []).append((self._operands.size, self._angles))
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
