"""The agreement of ranks before a run or a job: equal inputs, and for seeds that nobody gave those of rank 0."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.comm import connection
from qsim_ex.comm.agreed import Asking, Opened, digest
from qsim_ex.comm.protocol import Communicator
from qsim_ex.execution.together import in_step
from qsim_ex.observe.seeding import DrawnSeeds, fresh_seed, remember_drawn, seeds_of, were_drawn
from qsim_ex.options import Options
from qsim_ex.options.methods import USUAL

if TYPE_CHECKING:
    from qsim_ex.run.pipeline import BatchCall

_OWN = ("progress", "watch", "threads", "device_id", "max_memory", "max_host_memory")
"""Options that may differ from rank to rank."""


def quiet(ranks: Communicator, call: BatchCall) -> BatchCall:
    """Return a call that shows a progress bar on rank 0 alone; functions of the user are called on every rank."""
    if ranks.rank == 0 or callable(call.options.progress):
        return call
    return replace(call, options=call.options.with_({"progress": False}))


def agreed_seed(options: Options, num_wires: int, seed: int) -> int:
    """Return the seed of a job that nobody has given: that of rank 0, if states of its circuits are divided.

    num_wires: the most wires of any circuit.
    """
    wires = USUAL[options.method].index_bits * num_wires
    with connection.in_turn(options.processes):
        if connection.ranks_of(options.processes, wires)[0] is None:
            return seed
        ranks = connection.renew()
        with in_step(ranks):
            agreed = int(ranks.broadcast(seed))
    remember_drawn([agreed])
    return agreed


def agreed_seeds(call: BatchCall) -> tuple[Communicator, tuple[int, ...]]:
    """Return a working connection, and the seeds of all bindings; all ranks call it.

    Raise `CommunicationError` for ranks that disagree.
    """
    opened = Opened(partial(asked_of, call, call.circuit, call.bound))
    opened.require_same()
    return opened.ranks, seeds_heard(call, call.bound, opened.also[0])


def with_agreed_seeds(call: BatchCall, index_bits: int) -> BatchCall:
    """Return the call with the seeds of all ranks, if they would share a state of so many index bits."""
    processes = call.options.processes
    if connection.planned(processes, index_bits) == 1 or connection.ranks_of(processes, index_bits)[0] is None:
        return call
    return replace(call, seeds=agreed_seeds(call)[1])


def asked_of(call: BatchCall, circuit: Circuit, bound: Bindings) -> Asking:
    """Return what tells a call from others; with it go seeds that nobody has given, since those of rank 0 count."""
    known, drawn = _seeds(call, bound)
    options = {one.name: getattr(call.options, one.name) for one in fields(call.options) if one.name not in _OWN}
    numbers = np.ascontiguousarray(circuit.operands).tobytes()
    asked = {
        "qubits": circuit.num_qubits,
        "circuit": f"{circuit.key} of {len(circuit.instructions)} instructions",
        "numbers": digest([numbers]),
        "bindings": f"{bound.count} ({digest(bound.told_apart())})",
        "shots": call.shots,
        "trajectories": call.trajectories,
        "observables": tuple(call.observables),
        "readout": tuple((one.clbits, one.measurement, one.matrix.tolist()) for one in call.readout),
        "seeds": None if drawn or known is None else _told(known),
        **options,
    }
    if not drawn or connection.current().rank:
        return Asking(asked)
    return Asking(asked, known or fresh_seed())  # of which all make the others: they would be a long message


def seeds_heard(call: BatchCall, bound: Bindings, heard: tuple[int, ...] | int | None) -> tuple[int, ...]:
    """Return the seeds of all bindings, the same on all ranks.

    heard: those of rank 0 if nobody has given any, or the one that they are made of.
    """
    if heard is not None:
        return DrawnSeeds(seeds_of(heard, bound.count, "bindings") if isinstance(heard, int) else heard)
    known, _ = _seeds(call, bound)
    assert known is not None
    return known


def _seeds(call: BatchCall, bound: Bindings) -> tuple[tuple[int, ...] | None, bool]:
    """Return the seeds of all bindings, None if there are none yet, and whether nobody has given them."""
    given = call.options.seed if call.seeds is None else call.seeds
    known = None if given is None else seeds_of(given, bound.count, "bindings")
    return known, known is None or were_drawn(known)


def _told(seeds: tuple[int, ...]) -> str:
    """Return seeds in words: one as it is, many as a digest, since a thousand in digits take longer than to compare."""
    if len(seeds) == 1:
        return str(seeds[0])
    return f"{len(seeds)} of them (digest {digest([np.array(seeds, dtype=np.uint64).tobytes()])})"
