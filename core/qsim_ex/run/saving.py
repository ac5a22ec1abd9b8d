"""What a run saves: what collects the values of each save, and the memory that all of them take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.saves import SAVE_KINDS
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.memory import require, require_on_host, state_bytes
from qsim_ex.later import later
from qsim_ex.options import Options
from qsim_ex.program.program import Program
from qsim_ex.run.request import Request
from qsim_ex.run.saved_rows import SavedSizes
from qsim_ex.run.saved_values import SavedValues, bytes_of, num_values, saved_values

if TYPE_CHECKING:
    from qsim_ex.deployment import rooms
    from qsim_ex.run import unitary
else:
    rooms = later("qsim_ex.deployment.rooms")
    unitary = later("qsim_ex.run.unitary")


def collected_saves(
    circuit: Circuit, program: Program, request: Request, count: int, where: Assignment, options: Options
) -> dict[str, SavedValues]:
    """Return what collects the values of each save; raises `OutOfMemory` if they do not fit into the host's memory."""
    n, free = circuit.num_qubits, where.host_free
    width = -(-circuit.num_clbits // 8)
    sizes = {
        save: SavedSizes(count, request.trajectories, save.shape(n), save.dtype(options.dtype), width)
        for save in program.saves
    }
    states = sum(num_values(save, of) for save, of in sizes.items() if save.what == "statevector")
    if states and where.ranks is not None:
        rooms.require_on_hosts(where.ranks, "a state vector that is saved", states * state_bytes(n, options.dtype))
    elif states:
        require(n, options.dtype, [("the host", free)], states=states + where.device.in_host_memory)
    others = {save: of for save, of in sizes.items() if save.what != "statevector"}
    if others:
        named = ", ".join(repr(save.label) for save in others)
        require_on_host(f"what is saved as {named}", sum(bytes_of(save, of) for save, of in others.items()), free)
    if any(SAVE_KINDS[save.what].gates_only for save in others):
        unitary.place_unitary(n, options)
    return {
        save.label: saved_values(save, of, free, repeated=save.label in program.repeated) for save, of in sizes.items()
    }
