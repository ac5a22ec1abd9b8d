"""What both primitives ask of their options and their PUBs, before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from qiskit.circuit import QuantumCircuit
from qiskit.primitives.containers.bindings_array import BindingsArray

from qsim_ex import Circuit, Options, Simulator
from qsim_ex.circuit.noise.model import Noise
from qsim_ex.circuit.noise.readout import ReadoutErrors, key_of
from qsim_ex.circuit.ops import Save
from qsim_ex.circuit.parameters.families import Family, families
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.errors import CircuitError, OptionError, ParameterError, QsimExError, nearest
from qsim_ex_provider.backend import fresh_seed
from qsim_ex_provider.translate import sweep_noisy
from qsim_ex_provider.work import digest, job_checkpoint

ENGINE = tuple(field.name for field in fields(Options))
"""Options of the engine, all of which a primitive takes."""


def engine_options(given: Mapping[str, Any], *own: str) -> Options:
    """The engine's options; raises `OptionError` for a name that neither it nor the primitive (`own`) has."""
    known = (*own, *ENGINE)
    for name in given:
        if name not in known:
            hint = " It is 'seed' here." if name == "seed_simulator" else nearest(name, known)
            raise OptionError(f"there is no option {name!r}.{hint} Known: {', '.join(known)}.")
    device = given.get("device")
    if isinstance(device, str):  # Aer writes 'GPU'
        given = {**given, "device": device.lower()}
    return Options(**given)


def coerced(kind: Any, pub: Any, number: int, default: Any, values_at: int) -> Any:
    """A PUB of Qiskit's class `kind`; raises `CircuitError` or `ParameterError` that names the PUB.

    default: shots or precision where the PUB names none. values_at: where its tuple holds the values of parameters.
    """
    where = f"PUB {number}"
    if isinstance(pub, kind):
        _check_values(pub.circuit, pub.parameter_values, where)
    elif isinstance(pub, tuple | list) and pub and isinstance(pub[0], QuantumCircuit):
        _check_values(pub[0], pub[values_at] if len(pub) > values_at else None, where)
    elif isinstance(pub, QuantumCircuit):
        _check_values(pub, None, where)
    try:
        return kind.coerce(pub, default)
    except QsimExError:
        raise
    except (TypeError, ValueError) as error:
        raise CircuitError(f"{where}: {error}") from error


def _check_values(circuit: QuantumCircuit, values: Any, where: str) -> None:
    """Check that there is a value for each parameter; raises `ParameterError` with names and shapes."""
    names = [parameter.name for parameter in circuit.parameters]
    listed = f"circuit {circuit.name!r} has {len(names)} parameters ({', '.join(names)})"
    if values is None:
        if names:
            raise ParameterError(
                f"{where}: circuit {circuit.name!r} has unbound parameters: {', '.join(names)}. Give their values."
            )
    elif isinstance(values, BindingsArray | Mapping):
        data = values.data if isinstance(values, BindingsArray) else values
        given = [getattr(name, "name", name) for key in data for name in _names(key)]
        for name in given:
            if name not in names:
                raise ParameterError(f"{where}: {listed}, none is {name!r}.{nearest(str(name), names)}")
        if missing := [name for name in names if name not in given]:
            raise ParameterError(f"{where}: circuit {circuit.name!r} has unbound parameters: {', '.join(missing)}.")
    else:
        try:
            shape = np.asarray(values, dtype=np.float64).shape
        except (TypeError, ValueError) as error:
            raise ParameterError(f"{where}: {listed}; their values are no array of numbers: {error}") from error
        if len(names) != 1 and shape[-1:] != (len(names),):  # a single parameter needs no axis of its own
            raise ParameterError(
                f"{where}: {listed}, so values of shape (..., {len(names)}) are wanted, got an array of shape {shape}."
            )


def _names(key: Any) -> Sequence[Any]:
    return [key] if isinstance(key, str) or hasattr(key, "name") else list(key)


class Swept(NamedTuple):
    """All bindings of a PUB, in C order, and how its classical bits are misread.

    families: one where the circuit can be translated once for all.
    """

    families: list[Family]
    readout_errors: ReadoutErrors

    def key(self) -> str:
        """A digest of what is run."""
        return digest(*(family.key() for family in self.families), key_of(self.readout_errors))


def swept(circuit: QuantumCircuit, values: BindingsArray, noise: Noise | None) -> Swept:
    """Translate a PUB's circuit for all values of its parameters, as a noisy machine would run it."""
    columns: dict[str, NDArray[np.float64]] = {}
    for names, array in values.data.items():
        rows = array.reshape(values.size, len(names))
        columns.update({name: np.ascontiguousarray(rows[:, k]) for k, name in enumerate(names)})
    sweeps, misread = sweep_noisy(circuit, columns, values.size, noise)
    return Swept(families(_without_saves(one) for one in sweeps), misread)


def _without_saves(sweep: ParameterSweep) -> ParameterSweep:
    """The same work, with no states saved on the way: the result of a PUB has no place for them."""
    of = sweep.template
    kept = tuple(instruction for instruction in of.instructions if not isinstance(instruction, Save))
    if len(kept) == len(of.instructions):
        return sweep
    return ParameterSweep(Circuit(of.num_qubits, of.num_clbits, kept, of.operands), sweep.count, sweep.swept)


class Runs:
    """The runs of the engine that a call of a primitive consists of, one after the other.

    key: tells the call from others, where it has a checkpoint: then each run has one of its own, and those that had
    ended before a kill give their results at once. count: how many runs there are.
    seed: what all random numbers come from: the options' seed, that of the checkpoint's file, or a fresh one.
    """

    def __init__(self, options: Options, key: Callable[[], str], count: int) -> None:
        self.options = options
        self._kept = None if options.checkpoint is None else job_checkpoint(options, key(), count)
        given = options.seed if self._kept is None else self._kept.seed
        self.seed = fresh_seed() if given is None else given
        self._one = Simulator(options) if self._kept is None else None
        self._begun = 0

    def simulator(self) -> Simulator:
        """What does the next run."""
        self._begun += 1
        if self._one is not None:
            return self._one
        assert self._kept is not None
        return Simulator(self.options.with_({"checkpoint": self._kept.part(self._begun - 1)}))

    def end(self) -> None:
        """All runs have ended."""
        if self._kept is not None:
            self._kept.end()


def seed_sequence(base: int, pub: int) -> np.random.SeedSequence:
    """What all random numbers of a PUB come from."""
    return np.random.SeedSequence(base, spawn_key=(pub,))
