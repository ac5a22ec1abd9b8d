"""Pure functions: a circuit of Qiskit becomes a circuit of qsim-ex, or many that share a structure.

`translator` sends standard gates straight to the gate table. Everything else is looked at as an object: `library` says
what is done with a class of Qiskit's circuit library, and what is not listed there is replaced by its definition,
by its definition's definitions, and so on. Controls of any depth are handed down to the gates inside, so a
controlled circuit is a circuit of controlled gates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from qiskit.circuit import QuantumCircuit

from qsim_ex import Circuit, CircuitBuilder
from qsim_ex.errors import ParameterError
from qsim_ex.frameworks import (
    BindingGroup,
    Measure,
    NeedsNumbers,
    Noise,
    ParameterColumns,
    ParameterSweep,
    ParameterSweepBuilder,
    ReadoutErrors,
    Values,
    binding_groups,
    digest,
)
from qsim_ex_provider.results import CircuitHeader, header_of
from qsim_ex_provider.saves.kinds import SavedForm
from qsim_ex_provider.translation import repeated
from qsim_ex_provider.translation.columns import Columns, columns_of
from qsim_ex_provider.translation.library import emit
from qsim_ex_provider.translation.repeated import NamedSweep
from qsim_ex_provider.translation.translator import Translator, number_or_column


def translate(circuit: QuantumCircuit) -> Circuit:
    """Return the same circuit in the engine's words: wire w is ``circuit.qubits[w]``, as are classical bits.

    Raises errors of `qsim_ex.errors` that name the instruction and its place.
    """
    return translate_noisy(circuit, None).circuit


def measures(circuit: Circuit) -> bool:
    """Return whether a circuit measures; the run of one that does not is a success without counts."""
    return any(isinstance(instruction, Measure) for instruction in reversed(circuit.instructions))


class NoisyCircuit(NamedTuple):
    """A circuit with the channels of a noisy machine, how its classical bits are misread, and what it saves."""

    circuit: Circuit
    readout_errors: ReadoutErrors
    saved: Mapping[str, SavedForm] = {}


def translate_noisy(circuit: QuantumCircuit, noise: Noise | None) -> NoisyCircuit:
    """Return a circuit in the engine's words as a noisy machine would run it; see `noise.noise_of`.

    Noise is found by the labels or names of the circuit's instructions, as in Aer: transpile to the noise model's basis
    gates first if gates are to be broken up. Raises as `translate` does, and `NoiseError` for an error that is none.
    """
    if circuit.num_parameters:
        names = ", ".join(sorted(parameter.name for parameter in circuit.parameters))
        raise ParameterError(
            f"circuit {circuit.name!r} has unbound parameters: {names}. Use assign_parameters, or give parameter_binds."
        )
    if noise is not None:
        return _translated(_with_delays(circuit, noise), noise, None)
    columns = columns_of(circuit)
    reading = repeated.reading_of(circuit, columns)
    if reading is None:
        return _translated(circuit, None, columns)
    found: NoisyCircuit | None = repeated.known.get(circuit, "circuit", reading)
    if found is None:
        found = _translated(circuit, None, columns)
        repeated.known.put(circuit, "circuit", reading, found, len(columns.names))
    return found


def _translated(circuit: QuantumCircuit, noise: Noise | None, columns: Columns | None) -> NoisyCircuit:
    builder = CircuitBuilder(circuit.num_qubits, circuit.num_clbits)
    translator = Translator(builder, emit, noise=noise)
    translator.whole(circuit, columns)
    return NoisyCircuit(builder.build(), translator.readout_errors, translator.saved)


def _with_delays(circuit: QuantumCircuit, noise: Noise | None) -> QuantumCircuit:
    """Return the circuit with the noise of its delays, where the noise is that of a device."""
    around = getattr(noise, "around", None)
    return circuit if around is None else around(circuit)


# --- many bindings ----------------------------------------------------------------------------------------------------


class NoisySweeps(NamedTuple):
    """Sweeps with the channels of a noisy machine, how their classical bits are misread, and what they save."""

    sweeps: tuple[ParameterSweep, ...]
    readout_errors: ReadoutErrors
    saved: Mapping[str, SavedForm] = {}


def translate_sweep(
    circuit: QuantumCircuit, columns: ParameterColumns, noise: Noise | None = None, *, without_phase: bool = False
) -> NoisySweeps:
    """Translate a circuit once for all bindings; columns: the values of all its parameters.

    Parameters may be anywhere, but where an operation becomes a matrix (a fractional power, say) its numbers must be
    known: then each binding is translated for itself, and there is a sweep of one for each. Raises as
    `translate_noisy` does. without_phase: see `Translator`.
    """
    how = f"sweep, without_phase={without_phase}"
    read = columns_of(circuit) if noise is None else None
    reading = None if read is None else repeated.reading_of(circuit, read)
    if reading is not None:
        known: NamedSweep | None = repeated.known.get(circuit, how, reading)
        again = None if known is None else known.sweep(columns)
        if again is not None:
            return NoisySweeps((again,), ())
    builder = ParameterSweepBuilder(circuit.num_qubits, circuit.num_clbits)
    translator = Translator(builder, emit, columns if columns.columns else None, noise, without_phase=without_phase)
    try:
        translator.whole(_with_delays(circuit, noise), read)
    except NeedsNumbers:
        apart = [translate_noisy(_bound(circuit, columns, k), noise) for k in range(columns.count)]
        sweeps = tuple(ParameterSweep(one.circuit) for one in apart)
        return NoisySweeps(sweeps, apart[0].readout_errors, apart[0].saved) if apart else NoisySweeps((), ())
    sweep = builder.sweep(columns.count)
    if reading is not None and read is not None:
        named = NamedSweep.of(sweep, columns)
        if named is not None:
            repeated.known.put(circuit, how, reading, named, len(read.names))
    return NoisySweeps((sweep,), translator.readout_errors, translator.saved)


def _bound(circuit: QuantumCircuit, columns: ParameterColumns, binding: int) -> QuantumCircuit:
    """Return the circuit with the numbers of one binding."""
    return circuit.assign_parameters({name: float(column[binding]) for name, column in columns.columns.items()})


# --- jobs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class TranslatedJob:
    """The circuits of a job of the backend, translated.

    groups: all bindings of all circuits. owners: of each experiment its circuit, and which binding of it. headers: of
    each circuit.
    """

    groups: Sequence[BindingGroup]
    owners: Sequence[tuple[int, int]]
    headers: Sequence[CircuitHeader]

    def key(self, shots: int) -> str:
        """Return a digest of all that the job computes, but for its seed."""
        return digest(shots, *(group.key() for group in self.groups))

    def circuits(self, group: BindingGroup) -> list[int]:
        """Return the numbers of the circuits that a group's bindings belong to, in increasing order."""
        return sorted({self.owners[place][0] for place in group.places})


def translate_job(
    circuits: Sequence[QuantumCircuit], binds: Sequence[ParameterColumns], noise: Noise | None
) -> TranslatedJob:
    """Translate circuits with their bindings; raises errors of `qsim_ex.errors` that name the instruction."""
    sweeps: list[ParameterSweep] = []
    readout_errors: list[ReadoutErrors] = []  # of each sweep
    owners: list[tuple[int, int]] = []
    headers = []
    for number, (circuit, columns) in enumerate(zip(circuits, binds, strict=True)):
        if columns.columns:
            made, misread, saved = translate_sweep(circuit, columns, noise)
            phases = _phases(circuit, columns)
        else:
            one, misread, saved = translate_noisy(circuit, noise)
            made, phases = (ParameterSweep(one),), float(circuit.global_phase)
        sweeps += made
        readout_errors += [misread] * len(made)
        owners += [(number, binding) for binding in range(columns.count)]
        headers.append(header_of(circuit, phases, saved))
    return TranslatedJob(binding_groups(sweeps, readout_errors), owners, headers)


def _phases(circuit: QuantumCircuit, columns: ParameterColumns) -> float | Values:
    """Return the circuit's own global phase in each binding, from 0 to 2π as Qiskit has it."""
    try:
        found: float | Values = number_or_column(columns, circuit.global_phase)
    except NeedsNumbers:
        found = np.array([float(_bound(circuit, columns, k).global_phase) for k in range(columns.count)])
    return found % (2 * np.pi)
