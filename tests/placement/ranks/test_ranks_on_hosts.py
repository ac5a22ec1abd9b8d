"""Ranks that a launcher has dealt out over hosts in any order get device numbers by host, and tell bytes by layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.states import random_state
from support.together import together

from qsim_ex.comm import neighbours
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.options.network import layers_of
from qsim_ex.placement.ranks.ranks import Ranks
from qsim_ex.steps import Layout, Levels
from tools.loopback import Loopback

WIRES = 7
CPU = CpuDevice(1)


@pytest.mark.parametrize(("each", "position", "layer"), [(1, 5, 0), (1, 6, 1), (2, 4, 0), (2, 5, 1), (2, 6, 2)])
def test_exchanges_between_hosts(monkeypatch: pytest.MonkeyPatch, each: int, position: int, layer: int) -> None:
    """Four ranks, in turn on two hosts: an exchange with a device bit moves half of the state over that bit's layer."""
    seats = neighbours.seated([(host, host) for host in ("a", "b", "a", "b")], 4)
    assert seats.ranks == (0, 2, 1, 3)
    monkeypatch.setattr(neighbours, "seats_of", lambda _communicator, _used: seats)
    layers = layers_of([(1, "memory"), (1, "host"), (1, "ethernet")][2 - each :])
    local = WIRES - len(layers)
    psi = random_state(WIRES)
    order = list(range(WIRES))
    order[1], order[position] = order[position], order[1]

    def work(end: Loopback) -> Any:
        state = Ranks(end, [CPU] * each, WIRES, np.complex128, Levels(local, len(layers), 1, layers=layers))
        state.write(0, psi)
        state.arrange(Layout(tuple(order)))
        found, told = state.stored(0, 1 << WIRES), state.report()
        state.release()
        return found, told

    index = np.arange(1 << WIRES)
    wanted = psi[sum((index >> order[bit] & 1) << bit for bit in range(WIRES))]
    sent: dict[str, int] = {}
    for found, told in together(4, work):
        assert np.array_equal(found, wanted)
        assert [one["link"] for one in told["layers"]] == [one.link for one in layers]
        assert [number for number, size in enumerate(told["bytes_layers"]) if size] == [layer]
        sent |= told["bytes_sent"]
    assert sum(sent.values()) == 16 << WIRES - 1
    near = {frozenset("02"), frozenset("13")}
    pairs = {frozenset(name.split(".")[0] for name in pair.split(">")) for pair in sent}
    distance = layer if each == 2 else layer + 1
    assert all((len(pair) == 1) == (distance == 0) and (pair in near) == (distance == 1) for pair in pairs)
