"""The engine's public face for the package of a framework, such as `qsim_ex_provider` for Qiskit.

Such a package imports `qsim_ex`, `qsim_ex.errors`, `qsim_ex.options` and this package, and no other part of the engine.
It needs five things that users of the engine do not:

- Circuits are built with `qsim_ex.CircuitBuilder`, whose gates are the rows of `GATES` (a `Gate` each, and how
  Cirq writes it in `Powers`, `OnePower`, `OneShift` or `Attributes`); a built circuit consists of
  `Instruction`, such as `Channel`, `Initialize`, `Measure`, `Reset` and `Save`, whose kinds of values are the
  rows of `SAVE_KINDS`, a `SaveKind` each. `unitary_matrices` checks many matrices
  at once, as a `UnitaryMatrix` each. A `QiskitReader` or a `CirqReader`, which is told of `GateClass`es and their
  `GateCase`s, reads a circuit as `ReadGates`, with what is `Measured`. `check` holds the engine's limits and checks, so
  that an error reads the same wherever it is found. Conditions and what is stored are `Expression`s, which consist of
  `Token`s; `FLOAT` is the width of a real number.
- A circuit with parameters is translated once for all their values: `ParameterSweepBuilder` takes arrays,
  `ParameterColumns` makes them of a framework's expressions, and `NeedsNumbers` says that a circuit must be translated
  for each binding. A `DifferentiatedSweep`, made of a circuit that was translated with `Probes`, has `NamedGradient`s.
  `Remembered` keeps translations of circuits that users may change, `uncollected` keeps the garbage
  collector away from one; `stacked` makes the columns of a sweep of other values.
- `surround` puts the channels of a `Noise` around gates, `add_error` one of them; `lindblad_parts` divides the noise of
  a layer; `ReadoutNotes` and `confusion` make
  `ReadoutErrors`.
- Whatever a user hands in at once becomes few runs: `binding_groups` puts bindings of one structure together,
  `observable_groups` those that are asked for similar observables. `JobRuns` gives every run its checkpoint, and
  `job_seeds` and `derived_seeds` their seeds. Where states `may_be_divided` over several processes,
  `submitted_in_turn` submits the jobs.
- Users see what they have: `with_options` puts the options of a class into its help and signature, `shown` makes its
  `repr`, an `Explanation` is a table in a notebook, and `counted` and `followed` show a bar for a job of several runs.
  `tallied` counts equal values, `counts_of` rows of packed bits, and `count_outcomes` writes these in binary;
  `integers` makes numbers of them.

How a package registers itself is written in `qsim_ex.frameworks.frontends`. The names below are loaded when they are
first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qsim_ex import thresholds
    from qsim_ex.circuit import check
    from qsim_ex.circuit.circuit import Remembered
    from qsim_ex.circuit.cirq_gates import Attributes, OnePower, OneShift, Powers
    from qsim_ex.circuit.classical import FLOAT, Expression, Token
    from qsim_ex.circuit.control import Store
    from qsim_ex.circuit.gate import Gate
    from qsim_ex.circuit.gates import GATES
    from qsim_ex.circuit.matrices import UnitaryMatrix, unitary_matrices
    from qsim_ex.circuit.noise.channels import simplified
    from qsim_ex.circuit.noise.lindblad import lindblad_parts
    from qsim_ex.circuit.noise.model import Noise, NoiseModel, add_error, surround
    from qsim_ex.circuit.noise.readout import ReadoutError, ReadoutErrors, ReadoutNotes, confusion
    from qsim_ex.circuit.ops import Channel, Initialize, Instruction, Measure, Reset, Save
    from qsim_ex.circuit.parameters.sweep import ParameterSweep, ParameterSweepBuilder, Values, real_values, stacked
    from qsim_ex.circuit.saves import SAVE_KINDS, SaveKind
    from qsim_ex.comm.turns import submitted_in_turn
    from qsim_ex.devices.discover import gpu_missing
    from qsim_ex.display.bar import counted, followed
    from qsim_ex.display.described import shown, with_options
    from qsim_ex.display.explanation import Explanation
    from qsim_ex.frameworks.amplitudes import amplitudes_by_parts
    from qsim_ex.frameworks.binding_group import BindingGroup, JobRuns, binding_groups, digest, job_checkpoint
    from qsim_ex.frameworks.cirq_reader import CirqReader, GateCase, GateClass
    from qsim_ex.frameworks.collector import uncollected
    from qsim_ex.frameworks.differentiated import DifferentiatedSweep, NamedGradient, Probes
    from qsim_ex.frameworks.observable_group import observable_groups
    from qsim_ex.frameworks.parameter_columns import NeedsNumbers, ParameterColumns
    from qsim_ex.frameworks.qiskit_reader import QiskitReader
    from qsim_ex.frameworks.read_gates import Measured, ReadGates
    from qsim_ex.later import later
    from qsim_ex.observe.seeding import (
        derived_seeds,
        fresh_job_seed,
        job_seeds,
        may_be_divided,
        random_generator,
        remember_drawn,
    )
    from qsim_ex.placement.index_bits import count_outcomes, integers, tallied
    from qsim_ex.placement.outcomes import counts_of
    from qsim_ex.precision import BY_DTYPE

_MODULES = {"check": "qsim_ex.circuit.check", "thresholds": "qsim_ex.thresholds"}

_HOMES = {
    "SaveKind": "qsim_ex.circuit.saves",
    "SAVE_KINDS": "qsim_ex.circuit.saves",
    "BY_DTYPE": "qsim_ex.precision",
    "Attributes": "qsim_ex.circuit.cirq_gates",
    "BindingGroup": "qsim_ex.frameworks.binding_group",
    "CirqReader": "qsim_ex.frameworks.cirq_reader",
    "Channel": "qsim_ex.circuit.ops",
    "GATES": "qsim_ex.circuit.gates",
    "DifferentiatedSweep": "qsim_ex.frameworks.differentiated",
    "Explanation": "qsim_ex.display.explanation",
    "Expression": "qsim_ex.circuit.classical",
    "FLOAT": "qsim_ex.circuit.classical",
    "Gate": "qsim_ex.circuit.gate",
    "GateCase": "qsim_ex.frameworks.cirq_reader",
    "GateClass": "qsim_ex.frameworks.cirq_reader",
    "Initialize": "qsim_ex.circuit.ops",
    "Instruction": "qsim_ex.circuit.ops",
    "JobRuns": "qsim_ex.frameworks.binding_group",
    "Measure": "qsim_ex.circuit.ops",
    "Measured": "qsim_ex.frameworks.read_gates",
    "NamedGradient": "qsim_ex.frameworks.differentiated",
    "NeedsNumbers": "qsim_ex.frameworks.parameter_columns",
    "Noise": "qsim_ex.circuit.noise.model",
    "NoiseModel": "qsim_ex.circuit.noise.model",
    "OnePower": "qsim_ex.circuit.cirq_gates",
    "OneShift": "qsim_ex.circuit.cirq_gates",
    "ParameterColumns": "qsim_ex.frameworks.parameter_columns",
    "ParameterSweep": "qsim_ex.circuit.parameters.sweep",
    "ParameterSweepBuilder": "qsim_ex.circuit.parameters.sweep",
    "Probes": "qsim_ex.frameworks.differentiated",
    "Powers": "qsim_ex.circuit.cirq_gates",
    "QiskitReader": "qsim_ex.frameworks.qiskit_reader",
    "ReadGates": "qsim_ex.frameworks.read_gates",
    "ReadoutError": "qsim_ex.circuit.noise.readout",
    "ReadoutErrors": "qsim_ex.circuit.noise.readout",
    "ReadoutNotes": "qsim_ex.circuit.noise.readout",
    "Remembered": "qsim_ex.circuit.circuit",
    "Reset": "qsim_ex.circuit.ops",
    "Save": "qsim_ex.circuit.ops",
    "Store": "qsim_ex.circuit.control",
    "Token": "qsim_ex.circuit.classical",
    "UnitaryMatrix": "qsim_ex.circuit.matrices",
    "Values": "qsim_ex.circuit.parameters.sweep",
    "amplitudes_by_parts": "qsim_ex.frameworks.amplitudes",
    "binding_groups": "qsim_ex.frameworks.binding_group",
    "confusion": "qsim_ex.circuit.noise.readout",
    "count_outcomes": "qsim_ex.placement.index_bits",
    "counts_of": "qsim_ex.placement.outcomes",
    "counted": "qsim_ex.display.bar",
    "derived_seeds": "qsim_ex.observe.seeding",
    "digest": "qsim_ex.frameworks.binding_group",
    "followed": "qsim_ex.display.bar",
    "fresh_job_seed": "qsim_ex.observe.seeding",
    "remember_drawn": "qsim_ex.observe.seeding",
    "gpu_missing": "qsim_ex.devices.discover",
    "job_checkpoint": "qsim_ex.frameworks.binding_group",
    "may_be_divided": "qsim_ex.observe.seeding",
    "job_seeds": "qsim_ex.observe.seeding",
    "later": "qsim_ex.later",
    "lindblad_parts": "qsim_ex.circuit.noise.lindblad",
    "observable_groups": "qsim_ex.frameworks.observable_group",
    "random_generator": "qsim_ex.observe.seeding",
    "real_values": "qsim_ex.circuit.parameters.sweep",
    "shown": "qsim_ex.display.described",
    "simplified": "qsim_ex.circuit.noise.channels",
    "stacked": "qsim_ex.circuit.parameters.sweep",
    "submitted_in_turn": "qsim_ex.comm.turns",
    "add_error": "qsim_ex.circuit.noise.model",
    "surround": "qsim_ex.circuit.noise.model",
    "tallied": "qsim_ex.placement.index_bits",
    "integers": "qsim_ex.placement.index_bits",
    "uncollected": "qsim_ex.frameworks.collector",
    "unitary_matrices": "qsim_ex.circuit.matrices",
    "with_options": "qsim_ex.display.described",
}

__all__ = [
    "BY_DTYPE",
    "FLOAT",
    "GATES",
    "SAVE_KINDS",
    "Attributes",
    "BindingGroup",
    "Channel",
    "CirqReader",
    "DifferentiatedSweep",
    "Explanation",
    "Expression",
    "Gate",
    "GateCase",
    "GateClass",
    "Initialize",
    "Instruction",
    "JobRuns",
    "Measure",
    "Measured",
    "NamedGradient",
    "NeedsNumbers",
    "Noise",
    "NoiseModel",
    "OnePower",
    "OneShift",
    "ParameterColumns",
    "ParameterSweep",
    "ParameterSweepBuilder",
    "Powers",
    "Probes",
    "QiskitReader",
    "ReadGates",
    "ReadoutError",
    "ReadoutErrors",
    "ReadoutNotes",
    "Remembered",
    "Reset",
    "Save",
    "SaveKind",
    "Store",
    "Token",
    "UnitaryMatrix",
    "Values",
    "add_error",
    "amplitudes_by_parts",
    "binding_groups",
    "check",
    "confusion",
    "count_outcomes",
    "counted",
    "counts_of",
    "derived_seeds",
    "digest",
    "followed",
    "fresh_job_seed",
    "gpu_missing",
    "integers",
    "job_checkpoint",
    "job_seeds",
    "later",
    "lindblad_parts",
    "may_be_divided",
    "observable_groups",
    "random_generator",
    "real_values",
    "remember_drawn",
    "shown",
    "simplified",
    "stacked",
    "submitted_in_turn",
    "surround",
    "tallied",
    "thresholds",
    "uncollected",
    "unitary_matrices",
    "with_options",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"this module has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
