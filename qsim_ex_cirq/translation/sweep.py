"""A circuit with symbols and many resolvers become circuits of the engine that share a structure."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import cirq
import numpy as np
import sympy

from qsim_ex.frameworks import NeedsNumbers, ParameterColumns, ParameterSweepBuilder, Values, real_values
from qsim_ex_cirq.translation.circuits import order_of, translate, translator_of
from qsim_ex_cirq.translation.gates import number
from qsim_ex_cirq.translation.noise import noisy_operations
from qsim_ex_cirq.translation.translation import Translation


def translate_sweep(
    circuit: cirq.AbstractCircuit,
    resolvers: Sequence[cirq.ParamResolver],
    qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
    *,
    noise: cirq.NoiseModel = cirq.NO_NOISE,
    sampled: bool = False,
    from_zero: bool = True,
    initial: int = 0,
) -> list[Translation]:
    """Translate a circuit once for all resolvers, or, where its structure depends on numbers, once for each.

    All other arguments are those of `translate`. The sweeps of all translations together have a binding for each
    resolver, in order. Raises what `translate` raises.
    """
    how: dict[str, Any] = {"noise": noise, "sampled": sampled, "from_zero": from_zero, "initial": initial}
    if len(resolvers) == 1:
        return [translate(circuit, resolvers[0], qubit_order, **how)]
    order = order_of(circuit, qubit_order)
    if resolvers and not _asks_for_numbers(noise, circuit):
        columns = ParameterColumns(ResolverColumns(resolvers), len(resolvers))
        translator = translator_of(order, from_zero, ParameterSweepBuilder, partial(number_or_column, columns))
        builder = translator.builder
        assert isinstance(builder, ParameterSweepBuilder)
        translator.begin(initial)
        with suppress(NeedsNumbers):
            translator.operations(noisy_operations(circuit, noise, sampled), lambda op: not cirq.is_parameterized(op))
            return [replace(translator.translation(sampled), sweep=builder.sweep(len(resolvers)))]
    return [translate(circuit, resolver, order, **how) for resolver in resolvers]


def _asks_for_numbers(noise: cirq.NoiseModel, circuit: cirq.AbstractCircuit) -> bool:
    """Return whether a noise model may treat a gate with a symbol otherwise than the gate with a number."""
    alike = noise == cirq.NO_NOISE or type(noise) is cirq.ConstantQubitNoiseModel
    return not alike and cirq.is_parameterized(circuit)


class ResolverColumns(dict[str, Values]):
    """The values of symbols in all resolvers, by name; each column is made when it is first asked for."""

    def __init__(self, resolvers: Sequence[cirq.ParamResolver]) -> None:
        super().__init__()
        self._resolvers = resolvers

    def __missing__(self, name: str) -> Values:
        """Raise `NeedsNumbers` where a symbol has no number: Cirq's own resolver knows what to say of it."""
        values = np.array([resolver.param_dict.get(name) for resolver in self._resolvers])
        if values.dtype.kind not in "iuf":  # other symbols, or keys that are symbols: Cirq knows what they mean
            values = np.array([resolver.value_of(name) for resolver in self._resolvers])
        if values.dtype.kind not in "iufc" or np.iscomplex(values).any():
            raise NeedsNumbers(f"the symbol {name} has no number in every resolver")
        self[name] = real_values(values, len(values), name)
        return self[name]


def number_or_column(columns: ParameterColumns, parameter: object) -> Any:
    """Return a gate's parameter as the builder takes it: a number, or float64 [resolvers].

    Raises `ParameterError` where a value is not real, and `NeedsNumbers` where a symbol has no number or NumPy cannot
    compute a formula.
    """
    if isinstance(parameter, sympy.Symbol):
        return columns[parameter.name]
    if not isinstance(parameter, sympy.Basic) or not parameter.free_symbols:
        return number(parameter)
    return columns.evaluate(parameter, sympy.sympify)
