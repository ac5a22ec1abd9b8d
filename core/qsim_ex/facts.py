"""What a placement tells of itself: ticks of a plan, bytes over each link, kinds of memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from qsim_ex.devices.choice import Deployment, single
from qsim_ex.placement.base import Placement
from qsim_ex.placement.migrated import Migrated
from qsim_ex.placement.peers import Peers
from qsim_ex.placement.peers_over_host import PeersOverHost
from qsim_ex.placement.single import Single
from qsim_ex.planning.cut import cut
from qsim_ex.steps.plan import Migration, Plan


def ticks(placement: Placement, plan: Plan) -> int:
    """How many steps a run of a plan counts: each step of a pass once for every window that is not zero."""
    if isinstance(placement, Single):  # first, since a small state notices what the other questions cost
        return len(plan.steps)
    if isinstance(placement, Migrated):
        return placement.ticks(plan)
    if isinstance(placement, PeersOverHost):
        window = plan.levels.local + plan.levels.peers
        windows, total = 1 << (plan.num_wires - window - (plan.fresh >> window).bit_count()), 0
        for stage in plan.stages:
            if isinstance(stage.motion, Migration):
                windows = 1 << (plan.num_wires - window - (stage.fresh >> window).bit_count())
            total += windows * len(stage.steps)
        return total
    return len(plan.steps)


def slice_bits(placement: Placement) -> int:
    """Index bits of what is copied in one piece."""
    if isinstance(placement, Migrated | PeersOverHost):
        return placement.slice_bits
    return placement.levels.slice


def stage_ends(placement: Placement, plans: Sequence[Plan]) -> list[int]:
    """How many steps are done at the end of each stage; the stages of a pass over host memory end together."""
    ends, done = [], 0
    for plan in plans:
        if isinstance(placement, Migrated | PeersOverHost):
            for part in cut(plan):
                done += ticks(placement, part)
                ends += [done] * len(part.stages)
        else:
            for stage in plan.stages:
                done += len(stage.steps)
                ends.append(done)
    return ends


def bytes_moved(placement: Placement) -> int:
    """Bytes that were copied between devices, and between devices and the host, so far."""
    moved = 0
    if isinstance(placement, Peers | PeersOverHost):
        moved += sum(placement.sent.values())
    if isinstance(placement, PeersOverHost):
        moved += sum(placement.bytes_in) + sum(placement.bytes_out)
    if isinstance(placement, Migrated):
        moved += placement.bytes_in + placement.bytes_out
    return moved


def facts_of(placement: Placement) -> Mapping[str, Any]:
    """What a result says of a divided state, as what JSON can hold; nothing of one in one piece."""
    if isinstance(placement, Single):
        return {}
    found: dict[str, Any] = {}
    if isinstance(placement, Peers | PeersOverHost):
        pairs = sorted(placement.links)
        names = [f"{a}>{b}" for a, b in pairs]
        found["links"] = dict(zip(names, (placement.links[pair] for pair in pairs), strict=True))
        found["bytes_sent"] = dict(zip(names, (placement.sent.get(pair, 0) for pair in pairs), strict=True))
        found["bytes_held"] = list(placement.memory)
        found["bytes_held_on_host"] = placement.host_memory
    if isinstance(placement, Migrated):
        found["bytes_held"] = [placement.device_bytes]
        found["bytes_held_on_host"] = placement.host_bytes
        found["bytes_within"] = placement.bytes_within
        found["bytes_from_host"], found["bytes_to_host"] = [placement.bytes_in], [placement.bytes_out]
    if isinstance(placement, PeersOverHost):
        found["bytes_from_host"], found["bytes_to_host"] = list(placement.bytes_in), list(placement.bytes_out)
    if isinstance(placement, Migrated | PeersOverHost):
        found["host_memory_kind"] = placement.memory_kind
    return found


def deployment_of(placement: Placement, before: Deployment) -> Deployment:
    """The deployment of a state that has got another number of wires."""
    levels, wires = placement.levels, placement.num_wires
    if before.kind == "single":
        return single(wires, placement.dtype.itemsize, before.devices[0], before.reason)
    if isinstance(placement, Migrated):
        sizes = placement.device_bytes, placement.host_bytes
        return replace(before, num_wires=wires, levels=levels, device_bytes=sizes[0], host_bytes=sizes[1])
    change = placement.dtype.itemsize * ((1 << levels.local) - (1 << before.levels.local))
    return replace(before, num_wires=wires, levels=levels, device_bytes=before.device_bytes + change)
