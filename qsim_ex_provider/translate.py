"""Pure functions: a circuit of Qiskit becomes a circuit of qsim-ex, or many that share a structure.

`walk` sends standard gates straight to the gate table. Everything else is looked at as an object: `library` says
what is done with a class of Qiskit's circuit library, and what is not listed there is replaced by its definition,
by its definition's definitions, and so on. Controls of any depth are handed down to the gates inside, so a
controlled circuit is a circuit of controlled gates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from qiskit.circuit import Parameter, ParameterExpression, QuantumCircuit

from qsim_ex import Circuit, CircuitBuilder
from qsim_ex.circuit.noise.model import Noise
from qsim_ex.circuit.noise.readout import ReadoutErrors
from qsim_ex.circuit.parameters.sweep import ParameterSweep, ParameterSweepBuilder, Values, real_values
from qsim_ex.errors import ParameterError
from qsim_ex_provider.library import emit
from qsim_ex_provider.noise import AerNoise
from qsim_ex_provider.walk import NO_CONTROLS, Walk


def translate(circuit: QuantumCircuit) -> Circuit:
    """Return the same circuit in the engine's words: wire w is ``circuit.qubits[w]``, as are classical bits.

    Raises errors of `qsim_ex.errors` that name the instruction and its place.
    """
    return translate_noisy(circuit, None).circuit


class Noisy(NamedTuple):
    """A circuit with the channels of a noisy machine, and how its classical bits are misread."""

    circuit: Circuit
    readout_errors: ReadoutErrors


def translate_noisy(circuit: QuantumCircuit, noise: Noise | None) -> Noisy:
    """Return a circuit in the engine's words as a noisy machine would run it; see `noise.noise_of`.

    Noise is found by the labels or names of the circuit's instructions, as in Aer: transpile to the noise model's basis
    gates first if gates are to be broken up. Raises as `translate` does, and `NoiseError` for an error that is none.
    """
    if circuit.num_parameters:
        names = ", ".join(sorted(parameter.name for parameter in circuit.parameters))
        raise ParameterError(
            f"circuit {circuit.name!r} has unbound parameters: {names}. Use assign_parameters, or give parameter_binds."
        )
    if isinstance(noise, AerNoise):
        circuit = noise.around(circuit)
    builder = CircuitBuilder(circuit.num_qubits, circuit.num_clbits)
    wires, clbits = tuple(range(circuit.num_qubits)), tuple(range(circuit.num_clbits))
    walk = Walk(builder, emit, noise=noise)
    walk.circuit(circuit, wires, clbits, NO_CONTROLS)
    return Noisy(builder.build(), walk.readout_errors)


def sweep(circuit: QuantumCircuit, columns: Mapping[str, Values], count: int) -> tuple[ParameterSweep, ...]:
    """Translate a circuit once for `count` bindings; ``columns[name]`` holds a parameter's value in each of them.

    Every parameter of the circuit has a column. Parameters may be anywhere, but where an operation becomes a matrix
    (a fractional power, say) its numbers must be known: then each binding is translated for itself, and there is a
    sweep of one for each. Raises errors of `qsim_ex.errors` that name the instruction and its place.
    """
    return sweep_noisy(circuit, columns, count, None).sweeps


class NoisySweeps(NamedTuple):
    """Sweeps with the channels of a noisy machine, and how its classical bits are misread."""

    sweeps: tuple[ParameterSweep, ...]
    readout_errors: ReadoutErrors


def sweep_noisy(circuit: QuantumCircuit, columns: Mapping[str, Values], count: int, noise: Noise | None) -> NoisySweeps:
    """As `sweep`, as a noisy machine would run it; see `translate_noisy`."""
    unchanged = circuit
    if isinstance(noise, AerNoise):
        circuit = noise.around(circuit)
    builder = ParameterSweepBuilder(circuit.num_qubits, circuit.num_clbits)
    wires, clbits = tuple(range(circuit.num_qubits)), tuple(range(circuit.num_clbits))
    number = Number(columns, count) if columns else float
    try:
        walk = Walk(builder, emit, number, noise)
        walk.circuit(circuit, wires, clbits, NO_CONTROLS)
    except TypeError:  # what Qiskit and NumPy raise where a number is wanted and a parameter is found
        if not columns:
            raise
        apart = [translate_noisy(_bound(unchanged, columns, k), noise) for k in range(count)]
        return NoisySweeps(
            tuple(ParameterSweep(one.circuit) for one in apart), apart[0].readout_errors if apart else ()
        )
    return NoisySweeps((builder.sweep(count),), walk.readout_errors)


def _bound(circuit: QuantumCircuit, columns: Mapping[str, Values], binding: int) -> QuantumCircuit:
    """The circuit with the numbers of one binding."""
    return circuit.assign_parameters({name: float(column[binding]) for name, column in columns.items()})


class Number:
    """A parameter of a gate as the builder takes it: a number, or an array with a value for each binding."""

    def __init__(self, columns: Mapping[str, Values], count: int) -> None:
        self._columns = columns
        self._count = count

    def __call__(self, parameter: Any) -> Any:
        """A number or float64 [bindings]; raises `ParameterError` where it is not real."""
        if isinstance(parameter, Parameter):
            return self._columns[parameter.name]
        if not isinstance(parameter, ParameterExpression) or not parameter.parameters:
            return float(parameter)
        function, names = _function(parameter)
        with np.errstate(all="ignore"):  # the builder refuses what is not finite, and names the gate
            found = function(*(self._columns[name] for name in names))
        return real_values(found, self._count, parameter)


@lru_cache(maxsize=4096)
def _function(expression: ParameterExpression) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """An expression as a function of arrays, and the names of the parameters that it is called with."""
    import sympy

    formula = expression.sympify()
    symbols = sorted(formula.free_symbols, key=str)
    return sympy.lambdify(symbols, formula, modules="numpy"), tuple(str(symbol) for symbol in symbols)
