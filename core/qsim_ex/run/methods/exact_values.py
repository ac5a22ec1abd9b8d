"""Values of few noisy wires that are linear in their density matrix: taken from it where that costs less.

A mean over trajectories has an error that falls with the root of their number, and each trajectory that chooses
otherwise costs a run of its own. A density matrix of n wires costs about what 2^(n − 1) such runs cost, and its values
have no error. Which calls are run so depends on the circuit and the number of trajectories, and not on the machine.
"""

from __future__ import annotations

from functools import partial, reduce
from operator import or_

from qsim_ex import thresholds
from qsim_ex.circuit.ops import Channel, Conditional, Initialize, Measure, Op, Permutation, Reset, Save
from qsim_ex.density.branching import in_blocks
from qsim_ex.devices.memory import state_bytes
from qsim_ex.program.choices import unlikely
from qsim_ex.program.divide import program_of
from qsim_ex.run.exact.circuit import doubled_for
from qsim_ex.run.methods import density_matrix
from qsim_ex.run.methods.method import RunMethod, Suited
from qsim_ex.run.pipeline import BatchCall
from qsim_ex.run.request import TRAJECTORIES

_AMPLITUDES = 2
"""So many amplitudes of a state cost a density matrix about what one more trajectory costs."""

_WIDER = 3
"""How many more wires a density matrix may have whose memory and time many trajectories are worth."""

_TAKEN = frozenset({Op, Permutation, Initialize, Channel, Measure, Reset, Conditional, Save})


def suits(call: BatchCall) -> Suited | None:
    """Return why the values of a call are exact, and what takes them; None where trajectories take less time."""
    options, structure = call.options, call.circuit.structure
    if not all(save.is_linear_mean for save in structure.saves):
        return None
    if options.divides or options.checkpoint is not None:
        return None  # they are about one state vector
    if not structure.kinds <= _TAKEN or in_blocks(call.circuit) is not call.circuit:
        return None
    width = structure.num_qubits
    if not structure.on_every_wire:
        width = reduce(or_, structure.acted, 0).bit_count()
    if not _pays(call, width):
        return None
    bits = 0
    if Measure in structure.kinds:  # one that is read later may have an index bit of its own
        observed, sampled = bool(call.observables), call.shots is not None
        bits = doubled_for(call.circuit, call.bound, observed=observed, sampled=sampled, readout=call.readout).bits
    limit = options.max_memory and options.device_limit
    if (bits and not _pays(call, width + bits)) or (limit and state_bytes(2 * width + bits, options.dtype) > limit):
        return None
    why = f"values of {width} noisy wires are taken from their density matrix, which costs less than trajectories"
    return Suited(why, partial(density_matrix.run, call))


def _pays(call: BatchCall, width: int) -> bool:
    """Return whether a density matrix of so many wires costs less than the trajectories that choose otherwise."""
    trajectories = call.shots or call.trajectories or TRAJECTORIES
    if trajectories == 1 or width > thresholds.now.exact_wires + _WIDER:
        return False
    if width <= thresholds.now.exact_wires:
        return True
    program = program_of(call.circuit.structure, bool(call.observables), 0, call.groups)
    states = 1 + trajectories * unlikely(program, call.bound.operands(0, 1)[0])
    return _AMPLITUDES * states >= 1 << width


METHOD = RunMethod(
    density_matrix.run,
    suits,
    adds="saved values are taken from the exact density matrix, unless a single trajectory is asked for; the plans "
    "above are those of trajectories",
)
