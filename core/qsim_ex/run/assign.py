"""Which devices work on the states of a run."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from time import monotonic

from qsim_ex.circuit import check
from qsim_ex.deployment.assign import Where, place
from qsim_ex.options import Options


class Assigner:
    """Chooses where states go; for small ones what was found within the last second is good enough."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._known: dict[int, tuple[float, Where]] = {}
        given = options.devices or ()
        self._spreads = len(given) > 1 and options.virtual_peers == 1

    def one(self, num_wires: int) -> Where:
        """Where a state of that many wires goes and why; raises `OutOfMemory`, `DeviceError`."""
        now = monotonic()
        when, where = self._known.get(num_wires, (-inf, None))
        if where is None or now - when > 1:
            where = place(check.count(num_wires, "num_wires"), self._options)
            if where.deployment.in_one_piece and 64 * where.needed < where.free:
                self._known[num_wires] = now, where
        return where

    def many(self, num_wires: int, states: int) -> list[Where]:
        """Where several states go: to all devices that each hold whole states, or where one of them would go."""
        if states == 1:
            return [self.one(num_wires)]
        if self._spreads:
            options, each = self._options, []
            if options.device_wires is None or options.device_wires >= num_wires:
                alone = replace(options, devices=None, device="gpu")
                each = [place(num_wires, replace(alone, device_id=k), states) for k in options.devices or ()]
            if each and all(where.deployment.in_one_piece for where in each):
                return each
        return [place(num_wires, self._options, states)]
