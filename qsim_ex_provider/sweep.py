"""A circuit of Qiskit and arrays of values for its parameters become circuits of the engine that share a structure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qiskit.circuit import Parameter, ParameterExpression, QuantumCircuit

from qsim_ex import Circuit, CircuitBuilder
from qsim_ex.circuit.gates import GATES
from qsim_ex.errors import ParameterError
from qsim_ex_provider.library import emit
from qsim_ex_provider.translate import translate
from qsim_ex_provider.walk import NO_CONTROLS, Walk

Values = NDArray[np.float64]

CHUNK_BYTES = 16 << 20
"""Numbers of so many bindings are made at a time."""


@dataclass(frozen=True, eq=False, slots=True)
class Swept:
    """The operands of one row of the gate table whose parameters are arrays.

    offsets: where the entries of each operation begin. parameters: for each operation those of the row, an array with
    one value for each binding where they are swept and one number where they are not.
    """

    row: str
    offsets: list[int]
    parameters: list[tuple[Any, ...]]

    def fill(self, operands: NDArray[np.complex128], begin: int) -> None:
        """Write the entries of the bindings from `begin` on into operands [bindings, total]."""
        count = len(operands)
        chosen = np.empty((len(self.offsets), count, len(self.parameters[0])))
        for k, parameters in enumerate(self.parameters):
            for i, parameter in enumerate(parameters):
                chosen[k, :, i] = parameter[begin : begin + count] if isinstance(parameter, np.ndarray) else parameter
        entries = GATES[self.row].entries(chosen.reshape(-1, chosen.shape[-1]))
        shaped = entries.reshape(len(self.offsets), count, -1)
        places = np.add.outer(self.offsets, np.arange(shaped.shape[-1]))
        operands[:, places] = shaped.transpose(1, 0, 2)


@dataclass(frozen=True, eq=False, slots=True)
class Sweep:
    """One circuit with `count` bindings of its parameters.

    template: the circuit with some numbers at the places that `swept` fills.
    """

    template: Circuit
    count: int
    swept: tuple[Swept, ...]

    def circuits(self) -> Iterator[Circuit]:
        """The circuit of each binding; all have one structure, the same object."""
        of = self.template
        chunk = max(1, CHUNK_BYTES // of.operands.nbytes)
        for begin in range(0, self.count, chunk):
            operands = np.repeat(of.operands, min(chunk, self.count - begin), axis=0)
            for one in self.swept:
                one.fill(operands, begin)
            operands.setflags(write=False)
            for k in range(len(operands)):
                yield Circuit(of.num_qubits, of.num_clbits, of.instructions, operands[k : k + 1])


@dataclass(frozen=True, eq=False, slots=True)
class Separate:
    """One circuit with bindings that are translated one by one, since an operation of it needs its numbers."""

    circuit: QuantumCircuit
    count: int
    columns: Mapping[str, Values]

    def circuits(self) -> Iterator[Circuit]:
        """The circuit of each binding."""
        for k in range(self.count):
            values = {name: float(column[k]) for name, column in self.columns.items()}
            yield translate(self.circuit.assign_parameters(values))


def sweep(circuit: QuantumCircuit, columns: Mapping[str, Values], count: int) -> Sweep | Separate:
    """Translate a circuit once for `count` bindings; ``columns[name]`` holds a parameter's value in each of them.

    Every parameter of the circuit has a column. Parameters may be anywhere, but where an operation becomes a matrix
    (a fractional power, say) its numbers must be known: then each binding is translated for itself.
    Raises errors of `qsim_ex.errors` that name the instruction and its place.
    """
    builder = SweepBuilder(circuit.num_qubits, circuit.num_clbits)
    wires, clbits = tuple(range(circuit.num_qubits)), tuple(range(circuit.num_clbits))
    number = _Number(columns, count) if columns else float
    try:
        Walk(builder, emit, number).circuit(circuit, wires, clbits, NO_CONTROLS)
    except TypeError:  # what Qiskit and NumPy raise where a number is wanted and a parameter is found
        if not columns:
            raise
        return Separate(circuit, count, columns)
    return Sweep(builder.build(), count, tuple(builder.swept.values()))


class SweepBuilder(CircuitBuilder):
    """A builder whose gates may have arrays for parameters, one value for each binding; they are kept in `swept`."""

    def __init__(self, num_qubits: int, num_clbits: int) -> None:
        super().__init__(num_qubits, num_clbits)
        self.swept: dict[str, Swept] = {}
        self._angles: Values | None = None  # of the Pauli rotation that is being appended

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
        swept = self.swept.setdefault(row, Swept(row, [], []))
        swept.offsets.append(self._size)
        swept.parameters.append(parameters)

    def _check_finite(self, parameters: tuple[Any, ...], name: str) -> None:
        for parameter in parameters:
            if not isinstance(parameter, np.ndarray):
                super()._check_finite((parameter,), name)
            elif not (finite := np.isfinite(parameter)).all():
                first = int(np.argmin(finite))
                raise ParameterError(f"gate {name!r} has a parameter that is not finite in binding {first}.")


class _Number:
    """A parameter of a gate as the builder takes it: a number, or an array with a value for each binding."""

    def __init__(self, columns: Mapping[str, Values], count: int) -> None:
        self._columns = columns
        self._count = count

    def __call__(self, parameter: Any) -> Any:
        if isinstance(parameter, Parameter):
            return self._columns[parameter.name]
        if not isinstance(parameter, ParameterExpression) or not parameter.parameters:
            return float(parameter)
        function, names = _function(parameter)
        with np.errstate(all="ignore"):  # the builder refuses what is not finite, and names the gate
            found = np.asarray(function(*(self._columns[name] for name in names)))
        if np.iscomplexobj(found):
            if found.imag.any():
                raise ParameterError(f"the parameter {parameter} is not real for all values.")
            found = found.real
        return np.broadcast_to(found.astype(np.float64), (self._count,))


@lru_cache(maxsize=4096)
def _function(expression: ParameterExpression) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """An expression as a function of arrays, and the names of the parameters that it is called with."""
    import sympy

    formula = expression.sympify()
    symbols = sorted(formula.free_symbols, key=str)
    return sympy.lambdify(symbols, formula, modules="numpy"), tuple(str(symbol) for symbol in symbols)
