"""A circuit with symbols and many resolvers become circuits of the engine that share a structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

import cirq
import numpy as np
import sympy

from qsim_ex.circuit.parameters.sweep import ParameterSweepBuilder, Values, real_values
from qsim_ex_cirq.gates import NeedsNumbers, number
from qsim_ex_cirq.noise import noisy_operations
from qsim_ex_cirq.translate import order_of, translate
from qsim_ex_cirq.translation import Translation
from qsim_ex_cirq.walk import Walk


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

    All but the resolvers as of `translate`. The sweeps of all translations together have a binding for each resolver,
    in order. Raises what `translate` raises.
    """
    order = order_of(circuit, qubit_order)
    if len(resolvers) > 1 and not _asks_for_numbers(noise, circuit):
        builder = ParameterSweepBuilder(len(order), len(order))
        walk = Walk(order, from_zero, builder, Columns(resolvers))
        walk.begin(initial)
        with suppress(NeedsNumbers):
            walk.operations(noisy_operations(circuit, noise, sampled), lambda op: not cirq.is_parameterized(op))
            return [replace(walk.translation(sampled), sweep=builder.sweep(len(resolvers)))]
    how: dict[str, Any] = {"noise": noise, "sampled": sampled, "from_zero": from_zero}
    return [translate(circuit, resolver, order, initial=initial, **how) for resolver in resolvers]


def _asks_for_numbers(noise: cirq.NoiseModel, circuit: cirq.AbstractCircuit) -> bool:
    """Whether a noise model may do one thing to a gate with a symbol and another to the gate with a number."""
    alike = noise == cirq.NO_NOISE or type(noise) is cirq.ConstantQubitNoiseModel
    return not alike and cirq.is_parameterized(circuit)


class Columns:
    """Makes of a gate's parameter what the builder takes: a number, or an array with a value for each resolver."""

    def __init__(self, resolvers: Sequence[cirq.ParamResolver]) -> None:
        self._resolvers = resolvers
        self._columns: dict[str, Values] = {}

    def __call__(self, parameter: Any) -> Any:
        """A number or float64 [resolvers]; raises `ParameterError` where it is not real.

        Raises `NeedsNumbers` where a symbol has no number, which is for Cirq's own resolver to say, and for a formula
        that NumPy does not know.
        """
        if isinstance(parameter, sympy.Symbol):
            return self._column(parameter.name)
        if not isinstance(parameter, sympy.Basic) or not parameter.free_symbols:
            return number(parameter)
        function, names = _function(parameter)
        columns = [self._column(name) for name in names]
        try:
            with np.errstate(all="ignore"):  # the builder refuses what is not finite
                found = function(*columns)
        except (TypeError, NameError, AttributeError) as error:
            raise NeedsNumbers(f"{parameter} is no function of arrays") from error
        return real_values(found, len(self._resolvers), parameter)

    def _column(self, name: str) -> Values:
        if name not in self._columns:
            values = np.array([resolver.param_dict.get(name) for resolver in self._resolvers])
            if values.dtype.kind not in "iuf":  # other symbols, or keys that are symbols: Cirq knows what they mean
                values = np.array([resolver.value_of(name) for resolver in self._resolvers])
            if values.dtype.kind not in "iufc" or np.iscomplex(values).any():
                raise NeedsNumbers(f"the symbol {name} has no number in every resolver")
            self._columns[name] = real_values(values, len(values), name)
        return self._columns[name]


@lru_cache(maxsize=4096)
def _function(formula: sympy.Basic) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """A formula as a function of arrays, and the names of the symbols that it is called with."""
    symbols = sorted(formula.free_symbols, key=str)
    return sympy.lambdify(symbols, formula, modules="numpy"), tuple(str(symbol) for symbol in symbols)
