"""Plans for devices in layers price each exchange by its farthest bits, and move few bytes over far links."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qsim_ex import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.errors import OptionError
from qsim_ex.options.network import Layer, layers_of
from qsim_ex.planning.cost.rates import H200
from qsim_ex.planning.cost.stage_cost import stage_costs
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.explain import explain
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import DOUBLE, SINGLE
from qsim_ex.steps import Exchange, Layout, Levels, Shape, Stage

TINY = Shape(tile=3, registers=2, low=1, edge=1, most_blocks=None, dense=2, start=2)
LAYERS = (Layer(1, "nvlink", 300e9), Layer(2, "ib", 20e9), Layer(1, "ethernet", 1e9))


def random_pairs(num_wires: int, depth: int) -> Circuit:
    """Gates on random pairs of wires."""
    rng, builder = np.random.default_rng(num_wires + depth), CircuitBuilder(num_wires)
    for _ in range(depth):
        order = rng.permutation(num_wires).tolist()
        for one, other in zip(order[::2], order[1::2], strict=False):
            builder.gate("ry", [one], 0.1).gate("rx", [other], 0.2).gate("cx", [one, other])
    return builder.build()


def bricks(num_wires: int, depth: int) -> Circuit:
    """Gates on neighbours, in turn."""
    builder = CircuitBuilder(num_wires)
    for layer in range(depth):
        for wire in range(num_wires):
            builder.gate("ry", [wire], 0.1)
        for wire in range(layer % 2, num_wires - 1, 2):
            builder.gate("cx", [wire, wire + 1])
    return builder.build()


def planned(circuit: Circuit, levels: Levels, fresh: bool = True) -> Any:
    """The plan for a new state, or for one that holds anything."""
    n = circuit.num_qubits
    return make_plan(circuit.instructions, n, Layout.identity(n), TINY, (1 << n) - 1 if fresh else 0, levels, fresh)


def any_stage() -> Stage:
    """A stage whose steps matter to nobody."""
    return planned(random_pairs(10, 1), Levels(10)).stages[0]  # type: ignore[no-any-return]


@settings(max_examples=60, deadline=None)
@given(
    swaps=st.permutations([6, 7, 8, 9]).flatmap(
        lambda devices: st.integers(1, 4).map(lambda k: tuple(zip((2, 3, 4, 5), devices[:k], strict=False)))
    ),
    fresh=st.integers(0, (1 << 10) - 1),
)
def test_bytes_by_layer(swaps: tuple[tuple[int, int], ...], fresh: int) -> None:
    """Each layer carries the bytes between devices whose highest differing bit lies in it, counted index by index."""
    index = np.arange(1 << 10)
    there = index[index & fresh == 0]  # after the exchange
    before = there.copy()
    for one, other in swaps:
        differ = (before >> one ^ before >> other) & 1
        before ^= differ << one | differ << other
    sent: np.ndarray = np.zeros((16, 16))
    np.add.at(sent, (before >> 6, there >> 6), 8)
    farthest = np.array([[(a ^ b).bit_length() for b in range(16)] for a in range(16)])
    bounds = [(1, 1), (2, 3), (4, 4)]
    each = [np.where((farthest >= low) & (farthest <= high), sent, 0) for low, high in bounds]
    rates = [layer.bytes_per_second for layer in LAYERS]
    slowest = max(
        sum(part.sum(axis=axis) / rate for part, rate in zip(each, rates, strict=True)).max() for axis in (0, 1)
    )
    levels = Levels(6, 4, 0, layers=LAYERS)
    cost = stage_costs((Stage(any_stage().steps, Exchange(swaps), fresh),), 10, levels, SINGLE, shape=TINY)[0]
    assert [one.bytes for one in cost.layers] == [part.sum() for part in each]
    assert sum(one.bytes for one in cost.layers) == cost.peers
    assert cost.moving == pytest.approx(slowest + H200.exchange)
    assert sum(one.seconds for one in cost.layers) == pytest.approx(slowest)


def test_one_layer_costs_what_a_switch_costs() -> None:
    """A single layer with the bandwidth of a switch has the plan, the bytes and the seconds of the switch."""
    circuit = random_pairs(10, 6)
    one = planned(circuit, Levels(6, 4, 1, layers=(Layer(4, "nvlink", H200.peer),)))
    switch = planned(circuit, Levels(6, 4, 1))
    assert one.stages == switch.stages
    assert summary(one, SINGLE).seconds == pytest.approx(summary(switch, SINGLE).seconds)
    assert summary(one, SINGLE).bytes_layers == (summary(switch, SINGLE).bytes_peers,)


def test_plans_for_layers_are_faster_there() -> None:
    """On a machine with far links plans for its layers are as fast as plans for a switch, and some are 10 % faster."""
    few = Levels(24, 6, 16, layers=layers_of([(2, "nvlink"), (2, "ib"), (2, "ethernet")]))
    many = Levels(28, 8, 20, layers=layers_of([(2, "nvlink3"), (6, "hdr")]))
    gains = []
    for circuit, levels in ((random_pairs(30, 8), few), (bricks(30, 40), few), (random_pairs(36, 12), many)):
        unaware = planned(circuit, replace(levels, layers=()))
        costs = stage_costs(unaware.stages, circuit.num_qubits, levels, SINGLE, shape=unaware.shape)
        gains.append(sum(cost.work + cost.moving for cost in costs) / summary(planned(circuit, levels), SINGLE).seconds)
    assert min(gains) >= 1
    assert max(gains) > 1.1


def test_a_wire_that_is_needed_last_goes_farthest() -> None:
    """Wires that no gate mixes again are in the farthest layer, those of the next exchange in the nearest."""
    builder = CircuitBuilder(8)
    for wire in (7, 6, 0, 1, 6, 7):
        builder.gate("rx", [wire], 0.3)
    levels = Levels(5, 3, 1, layers=(Layer(1, "nvlink"), Layer(2, "ib")))
    plan = planned(builder.build(), levels)
    far = {plan.end.wires()[bit] for bit in (6, 7)}
    assert far <= {2, 3, 4, 5}


def test_layers_are_told() -> None:
    """`explain` names each layer with its bytes and its seconds, and their sum is that of all exchanges."""
    plan = planned(random_pairs(30, 6), Levels(26, 4, 18, layers=layers_of([(2, "nvlink"), (2, "ethernet")])), False)
    total, text = summary(plan, DOUBLE), explain(plan, DOUBLE)
    assert "4 device bits (2 over nvlink (396 GB/s), 2 over ethernet (1.1 GB/s))" in text
    assert "  over nvlink: " in text
    assert "  over ethernet: " in text
    assert sum(total.bytes_layers) == total.bytes_peers
    assert (total + total).bytes_layers == tuple(2 * count for count in total.bytes_layers)


def test_layers_that_do_not_fit() -> None:
    """Layers of more or fewer bits than there are device bits are refused."""
    circuit = random_pairs(8, 1)
    with pytest.raises(OptionError, match="layers of 2 bits, one for each device bit, got 1 over nvlink"):
        planned(circuit, Levels(6, 2, 1, layers=(Layer(1, "nvlink"),)))
