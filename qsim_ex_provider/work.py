"""What a job is made of: circuits and the values of their parameters, translated, and those of one structure together.

Values come as ``parameter_binds``, as Aer takes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from qiskit.circuit import Parameter, ParameterVector, QuantumCircuit

from qsim_ex import JobCheckpoint, Options
from qsim_ex.circuit.noise.model import Noise
from qsim_ex.circuit.noise.readout import ReadoutErrors, key_of
from qsim_ex.circuit.parameters.families import Family, families
from qsim_ex.circuit.parameters.sweep import ParameterSweep, Values
from qsim_ex.errors import CircuitError, ParameterError, nearest
from qsim_ex_provider.results import Head, head
from qsim_ex_provider.translate import Number, sweep_noisy, translate_noisy


@dataclass(frozen=True, eq=False, slots=True)
class Work:
    """The circuits of a job, translated.

    families: bindings of one structure whose bits are misread alike. owners: of each experiment its circuit, and which
    binding of it. heads, readout_errors: of each circuit.
    """

    families: Sequence[Family]
    owners: Sequence[tuple[int, int]]
    heads: Sequence[Head]
    readout_errors: Sequence[ReadoutErrors]

    def key(self, shots: int) -> str:
        """A digest of all that the job computes, but for its seed."""
        return digest(shots, *(family.key() for family in self.families), *map(repr, map(key_of, self.readout_errors)))

    def circuits(self, family: Family) -> list[int]:
        """The numbers of the circuits that a family's members belong to, in increasing order."""
        return sorted({self.owners[place][0] for place in family.place.tolist()})


def digest(*parts: object) -> str:
    """A short digest of what tells a job from others."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def job_checkpoint(options: Options, key: str, parts: int) -> JobCheckpoint:
    """The checkpoint of a job that asks for one; raises `SavedStateError` if the file is another job's."""
    checkpoint: Any = options.checkpoint
    return JobCheckpoint(getattr(checkpoint, "path", checkpoint), key, parts, options.seed)


def translated(circuits: Sequence[QuantumCircuit], binds: Sequence[Binds], noise: Noise | None) -> Work:
    """Translate circuits with their bindings; raises errors of `qsim_ex.errors` that name the instruction."""
    sweeps: list[ParameterSweep] = []
    alike: list[Hashable] = []
    owners: list[tuple[int, int]] = []
    heads, readout_errors = [], []
    for number, (circuit, of) in enumerate(zip(circuits, binds, strict=True)):
        if of.columns:
            made, misread = sweep_noisy(circuit, of.columns, of.count, noise)
            phases = Number(of.columns, of.count)(circuit.global_phase) % (2 * np.pi)  # as Qiskit has it
        else:
            one, misread = translate_noisy(circuit, noise)
            made, phases = (ParameterSweep(one),), float(circuit.global_phase)
        sweeps += made
        alike += [key_of(misread) if misread else ()] * len(made)
        owners += [(number, binding) for binding in range(of.count)]
        heads.append(head(circuit, phases))
        readout_errors.append(misread)
    return Work(families(sweeps, alike), owners, heads, readout_errors)


# --- bindings ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Binds:
    """The values of one circuit's parameters in each of `count` bindings: name -> float64 [count]."""

    columns: Mapping[str, Values]
    count: int


def binds_of(circuits: Sequence[QuantumCircuit], given: Any) -> list[Binds]:
    """The bindings of each circuit; one of no parameters for each if none are given.

    given: a list with one dictionary for each circuit. A key is a parameter, its name, or a `ParameterVector`; a value
    is a list with a number for each binding, or one number, which is meant for all of them. For a vector of k
    parameters it has the shape [bindings, k] or [k]. Lists of one dictionary are equally long.
    Raises `CircuitError` for dictionaries of another number, `ParameterError` for what is wrong with one of them.
    """
    if given is None or (isinstance(given, list | tuple) and not given):
        return [Binds({}, 1)] * len(circuits)
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise CircuitError(
            f"parameter_binds: a list with one dictionary for each circuit is wanted, got a {type(given).__name__}."
        )
    if len(given) != len(circuits):
        raise CircuitError(
            f"parameter_binds has {len(given)} dictionaries for {len(circuits)} circuits; one for each is wanted. "
            "Several bindings of a circuit are lists of values in its one dictionary."
        )
    pairs = enumerate(zip(circuits, given, strict=True))
    return [_binds(circuit, one, f"parameter_binds[{k}]") for k, (circuit, one) in pairs]


def _binds(circuit: QuantumCircuit, given: Any, where: str) -> Binds:
    """The bindings of one circuit from its dictionary."""
    if not isinstance(given, Mapping):
        raise ParameterError(f"{where}: a dictionary of values is wanted, got a {type(given).__name__}.")
    names = [parameter.name for parameter in circuit.parameters]
    columns: dict[str, Values] = {}
    for key, values in given.items():
        for name, column in _columns(key, values, where):
            if name not in names:
                has = f"has the parameters {', '.join(names)}" if names else "has no parameters"
                raise ParameterError(f"{where}: circuit {circuit.name!r} {has}, not {name!r}.{nearest(name, names)}")
            if name in columns:
                raise ParameterError(f"{where}: the parameter {name!r} is given twice.")
            columns[name] = column
    if missing := [name for name in names if name not in columns]:
        raise ParameterError(f"{where}: circuit {circuit.name!r} has unbound parameters: {', '.join(missing)}.")
    lengths = {name: len(column) for name, column in columns.items() if column.ndim}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{length} for {name!r}" for name, length in lengths.items())
        raise ParameterError(f"{where}: all parameters need equally many values, or a single number; got {listed}.")
    count = next(iter(lengths.values()), 1)
    return Binds({name: np.broadcast_to(column, (count,)) for name, column in columns.items()}, count)


def _columns(key: Any, values: Any, where: str) -> Iterator[tuple[str, Values]]:
    """The names that a key stands for, each with its number, of shape [], or its numbers, of shape [bindings]."""
    if not isinstance(key, str | Parameter | ParameterVector):
        raise ParameterError(f"{where}: a key is a parameter, its name, or a ParameterVector, got {key!r}.")
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
                f"{where}: a number or a list of them, of shape (bindings,), is wanted for {name!r}, got an array of "
                f"shape {array.shape}."
            )
        yield name, array
    elif array.ndim not in (1, 2) or array.shape[-1] != len(key):
        raise ParameterError(
            f"{where}: the vector {name!r} has {len(key)} parameters, so values of shape (bindings, {len(key)}) or "
            f"({len(key)},) are wanted, got an array of shape {array.shape}."
        )
    else:
        yield from ((element.name, np.ascontiguousarray(array[..., k])) for k, element in enumerate(key))
