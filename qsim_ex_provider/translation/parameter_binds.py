"""`parameter_binds`: the values of circuits' parameters, as Aer takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from qiskit.circuit import Parameter, ParameterVector, QuantumCircuit

from qsim_ex.errors import CircuitError, ParameterError, nearest, some_of
from qsim_ex.frameworks import ParameterColumns, Values

NO_BINDS = ParameterColumns({}, 1)
"""The one binding of a circuit without parameters."""


def binds_of(circuits: Sequence[QuantumCircuit], given: object) -> list[ParameterColumns]:
    """Return the bindings of each circuit.

    given: a list with one dictionary for each circuit; an empty list binds nothing. A key is a parameter, its name, or
    a `ParameterVector`; a value is a list with a number for each binding, or one number for all of them. For a vector
    of k parameters it has the shape [bindings, k] or [k]. Lists of one dictionary are equally long.
    Raises `CircuitError` for another number of dictionaries, `ParameterError` for what is wrong with one of them.
    """
    if isinstance(given, list | tuple) and not given:
        return [NO_BINDS] * len(circuits)
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise CircuitError(
            f"expected parameter_binds as a list with one dictionary for each circuit, got {type(given).__name__}; "
            "pass parameter_binds=[{parameter: values}]."
        )
    if len(given) != len(circuits):
        raise CircuitError(
            f"expected parameter_binds with one dictionary for each of {len(circuits)} circuits, got {len(given)}; "
            "give several bindings of a circuit as lists of values in its one dictionary."
        )
    pairs = enumerate(zip(circuits, given, strict=True))
    return [_binds(circuit, one, f"parameter_binds[{k}]") for k, (circuit, one) in pairs]


def _binds(circuit: QuantumCircuit, given: object, where: str) -> ParameterColumns:
    """Return the bindings of one circuit from its dictionary."""
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"{where}: expected a dictionary of values, got {type(given).__name__}; pass {{parameter: values}}."
        )
    names = dict.fromkeys([parameter.name for parameter in circuit.parameters])  # thousands are looked up
    columns: dict[str, Values] = {}
    for key, values in given.items():
        for name, column in _columns(key, values, where):
            if name not in names:
                has = f"has the parameters {some_of(names)}" if names else "has no parameters"
                raise ParameterError(f"{where}: circuit {circuit.name!r} {has}, not {name!r}.{nearest(name, names)}")
            if name in columns:
                raise ParameterError(f"{where}: the parameter {name!r} is given twice.")
            columns[name] = column
    if missing := [name for name in names if name not in columns]:
        raise ParameterError(f"{where}: circuit {circuit.name!r} has unbound parameters: {some_of(missing)}.")
    lengths = {name: len(column) for name, column in columns.items() if column.ndim}
    if len(set(lengths.values())) > 1:
        listed = some_of(f"{length} for {name!r}" for name, length in lengths.items())
        raise ParameterError(f"{where}: all parameters need equally many values, or a single number; got {listed}.")
    count = next(iter(lengths.values()), 1)
    whole = {name: column if column.ndim else np.broadcast_to(column, count) for name, column in columns.items()}
    return ParameterColumns(whole, count)


def _columns(key: object, values: object, where: str) -> Iterator[tuple[str, Values]]:
    """Return the names that a key stands for, each with its number, of shape [], or numbers, of shape [bindings]."""
    if not isinstance(key, str | Parameter | ParameterVector):
        raise ParameterError(f"{where}: expected a parameter, its name, or a ParameterVector as a key, got {key!r}.")
    name = key if isinstance(key, str) else key.name
    try:
        array = np.asarray(values)
    except ValueError as error:  # what NumPy raises for lists of unequal lengths
        raise ParameterError(f"{where}: the values of {name!r} are no array of numbers: {error}") from error
    if array.size and array.dtype.kind not in "iuf":
        raise ParameterError(f"{where}: the values of {name!r} are no real numbers: {values!r}.")
    array = array.astype(np.float64)
    if not isinstance(key, ParameterVector):
        if array.ndim > 1:
            raise ParameterError(
                f"{where}: expected a number for {name!r}, or an array of shape (bindings,), got one of shape "
                f"{array.shape}."
            )
        yield name, array
    elif array.ndim not in (1, 2) or array.shape[-1] != len(key):
        raise ParameterError(
            f"{where}: expected values of shape (bindings, {len(key)}) or ({len(key)},) for the {len(key)} parameters "
            f"of {name!r}, got an array of shape {array.shape}."
        )
    else:
        yield from ((element.name, np.ascontiguousarray(array[..., k])) for k, element in enumerate(key))
