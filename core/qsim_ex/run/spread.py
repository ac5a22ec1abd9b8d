"""Batches of small states shared out among processes: each process runs some bindings, or some trajectories of all.

Random numbers belong to the seed of a binding and the number of a shot, so every way of sharing gives the same shots,
and every process gets the result of all of them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.comm import connection
from qsim_ex.comm.protocol import Communicator
from qsim_ex.deployment.seats import local_options
from qsim_ex.execution.together import in_step
from qsim_ex.observe.sampling import STEP
from qsim_ex.options.methods import USUAL
from qsim_ex.result import BatchResult
from qsim_ex.run.over_ranks import agreed_seeds, quiet
from qsim_ex.run.pipeline import BatchCall, run_by_method

_PLAIN = {"device_wires": None, "window_slots": None, "devices": None, "virtual_peers": 1}
"""Options of divided states, with their default values: small states are shared out if none is given."""


def shared_out(call: BatchCall) -> bool:
    """Return whether a call is shared out: it asks for processes, its states are small, and there are enough of them.

    It depends on what is equal on all ranks alone, as far as they are in step.
    """
    options = call.options
    processes = options.processes
    if isinstance(processes, str) or processes < 2 or call.circuit.num_qubits >= connection.LARGE:
        return False
    if options.checkpoint is not None or any(getattr(options, name) != usual for name, usual in _PLAIN.items()):
        return False
    return call.bound.count >= processes or _shares_trajectories(call)


def run_shared(call: BatchCall) -> BatchResult:
    """Run a call that is shared out; all ranks call it, and all get the whole result."""
    used, _ = connection.ranks_of(call.options.processes, call.circuit.num_qubits)
    assert used is not None
    ranks, seeds = agreed_seeds(call)
    with in_step(ranks):
        call = quiet(ranks, call)
        own = local_options(call.options, ranks).with_({"processes": "never"})
        call = replace(call, options=own, seeds=seeds, assigner=type(call.assigner)(own))
        if call.bound.count >= ranks.size:
            found, what = _bindings(ranks, call, seeds), "bindings"
        else:
            found, what = run_by_method(replace(call, ranks=ranks)), "trajectories"
    return _told(ranks, found, what)


def _shares_trajectories(call: BatchCall) -> bool:
    """Return whether there are trajectories to share out, which no save looks at."""
    asked = max(call.shots or 0, call.trajectories or 0)
    structure = call.circuit.structure
    noisy = structure.is_noisy and USUAL[call.options.method].draws
    return noisy and not structure.has_saves and (asked >= 2 * STEP or bool(call.observables))


def _bindings(ranks: Communicator, call: BatchCall, seeds: tuple[int, ...]) -> BatchResult:
    """Return the result of all bindings, of which this rank has run its own."""
    count, bound = call.bound.count, call.bound
    begin, end = (count * rank // ranks.size for rank in (ranks.rank, ranks.rank + 1))
    some = Bindings(end - begin, lambda first, last: bound.operands(begin + first, begin + last))
    mine = run_by_method(replace(call, bound=some, seeds=seeds[begin:end]))
    packed, saved, values, errors = zip(
        *ranks.allgather((mine.packed, dict(mine.saved), mine.values, mine.errors)), strict=True
    )
    return replace(
        mine,
        packed=None if mine.packed is None else np.concatenate(packed),
        saved={label: _joined([one[label] for one in saved]) for label in mine.saved},
        values=np.concatenate(values),
        errors=np.concatenate(errors),
        seeds=tuple(seeds),
    )


def _joined(parts: list[Any]) -> Any:
    """Return the saved values of all bindings: one array, or one list."""
    return list(chain(*parts)) if isinstance(parts[0], list) else np.concatenate(parts)


def _told(ranks: Communicator, found: BatchResult, what: str) -> BatchResult:
    """Return a result that says how it was shared out."""
    before = found.provenance
    facts = {**before.facts, "processes": ranks.size, "processes_used": ranks.size, "rank": ranks.rank}
    facts |= {"shared_out": what, "bindings": len(found.seeds), "communicator": ranks.description}
    reason = f"{before.deployment.reason}; {what} shared out among {ranks.size} processes over {ranks.description}"
    return replace(found, provenance=replace(before, facts=facts, deployment=replace(before.deployment, reason=reason)))
