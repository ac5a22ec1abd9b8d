"""The table of placements: a placement is a file and a row.

Rows are in the order of preference. The file of each decides for which states it is (`PlacementModule.lay_out`), with
the one sum of its memory, and makes them (`PlacementModule.create`). No other module knows the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from qsim_ex.devices.base import Device
from qsim_ex.later import later
from qsim_ex.placement import single
from qsim_ex.placement.base import Placement
from qsim_ex.placement.deployment import Deployment, Limits, StateRequest
from qsim_ex.precision import AmplitudeDtype
from qsim_ex.steps.plan import Plan

if TYPE_CHECKING:
    from qsim_ex.placement import migrated, peers, peers_over_host
    from qsim_ex.placement.ranks import over_host as ranks_over_host
    from qsim_ex.placement.ranks import ranks
    from qsim_ex.placement.windows import rehearsal
    from qsim_ex.placement.windows.rehearsal import CopiedBytes
else:
    migrated = later("qsim_ex.placement.migrated")
    peers = later("qsim_ex.placement.peers")
    peers_over_host = later("qsim_ex.placement.peers_over_host")
    ranks = later("qsim_ex.placement.ranks.ranks")
    ranks_over_host = later("qsim_ex.placement.ranks.over_host")
    rehearsal = later("qsim_ex.placement.windows.rehearsal")


class PlacementModule(Protocol):
    """The file of a placement, which is loaded when a state asks for it, since few programs have one."""

    def lay_out(self, request: StateRequest, /) -> Iterator[Deployment]:
        """Yield the placements of this kind that a request allows, best first and each with its sum of memory.

        None if the request is not for this kind. They need not fit. Raises `OptionError` for options that contradict
        one another. It is called only with requests that allow it (`StateRequest.allows`).
        """

    def create(
        self, deployment: Deployment, devices: Sequence[Device], dtype: AmplitudeDtype, limits: Limits, /
    ) -> Placement:
        """Return the state |0…0> as it was deployed; raises `OutOfMemory`, and keeps no memory then."""


@dataclass(frozen=True, slots=True)
class PlacementKind:
    """A kind of placement.

    name: the name in results. in_device_memory: whether more devices make more room; there is one host memory, so a
    state there takes as few devices as possible. module: what lays out and creates states of this kind.
    copies: returns the bytes that a run of a plan on a new state copies from and to the host, where they depend on the
    slices on the device; None where they follow from the plan.
    shared: whether several devices share a state of this kind, or one has it; None where `lay_out` decides.
    """

    name: str
    in_device_memory: bool
    module: PlacementModule
    copies: Callable[[Deployment, Plan, AmplitudeDtype], CopiedBytes | None] | None = None
    shared: bool | None = None


def _copied(deployment: Deployment, plan: Plan, dtype: AmplitudeDtype) -> CopiedBytes | None:
    return rehearsal.rehearsed(deployment, plan, dtype)


_ROWS = (
    PlacementKind("single", True, single, shared=False),
    PlacementKind("peers", True, peers, shared=True),
    PlacementKind("migrated", False, migrated, copies=_copied, shared=False),
    PlacementKind("peers over host", False, peers_over_host, shared=True),
    PlacementKind("ranks", True, ranks),
    PlacementKind("ranks over host", False, ranks_over_host),
)
KINDS = {row.name: row for row in _ROWS}
"""The rows by name, in the order of preference; `Deployment.kind` is such a name."""


@contextmanager
def registered(kind: PlacementKind) -> Iterator[None]:
    """Add a row while the context lasts, preferred to all others; its `lay_out` decides for which states it is.

    For placements from outside, such as those of tests. States made by it should be closed before the context ends.
    """
    if kind.name in KINDS:
        raise ValueError(f"expected a new name, got {kind.name!r}, which is in the table already; pass another name.")
    before = dict(KINDS)
    KINDS.clear()
    KINDS.update({kind.name: kind}, **before)
    try:
        yield
    finally:
        del KINDS[kind.name]
