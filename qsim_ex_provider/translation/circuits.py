"""Pure functions: a circuit of Qiskit becomes a circuit of qsim-ex, or many that share a structure.

`translator` sends standard gates straight to the gate table. Everything else is looked at as an object: `library` says
what is done with a class of Qiskit's circuit library, and what is not listed there is replaced by its definition, again
and again. Controls of any depth are handed down to the gates inside: a controlled circuit is one of controlled gates.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from qiskit.circuit import ControlFlowOp, QuantumCircuit
from qiskit.circuit.library import IGate

from qsim_ex import Circuit, CircuitBuilder
from qsim_ex.errors import ParameterError, some_of
from qsim_ex.frameworks import (
    BindingGroup,
    NeedsNumbers,
    ParameterSweep,
    ParameterSweepBuilder,
    Remembered,
    binding_groups,
    digest,
    later,
    thresholds,
)
from qsim_ex_provider.results import CircuitHeader, header_of
from qsim_ex_provider.saves.instructions import SaveInstruction
from qsim_ex_provider.saves.kinds import SavedForm
from qsim_ex_provider.translation.held import COMPARED, PLAIN, Contents, Held, Reading
from qsim_ex_provider.translation.native_columns import NativeColumns, is_again, native_columns
from qsim_ex_provider.translation.place import Place, Wires
from qsim_ex_provider.translation.translator import Translator, number_or_column
from qsim_ex_provider.translation.walk import Columns, columns_of

if TYPE_CHECKING:
    from qsim_ex.frameworks import Noise, ParameterColumns, ReadoutErrors, Values
    from qsim_ex_provider.translation import library, named_sweep
else:
    named_sweep = later("qsim_ex_provider.translation.named_sweep")
    library = later("qsim_ex_provider.translation.library")


def translate(circuit: QuantumCircuit) -> Circuit:
    """Return the same circuit in the engine's words: wire w is ``circuit.qubits[w]``, as are classical bits.

    Raises errors of `qsim_ex.errors` that name the instruction and its place.
    """
    return translate_noisy(circuit, None).circuit


class NoisyCircuit(NamedTuple):
    """A circuit with the channels of a noisy machine, how its classical bits are misread, and what it saves."""

    circuit: Circuit
    readout_errors: ReadoutErrors
    saved: Mapping[str, SavedForm] = {}


def translate_noisy(circuit: QuantumCircuit, noise: Noise | None) -> NoisyCircuit:
    """Return a circuit in the engine's words as a noisy machine would run it; see `options.noise_of`.

    Noise is found by the labels or names of the circuit's instructions, as in Aer: transpile to the noise model's basis
    gates first if gates are to be broken up. Raises as `translate` does, and `NoiseError` for an error that is none.
    """
    if circuit.num_parameters:
        names = some_of(parameter.name for parameter in circuit.parameters)
        raise ParameterError(
            f"circuit {circuit.name!r} has unbound parameters: {names}. Use assign_parameters, or give parameter_binds."
        )
    if noise is not None:
        return _with_noise(circuit, noise)
    known: NoisyCircuit | None = known_translations.get_if(circuit, "circuit", partial(is_again, circuit))
    if known is not None:
        return known
    columns = _read(circuit)
    return _known_or_translated(circuit, None, columns, "circuit", reading_of(circuit, columns))


def _read(circuit: QuantumCircuit) -> Columns | NativeColumns:
    native = native_columns(circuit) if len(circuit.data) >= thresholds.now.native_instructions else None
    return native or columns_of(circuit)


def _with_noise(circuit: QuantumCircuit, noise: Noise) -> NoisyCircuit:
    """Return a circuit as a noisy machine would run it; that of a model of Aer's is remembered."""
    delayed, contents = _with_delays(circuit, noise), getattr(noise, "contents", None)
    columns = columns_of(delayed)
    reading = None if delayed is not circuit or contents is None else reading_of(circuit, columns, _NOTHING)
    named = None if reading is None else (reading, columns.names, columns.labels)  # noise is found by them
    return _known_or_translated(delayed, noise, columns, ("noisy", contents), named)


def _known_or_translated(
    circuit: QuantumCircuit,
    noise: Noise | None,
    columns: Columns | NativeColumns,
    how: Hashable,
    made_from: tuple[object, ...] | None,
) -> NoisyCircuit:
    """Translate a circuit, or return what was made of it before; made_from: what that depends on, None if unknown."""
    if made_from is None:
        return _translated(circuit, noise, columns)
    found: NoisyCircuit | None = known_translations.get(circuit, how, made_from)
    if found is None:
        found = _translated(circuit, noise, columns)
        known_translations.put(circuit, how, made_from, found, columns.count)
    return found


def _translated(circuit: QuantumCircuit, noise: Noise | None, columns: Columns | NativeColumns) -> NoisyCircuit:
    builder = CircuitBuilder(circuit.num_qubits, circuit.num_clbits)
    translator = Translator(builder, _emit, noise=noise)
    translator.whole(circuit, columns)
    misread = translator.readout_errors
    return NoisyCircuit(builder.build(), misread, translator.saved)


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
    reading = None if read is None else reading_of(circuit, read)
    if reading is not None:
        known: named_sweep.NamedSweep | None = known_translations.get(circuit, how, reading)
        again = None if known is None else known.with_values(columns)
        if again is not None:
            return NoisySweeps((again,), ())
    builder = ParameterSweepBuilder(circuit.num_qubits, circuit.num_clbits)
    translator = Translator(builder, _emit, columns if columns.columns else None, noise, without_phase=without_phase)
    try:
        translator.whole(_with_delays(circuit, noise), read)
    except NeedsNumbers:
        apart = [translate_noisy(_bound(circuit, columns, k), noise) for k in range(columns.count)]
        sweeps = tuple(ParameterSweep(one.circuit) for one in apart)
        return NoisySweeps(sweeps, apart[0].readout_errors, apart[0].saved) if apart else NoisySweeps((), ())
    sweep = builder.sweep(columns.count)
    if reading is not None and read is not None:
        named = named_sweep.NamedSweep.of(sweep, builder.arrays, columns, translator.formulas)
        if named is not None:
            known_translations.put(circuit, how, reading, named, read.count)
            sweep = named.with_values(columns) or sweep  # the same numbers as those of later calls, to the last bit
    return NoisySweeps((sweep,), translator.readout_errors, translator.saved)


def _bound(circuit: QuantumCircuit, columns: ParameterColumns, binding: int) -> QuantumCircuit:
    """Return the circuit with the numbers of one binding."""
    return circuit.assign_parameters({name: float(column[binding]) for name, column in columns.columns.items()})


# --- jobs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class TranslatedJob:
    """The circuits of a job of the backend, translated.

    groups: all bindings of all circuits. circuits: of each group the numbers and names of the circuits that its
    bindings belong to, in increasing order. owners: of each experiment its circuit, and which binding of it. headers:
    of each circuit.
    """

    groups: Sequence[BindingGroup]
    circuits: Sequence[tuple[tuple[int, str], ...]]
    owners: Sequence[tuple[int, int]]
    headers: Sequence[CircuitHeader]

    def key(self, shots: int) -> str:
        """Return a digest of all that the job computes, but for its seed."""
        return digest(shots, *(group.key() for group in self.groups))


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
    groups = binding_groups(sweeps, readout_errors)
    named: list[dict[tuple[int, str], None]] = []  # of each group, in order
    for group in groups:
        named.append({})
        for place in group.places:
            number = owners[place][0]
            named[-1][number, circuits[number].name] = None
    return TranslatedJob(groups, list(map(tuple, named)), owners, headers)


def _phases(circuit: QuantumCircuit, columns: ParameterColumns) -> float | Values:
    """Return the circuit's own global phase in each binding, from 0 to 2π as Qiskit has it."""
    try:
        found: float | Values = number_or_column(columns, circuit.global_phase)
    except NeedsNumbers:
        found = np.array([float(_bound(circuit, columns, k).global_phase) for k in range(columns.count)])
    return found % (2 * np.pi)


# --- circuits that are translated again -------------------------------------------------------------------------------

# A `QuantumCircuit` may be changed at any time, so all that a translation depends on is read each time, in columns, and
# compared: that is a part of the work of translating it. What gates hold, such as definitions, takes longer, and is
# read from the second time on that a circuit comes. Circuits with instructions whose contents cannot be compared, such
# as control flow and gates of a user's own classes, are always translated, and so are noisy ones unless the noise model
# is of Aer, which is compared as well.

_ALWAYS = ControlFlowOp, SaveInstruction
"""Instructions whose circuits are always translated."""

known_translations = Remembered()
"""The translations of circuits."""


def reading_of(circuit: QuantumCircuit, columns: Columns | NativeColumns, held: Held | None = None) -> Reading | None:
    """Return all that a circuit's translation depends on; None if something in it cannot be compared.

    held: reads what instructions hold; None for a circuit that is in no other one.
    """
    if not COMPARED.issuperset(map(type, chain([circuit.global_phase], chain.from_iterable(columns.parameters)))):
        return None
    others: list[tuple[int, type, Wires, Wires, Contents]] = []
    at = {bit: k for k, bit in enumerate(circuit.clbits if columns.others else ())}.__getitem__
    instructions, operations, wires = columns.instructions, columns.operations, columns.wires
    for place in columns.others:
        instruction = instructions[place]
        if columns.names[place] == "id" and instruction.is_standard_gate():  # of which noisy circuits have hundreds
            others.append((place, IGate, wires[place], (), ()))
            continue
        operation = operations[place] = instruction.operation
        kind, contents, on = PLAIN.get(type(operation)), cast("Contents | None", ()), instruction.clbits
        if kind is None and not isinstance(operation, _ALWAYS):
            held = held or _held(circuit)
            kind, contents = type(operation), held.by(operation)
        if kind is None or contents is None:
            return None
        others.append((place, kind, wires[place], (at(on[0]),) if len(on) == 1 else tuple(map(at, on)), contents))
    return Reading(circuit.num_qubits, circuit.num_clbits, circuit.global_phase, columns.contents, others)


def _held(circuit: QuantumCircuit) -> Held:
    """Return what reads what the instructions of a circuit hold: everything if the circuit has come before."""
    comes_again = known_translations.get(circuit, "came", ()) is not None
    if not comes_again:
        known_translations.put(circuit, "came", (), True, 0)
    return Held(_inside if comes_again else None)


def _inside(circuit: QuantumCircuit, held: Held) -> Reading | None:
    return reading_of(circuit, _read(circuit), held)


_NOTHING: Held = Held(None)
"""Reads no definitions, in which noise would be found by names and labels."""


def _emit(operation: object, place: Place, to: Translator) -> object:
    """Append an operation that is no standard gate, with a table of them that most circuits do not need."""
    return library.emit(operation, place, to)
