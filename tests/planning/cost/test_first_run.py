"""The predicted time of a first run: planning, and sweeps that are interpreted."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from qsim_ex import CircuitBuilder, Options, Simulator
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import mask_of
from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.planning.cost.first_run import first_run, interpreted_longer
from qsim_ex.planning.cost.rates import H200, Rates
from qsim_ex.planning.cost.step_cost import REGISTER_BLOCK, interpreted_work, sweep_work
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import DOUBLE, SINGLE
from qsim_ex.steps import Layout, Mix
from qsim_ex.steps.compiled import arrays_of
from qsim_ex.steps.plan_arrays import DIAGONAL, ITEM_KIND, ITEM_READS, MIX, PERMUTE

GPU = Options(device="gpu", max_memory=1 << 40)
"""A GPU that need not be there, on which states of 28 wires are in one piece."""


def ladder(wires: int) -> Circuit:
    """Hadamards, and a chain of CX and rotations."""
    builder = CircuitBuilder(wires)
    for wire in range(wires):
        builder.gate("h", [wire])
    for wire in range(wires - 1):
        builder.gate("cx", [wire, wire + 1]).gate("rx", [wire], 0.3)
    return builder.build()


def told(options: Options, wires: int = 28) -> str:
    """The last line of an explanation."""
    return str(Simulator(options).explain(ladder(wires))).splitlines()[-1]


def test_a_first_run_takes_longer_than_later_ones() -> None:
    """A first run takes the host's time, and sweeps by the interpreter take longer than kernels of their own."""
    (plan,) = Simulator(GPU).plans(ladder(28))
    first = first_run(plan, SINGLE)
    assert first.total == first.host + first.work
    entries = sum(sweep.tables for sweep in plan.sweeps)
    assert first.host == pytest.approx(H200.plan + H200.plan_gate * plan.num_gates + H200.plan_entry * entries)
    assert first.work > summary(plan, SINGLE).seconds
    assert first_run(plan, DOUBLE).work > first.work
    for sweep in plan.sweeps:
        arithmetic, _ = sweep_work(sweep, plan.shape)
        assert interpreted_work(sweep) >= arithmetic + REGISTER_BLOCK * len(sweep.register_blocks)


def test_what_an_interpreter_adds_is_that_of_all_sweeps() -> None:
    """The time by which interpreted sweeps take longer is what the interpreter does in them beside arithmetic."""
    builder = CircuitBuilder(20)
    for wire in range(20):
        builder.gate("h", [wire]).gate("ccx", [wire, (wire + 3) % 20, (wire + 7) % 20]).gate("rx", [wire], 0.3)
        builder.gate("crx", [wire, (wire + 5) % 20], 0.1).gate("cu", [(wire + 2) % 20, wire], 0.1, 0.2, 0.3, 0.4)
        builder.gate("rzz", [wire, (wire + 9) % 20], 0.5).gate("cswap", [wire, (wire + 1) % 20, (wire + 2) % 20])
    (plan,) = Simulator(GPU).plans(builder.build())
    expected = 0.0
    for sweep in plan.sweeps:
        after = 2.0 ** (20 - (sweep.fresh & ~mask_of(sweep.tile)).bit_count())
        expected += (interpreted_work(sweep) - sweep_work(sweep, plan.shape)[0]) * after / H200.interpreted
    arrays = arrays_of(plan.steps)
    assert arrays is not None
    assert {MIX, DIAGONAL, PERMUTE} <= {*arrays.items[:, ITEM_KIND].tolist()}
    assert (arrays.items[:, ITEM_READS] > 0).any()
    assert interpreted_longer(arrays, 20, H200) == pytest.approx(expected)


def test_only_a_first_run_has_the_rates_of_the_interpreter() -> None:
    """A quicker interpreter shortens first runs alone, and quicker arithmetic of kernels later runs alone."""
    (plan,) = Simulator(GPU).plans(ladder(28))

    def times(rates: Rates) -> tuple[float, float]:
        return first_run(plan, DOUBLE, rates).work, summary(plan, DOUBLE, rates).seconds

    first, later = times(H200)
    quick_first, same_later = times(replace(H200, interpreted=2 * H200.interpreted))
    same_first, quick_later = times(replace(H200, fma=2 * H200.fma))
    assert quick_first < first == same_first
    assert quick_later < later == same_later


def test_explain_tells_the_run_that_will_happen() -> None:
    """The first run and later ones are told apart; without the compiler, and with it alone, there are two times."""
    time = r"[\d.e+]+ (?:s|ms|µs)"
    usual = rf"predicted: a first run {time} \(planning {time}, interpreted {time}\), later runs {time}"
    assert re.fullmatch(rf"{usual}, and {time} when their kernels are compiled", told(GPU))
    assert re.fullmatch(usual, told(replace(GPU, compile="never")))
    assert re.fullmatch(
        rf"predicted: planning {time}, the compilation of its kernels, and then {time}",
        told(replace(GPU, compile="always")),
    )


def test_a_state_in_host_memory_has_a_first_run_too() -> None:
    """The prediction of a migrated state has both times, unless its first run waits for the compiler."""
    options = replace(GPU, max_memory=1 << 30)
    (plan,) = Simulator(options).plans(ladder(28))
    assert first_run(plan, SINGLE).host == pytest.approx(H200.levels + H200.levels_gate * plan.num_gates)
    assert "; a first run, interpreted: " in str(Simulator(options).explain(ladder(28)))
    assert "first run" not in str(Simulator(replace(options, compile="always")).explain(ladder(28)))


def test_a_cpu_interprets_nothing() -> None:
    """On a CPU every run is like the first."""
    assert "first run" not in str(Simulator(Options(device="cpu")).explain(ladder(10)))


def test_blocks_on_tensor_cores_are_cheaper_in_a_first_run_too() -> None:
    """A dense matrix on four bits counts as tensor cores multiply it, if the plan is for a GPU that has them."""
    builder, rng = CircuitBuilder(10), np.random.default_rng(1)
    for layer in range(8):
        for wire in range(layer % 2, 9, 2):
            builder.unitary(np.linalg.qr(rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)))[0], [wire, wire + 1])
    shape = replace(shape_of(SINGLE, tensor=True), block_made=0, tile=8)
    plan = make_plan(builder.build().instructions, 10, Layout.identity(10), shape, (1 << 10) - 1)
    dense = [
        s
        for s in plan.sweeps
        if any(isinstance(i, Mix) and len(i.bits) == 4 for b in s.register_blocks for i in b.items)
    ]
    assert dense
    for sweep in dense:
        assert interpreted_work(sweep, shape.block) < interpreted_work(sweep)


def test_virtual_peers_share_a_device() -> None:
    """Sub state vectors that share a GPU share its memory and its link to the host, so their run takes longer."""
    each = H200.shared(4)
    assert (each.memory, each.fma, each.host) == (H200.memory / 4, H200.fma / 4, H200.host / 4)
    assert each.host_all == H200.host_all
    assert H200.shared(1) is H200
    divided = replace(GPU, devices=(0, 1), device_wires=24)
    alone, together = (
        Simulator(options).summary(ladder(28)).seconds
        for options in (divided, replace(divided, devices=None, virtual_peers=2))
    )
    assert 1.5 * alone < together < 2.5 * alone


def test_windows_that_stay_are_not_copied_in_a_first_run_either() -> None:
    """Where it is known what is copied, a first run takes the longer of copies and work, and the host's time before."""
    (plan,) = Simulator(replace(GPU, max_memory=1 << 30)).plans(ladder(28))
    short, long = (first_run(plan, SINGLE, copied=(0, size)) for size in (1 << 20, 1 << 36))
    assert short.host == long.host
    assert long.work == pytest.approx((1 << 36) / H200.host)
    assert short.work < first_run(plan, SINGLE).work < long.work
    assert first_run(plan, SINGLE, copied=(0, 1 << 36), overlaps=False).work > long.work


def test_seconds_are_those_of_the_device_that_works() -> None:
    """A plan for one thread of a CPU takes longer than one for two, and than one for a GPU; results say the same."""
    circuit = ladder(12)
    one, two = Simulator(device="cpu", threads=1), Simulator(device="cpu", threads=2)
    seconds = one.summary(circuit).seconds
    assert seconds > two.summary(circuit).seconds > Simulator(device="gpu", max_memory="8 GiB").summary(circuit).seconds
    assert one.run(circuit).plan.seconds == seconds
