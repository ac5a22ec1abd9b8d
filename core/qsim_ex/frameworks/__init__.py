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
    from qsim_ex import thresholds as thresholds
    from qsim_ex.circuit import check as check
    from qsim_ex.circuit.circuit import Remembered as Remembered
    from qsim_ex.circuit.cirq_gates import Attributes as Attributes
    from qsim_ex.circuit.cirq_gates import OnePower as OnePower
    from qsim_ex.circuit.cirq_gates import OneShift as OneShift
    from qsim_ex.circuit.cirq_gates import Powers as Powers
    from qsim_ex.circuit.classical import FLOAT as FLOAT
    from qsim_ex.circuit.classical import Expression as Expression
    from qsim_ex.circuit.classical import Token as Token
    from qsim_ex.circuit.control import Store as Store
    from qsim_ex.circuit.gate import Gate as Gate
    from qsim_ex.circuit.gates import GATES as GATES
    from qsim_ex.circuit.matrices import UnitaryMatrix as UnitaryMatrix
    from qsim_ex.circuit.matrices import unitary_matrices as unitary_matrices
    from qsim_ex.circuit.noise.channels import simplified as simplified
    from qsim_ex.circuit.noise.lindblad import lindblad_parts as lindblad_parts
    from qsim_ex.circuit.noise.model import Noise as Noise
    from qsim_ex.circuit.noise.model import NoiseModel as NoiseModel
    from qsim_ex.circuit.noise.model import add_error as add_error
    from qsim_ex.circuit.noise.model import surround as surround
    from qsim_ex.circuit.noise.readout import ReadoutError as ReadoutError
    from qsim_ex.circuit.noise.readout import ReadoutErrors as ReadoutErrors
    from qsim_ex.circuit.noise.readout import ReadoutNotes as ReadoutNotes
    from qsim_ex.circuit.noise.readout import confusion as confusion
    from qsim_ex.circuit.ops import Channel as Channel
    from qsim_ex.circuit.ops import Initialize as Initialize
    from qsim_ex.circuit.ops import Instruction as Instruction
    from qsim_ex.circuit.ops import Measure as Measure
    from qsim_ex.circuit.ops import Reset as Reset
    from qsim_ex.circuit.ops import Save as Save
    from qsim_ex.circuit.parameters.sweep import ParameterSweep as ParameterSweep
    from qsim_ex.circuit.parameters.sweep import ParameterSweepBuilder as ParameterSweepBuilder
    from qsim_ex.circuit.parameters.sweep import Values as Values
    from qsim_ex.circuit.parameters.sweep import real_values as real_values
    from qsim_ex.circuit.parameters.sweep import stacked as stacked
    from qsim_ex.circuit.saves import SAVE_KINDS as SAVE_KINDS
    from qsim_ex.circuit.saves import SaveKind as SaveKind
    from qsim_ex.comm.turns import submitted_in_turn as submitted_in_turn
    from qsim_ex.devices.discover import gpu_missing as gpu_missing
    from qsim_ex.display.bar import counted as counted
    from qsim_ex.display.bar import followed as followed
    from qsim_ex.display.described import shown as shown
    from qsim_ex.display.described import with_options as with_options
    from qsim_ex.display.explanation import Explanation as Explanation
    from qsim_ex.frameworks.amplitudes import amplitudes_by_parts as amplitudes_by_parts
    from qsim_ex.frameworks.binding_group import BindingGroup as BindingGroup
    from qsim_ex.frameworks.binding_group import JobRuns as JobRuns
    from qsim_ex.frameworks.binding_group import binding_groups as binding_groups
    from qsim_ex.frameworks.binding_group import digest as digest
    from qsim_ex.frameworks.binding_group import job_checkpoint as job_checkpoint
    from qsim_ex.frameworks.cirq_reader import CirqReader as CirqReader
    from qsim_ex.frameworks.cirq_reader import GateCase as GateCase
    from qsim_ex.frameworks.cirq_reader import GateClass as GateClass
    from qsim_ex.frameworks.collector import uncollected as uncollected
    from qsim_ex.frameworks.differentiated import DifferentiatedSweep as DifferentiatedSweep
    from qsim_ex.frameworks.differentiated import NamedGradient as NamedGradient
    from qsim_ex.frameworks.differentiated import Probes as Probes
    from qsim_ex.frameworks.observable_group import observable_groups as observable_groups
    from qsim_ex.frameworks.parameter_columns import NeedsNumbers as NeedsNumbers
    from qsim_ex.frameworks.parameter_columns import ParameterColumns as ParameterColumns
    from qsim_ex.frameworks.qiskit_reader import QiskitReader as QiskitReader
    from qsim_ex.frameworks.read_gates import Measured as Measured
    from qsim_ex.frameworks.read_gates import ReadGates as ReadGates
    from qsim_ex.later import later as later
    from qsim_ex.observe.seeding import derived_seeds as derived_seeds
    from qsim_ex.observe.seeding import fresh_job_seed as fresh_job_seed
    from qsim_ex.observe.seeding import job_seeds as job_seeds
    from qsim_ex.observe.seeding import may_be_divided as may_be_divided
    from qsim_ex.observe.seeding import random_generator as random_generator
    from qsim_ex.observe.seeding import remember_drawn as remember_drawn
    from qsim_ex.placement.index_bits import count_outcomes as count_outcomes
    from qsim_ex.placement.index_bits import integers as integers
    from qsim_ex.placement.index_bits import tallied as tallied
    from qsim_ex.placement.outcomes import counts_of as counts_of
    from qsim_ex.precision import BY_DTYPE as BY_DTYPE

_MODULES = {"check": "qsim_ex.circuit.check", "thresholds": "qsim_ex.thresholds"}

_NAMES = {
    "qsim_ex.circuit.circuit": "Remembered",
    "qsim_ex.circuit.cirq_gates": "Attributes OnePower OneShift Powers",
    "qsim_ex.circuit.classical": "Expression FLOAT Token",
    "qsim_ex.circuit.control": "Store",
    "qsim_ex.circuit.gate": "Gate",
    "qsim_ex.circuit.gates": "GATES",
    "qsim_ex.circuit.matrices": "UnitaryMatrix unitary_matrices",
    "qsim_ex.circuit.noise.channels": "simplified",
    "qsim_ex.circuit.noise.lindblad": "lindblad_parts",
    "qsim_ex.circuit.noise.model": "Noise NoiseModel add_error surround",
    "qsim_ex.circuit.noise.readout": "ReadoutError ReadoutErrors ReadoutNotes confusion",
    "qsim_ex.circuit.ops": "Channel Initialize Instruction Measure Reset Save",
    "qsim_ex.circuit.parameters.sweep": "ParameterSweep ParameterSweepBuilder Values real_values stacked",
    "qsim_ex.circuit.saves": "SAVE_KINDS SaveKind",
    "qsim_ex.comm.turns": "submitted_in_turn",
    "qsim_ex.devices.discover": "gpu_missing",
    "qsim_ex.display.bar": "counted followed",
    "qsim_ex.display.described": "shown with_options",
    "qsim_ex.display.explanation": "Explanation",
    "qsim_ex.frameworks.amplitudes": "amplitudes_by_parts",
    "qsim_ex.frameworks.binding_group": "BindingGroup JobRuns binding_groups digest job_checkpoint",
    "qsim_ex.frameworks.cirq_reader": "CirqReader GateCase GateClass",
    "qsim_ex.frameworks.collector": "uncollected",
    "qsim_ex.frameworks.differentiated": "DifferentiatedSweep NamedGradient Probes",
    "qsim_ex.frameworks.observable_group": "observable_groups",
    "qsim_ex.frameworks.parameter_columns": "NeedsNumbers ParameterColumns",
    "qsim_ex.frameworks.qiskit_reader": "QiskitReader",
    "qsim_ex.frameworks.read_gates": "Measured ReadGates",
    "qsim_ex.later": "later",
    "qsim_ex.observe.seeding": "derived_seeds fresh_job_seed job_seeds may_be_divided random_generator remember_drawn",
    "qsim_ex.placement.index_bits": "count_outcomes integers tallied",
    "qsim_ex.placement.outcomes": "counts_of",
    "qsim_ex.precision": "BY_DTYPE",
}
"""The public names of each module."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [*_HOMES, *_MODULES]  # noqa: PLE0604  (all of these are strings)


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
