"""Variables of Cirq 1.8: qids whose places are formulas, and symbols that a circuit sets on its way.

Cirq replaces the symbols of each moment by the numbers that they have then. So a circuit without variables is made here
for each set of parameters, before anything else sees it. A symbol that is set to a formula of measured values stays
that formula: an operation with it is done once for each value of the measured keys, under the condition that they have
it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from itertools import chain, product
from math import prod
from typing import Any, ParamSpec, TypeVar

import cirq
import sympy

from qsim_ex.errors import NotSupported
from qsim_ex_cirq.resolvers import resolvers_of

P = ParamSpec("P")
R = TypeVar("R")

QIDS: tuple[type, ...] = tuple(filter(None, [getattr(cirq, "VariableQid", None)]))
"""Cirq's qids whose places are formulas, since Cirq 1.8."""

SETTERS: tuple[type, ...] = tuple(filter(None, [getattr(cirq, "SetVariable", None)]))
"""Cirq's operations that set a symbol, since Cirq 1.8."""

CASES = 64
"""The most values of measured keys of which an operation with a variable is done under a condition."""


def point_by_point(method: Callable[P, Iterator[R]]) -> Callable[P, Iterator[R]]:
    """Return a method of a simulator that runs circuits with variables as circuits without, for each set of parameters.

    The method has a circuit, its parameters and perhaps an order of qubits. Before Cirq 1.8 it is returned as it is.
    """
    if not QIDS:
        return method
    signature = inspect.signature(method)
    _, program, *others = signature.parameters
    params = next(name for name in others if name in ("params", "param_resolver"))

    @wraps(method)
    def each(*args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        given = signature.bind(*args, **kwargs)
        if not has_variables(given.arguments[program]):
            yield from method(*args, **kwargs)
            return
        given.apply_defaults()
        circuit, order = given.arguments[program], given.arguments.get("qubit_order", cirq.QubitOrder.DEFAULT)
        for resolver in resolvers_of(given.arguments[params]):
            settled = without_variables(circuit, resolver)
            given.arguments |= {program: settled, params: resolver}
            if "qubit_order" in signature.parameters:
                given.arguments["qubit_order"] = _order(circuit, settled, order)
            yield from method(*given.args, **given.kwargs)

    return each


def has_variables(circuit: object) -> bool:
    """Return whether a circuit has qids whose places are formulas, or sets symbols."""
    if not QIDS or not isinstance(circuit, cirq.AbstractCircuit):
        return False
    operations = chain.from_iterable(moment.operations for moment in circuit)
    return any(isinstance(one, QIDS) for one in circuit.all_qubits()) or any(
        isinstance(op.untagged, SETTERS) for op in operations
    )


def without_variables(circuit: cirq.AbstractCircuit, resolver: cirq.ParamResolver) -> cirq.Circuit:
    """Return the circuit with the numbers that its symbols have in each moment.

    Raises `NotSupported` for a formula of measured values that have been measured again since, or may be too many.
    """
    known = dict(resolver.param_dict)
    levels: dict[str, tuple[int, ...]] = {}  # of the qids of each key that was measured so far
    stale: set[str] = set()  # keys that were measured again after a variable was set to a formula of them
    moments: list[cirq.Moment] = []
    for moment in circuit:
        here: list[cirq.Operation] = []
        behind: list[cirq.Operation] = []
        measured: list[tuple[str, tuple[int, ...]]] = []
        for op in cirq.resolve_parameters(moment, cirq.ParamResolver(known)).operations:
            bare: Any = op.untagged
            if type(bare) in SETTERS:
                known[bare.target] = _number(bare.expression, levels)
                continue
            names = cirq.parameter_names(op)
            if names and names <= levels.keys():
                behind += _cases(op, {name: levels[name] for name in sorted(names)}, stale)
            else:
                here.append(op)
            measured += [(str(key), cirq.qid_shape(op)) for key in cirq.measurement_key_objs(op)]
        moments.append(cirq.Moment(here))
        moments += [cirq.Moment([op]) for op in behind]
        for key, shape in measured:
            if any(key in map(str, getattr(value, "free_symbols", ())) for value in known.values()):
                stale.add(key)
            levels[key] = shape
    return cirq.Circuit(moments)


def _number(expression: sympy.Basic, levels: Mapping[str, object]) -> complex | sympy.Basic:
    """Return a formula as a number; as it is if it has measured values, which are not known yet."""
    unknown = sorted(symbol.name for symbol in expression.free_symbols if symbol.name not in levels)
    if unknown:
        raise NotSupported(
            f"a variable is set to {expression}, where {', '.join(unknown)} is neither measured before nor a number; "
            "pass a resolver that has it."
        )
    if expression.free_symbols:
        return expression
    if expression.is_integer:
        return int(expression)
    return float(expression) if expression.is_real else complex(expression)


def _cases(op: cirq.Operation, keys: Mapping[str, tuple[int, ...]], stale: set[str]) -> Iterator[cirq.Operation]:
    """Yield an operation for each value of measured keys, under the condition that they have it."""
    if again := stale.intersection(keys):
        raise NotSupported(
            f"{op} depends on {', '.join(sorted(again))}, which is measured again after a variable was set to it; "
            "measure it under another key."
        )
    counts = [prod(shape) for shape in keys.values()]
    if prod(counts) > CASES:
        raise NotSupported(f"{op} depends on {prod(counts)} measured values; expected at most {CASES}.")
    for values in product(*map(range, counts)):
        numbers = dict(zip(keys, values, strict=True))
        holds = [sympy.Eq(sympy.Symbol(name), value) for name, value in numbers.items()]
        yield cirq.resolve_parameters(op, numbers).with_classical_controls(*holds)


def _order(
    circuit: cirq.AbstractCircuit, settled: cirq.AbstractCircuit, order: cirq.QubitOrderOrList
) -> Sequence[cirq.Qid]:
    """Return the qids in Cirq's order: those that the circuit names, and those that its formulas add, as they come."""
    named = cirq.QubitOrder.as_qubit_order(order).order_for(q for q in circuit.all_qubits() if not isinstance(q, QIDS))
    return tuple(dict.fromkeys(chain(named, *(sorted(moment.qubits) for moment in settled))))
