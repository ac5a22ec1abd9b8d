"""The assignment of a state that is planned and not run, also to devices of another machine."""

from __future__ import annotations

from dataclasses import replace

from qsim_ex.comm import connection
from qsim_ex.deployment.assign import survey
from qsim_ex.deployment.choice import deploy
from qsim_ex.devices import discover
from qsim_ex.devices.hypothetical import HypotheticalDevice, HypotheticalGpu
from qsim_ex.devices.memory import state_bytes
from qsim_ex.errors import OutOfMemory
from qsim_ex.options import Options
from qsim_ex.placement.deployment import BOUNDLESS, Deployment, FreeMemory, StateRequest
from qsim_ex.placement.ranks import over_host as ranks_over_host
from qsim_ex.placement.ranks import ranks


def assign_hypothetical(
    num_wires: int, options: Options, *, elsewhere: bool = False, gpu: HypotheticalGpu | None = None
) -> tuple[HypotheticalDevice, Deployment]:
    """Choose device and placement of a state for a plan that is not run, also if the GPUs are absent or have no room.

    Plans for absent GPUs need a description of them: `devices`, or ``device='gpu'`` and `max_memory` or `device_wires`.
    `max_memory` and `max_host_memory` are the sizes of their memories. elsewhere: the GPUs are those of another
    machine, whatever this one has. gpu: the one that is meant, which is elsewhere too and needs no other description.
    """
    described = options.max_memory is not None or options.device_wires is not None
    demanded = options.devices is not None or (options.device == "gpu" and described)
    device: HypotheticalDevice
    if gpu is not None or (demanded and (elsewhere or discover.gpu_missing())):
        numbers = options.devices or (options.device_id,)
        device, reason = gpu or HypotheticalGpu(numbers[0]), "asked for; it is not on this machine"
        free = FreeMemory(False, tuple((number, BOUNDLESS) for number in numbers), BOUNDLESS)
    else:
        device, reason = discover.choose(num_wires, options)
        free = survey(device, options, discover.free_bytes(discover.HOST, state_bytes(num_wires, options.dtype)))
    if (count := connection.planned(options.processes, num_wires)) > 1:
        request = StateRequest(num_wires, options, free, tuple(options.devices or (options.device_id,)), count)
        found = [*ranks.lay_out(request)]
        if not found or not elsewhere or options.max_host_memory is not None:  # else nobody knows what its hosts have
            found += ranks_over_host.lay_out(request)
        least = min(free.on_device(number, options) for number, _ in free.devices)
        fitting = (one for one in found if one.device_bytes * options.virtual_peers <= least)
        deployment = next(fitting, found[0])
        return device, replace(deployment, reason=f"{reason}; divided over {count} processes")
    try:
        return device, deploy(num_wires, options, free, reason)
    except OutOfMemory:
        enough = max(BOUNDLESS, 2 * state_bytes(num_wires, options.dtype))  # the planner says what is too wide
        boundless = FreeMemory(free.in_host_memory, tuple((number, enough) for number, _ in free.devices), enough)
        lifted = replace(options, max_memory=None, max_host_memory=None)
        return device, deploy(num_wires, lifted, boundless, f"{reason}; it does not fit there")
