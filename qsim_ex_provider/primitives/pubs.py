"""What both primitives check and translate before anything runs: their PUBs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qiskit.circuit import Parameter, QuantumCircuit
from qiskit.primitives.containers.bindings_array import BindingsArray

from qsim_ex import BatchResult, Circuit, Options
from qsim_ex.errors import CircuitError, ParameterError, QsimExError, nearest, other_circuit, some_of
from qsim_ex.frameworks import BindingGroup, Noise, ParameterColumns, ParameterSweep, Save, binding_groups
from qsim_ex_provider.translation.circuits import translate_sweep


def changed(options: Options) -> dict[str, tuple[Any, Any]]:
    """Return each of the engine's options with its default, for the representation of a primitive."""
    return {one.name: (getattr(options, one.name), one.default) for one in fields(options)}


def coerced(kind: Any, pub: Any, number: int, default: Any, values_at: int) -> Any:
    """Return a PUB of Qiskit's class `kind`; raises `CircuitError` or `ParameterError` that names the PUB.

    default: shots or precision where the PUB names none. values_at: where its tuple holds the values of parameters.
    """
    where = f"PUB {number}"
    if isinstance(pub, kind):
        _check_values(pub.circuit, pub.parameter_values, where)
    elif isinstance(pub, tuple | list) and pub and isinstance(pub[0], QuantumCircuit):
        _check_values(pub[0], pub[values_at] if len(pub) > values_at else None, where)
    elif isinstance(pub, QuantumCircuit):
        _check_values(pub, None, where)
    else:
        of = pub[0] if isinstance(pub, tuple | list) and pub else pub
        if not isinstance(of, tuple | list):
            raise other_circuit(of, f"a QuantumCircuit in PUB {number}")
    try:
        return kind.coerce(pub, default)
    except QsimExError:
        raise
    except (TypeError, ValueError) as error:
        form = "(circuit, values)" if values_at == 1 else "(circuit, observables, values), observables of all qubits"
        raise CircuitError(f"{where}: {error} Pass {form}.") from error


def listed(pubs: object, expected: str) -> Iterable[object]:
    """Return PUBs to go through; raises `CircuitError` for a single circuit, and for one of another framework."""
    if isinstance(pubs, QuantumCircuit):
        raise CircuitError(f"expected a list of PUBs, got a QuantumCircuit; pass [{expected}].")
    if isinstance(pubs, str) or not isinstance(pubs, Iterable) or "Circuit" in type(pubs).__name__:
        raise other_circuit(pubs, f"a list of PUBs, each a {expected}")
    return pubs


def _check_values(circuit: QuantumCircuit, values: object, where: str) -> None:
    """Check that there is a value for each parameter; raises `ParameterError` with names and shapes."""
    if isinstance(values, np.ndarray) and values.dtype.char == "d" and values.shape[-1:] == (circuit.num_parameters,):
        return
    names = dict.fromkeys([parameter.name for parameter in circuit.parameters])
    listed = f"circuit {circuit.name!r} has {len(names)} parameters ({some_of(names)})"
    if values is None:
        if names:
            raise ParameterError(
                f"{where}: circuit {circuit.name!r} has unbound parameters: {some_of(names)}. Give their values."
            )
    elif isinstance(values, BindingsArray | Mapping):
        data = values.data if isinstance(values, BindingsArray) else values
        given = dict.fromkeys([getattr(name, "name", name) for key in data for name in _names(key)])
        for name in given:
            if name not in names:
                raise ParameterError(f"{where}: {listed}, none is {name!r}.{nearest(str(name), names)}")
        if missing := [name for name in names if name not in given]:
            raise ParameterError(f"{where}: circuit {circuit.name!r} has unbound parameters: {some_of(missing)}.")
    else:
        try:
            found = np.asarray(values)
            if found.dtype.kind == "c" and found.imag.any():
                raise ValueError("some are not real")
            shape = np.asarray(found, dtype=np.float64).shape
        except (TypeError, ValueError) as error:
            raise ParameterError(f"{where}: {listed}; their values are no array of numbers: {error}") from error
        if len(names) != 1 and shape[-1:] != (len(names),):  # a single parameter needs no axis of its own
            raise ParameterError(
                f"{where}: {listed}; expected values of shape (..., {len(names)}), got an array of shape {shape}."
            )


def _names(key: Any) -> Sequence[Any]:
    return [key] if isinstance(key, str | Parameter) else list(key)


def translate_pub(circuit: QuantumCircuit, values: BindingsArray, noise: Noise | None) -> list[BindingGroup]:
    """Translate a PUB's circuit for all values of its parameters, in C order, as a noisy machine would run it.

    There is one group where the circuit can be translated once for all bindings.
    """
    columns: dict[str, NDArray[np.float64]] = {}
    count = values.size
    for names, array in values.data.items():
        columns.update(zip(names, np.ascontiguousarray(array.reshape(count, len(names)).T), strict=True))
    found = ParameterColumns(columns, count)
    sweeps, readout_errors, _ = translate_sweep(circuit, found, noise, without_phase=True)
    return binding_groups([_without_saves(one) for one in sweeps], [readout_errors] * len(sweeps))


def _without_saves(sweep: ParameterSweep) -> ParameterSweep:
    """Return the same work without states saved on the way: the result of a PUB has no place for them."""
    of = sweep.template
    if Save not in of.structure.kinds:
        return sweep
    kept = tuple(instruction for instruction in of.instructions if not isinstance(instruction, Save))
    return replace(sweep, template=Circuit(of.num_qubits, of.num_clbits, kept, of.operands))


def where_of(result: BatchResult) -> dict[str, Any]:
    """Return what a PUB's metadata say of where and how it ran."""
    where = {"device": result.device, "placement": result.placement}
    return where if result.trajectories is None else {**where, "trajectories": result.trajectories}
