"""The cost of steps by definition: bytes that are touched, and arithmetic beyond that of the items."""

from __future__ import annotations

import pytest

from benchmarks.engine import circuit_of
from qsim_ex import thresholds
from qsim_ex.circuit.ops import ALWAYS, When, pattern
from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.planning.cost.rates import H200
from qsim_ex.planning.cost.step_cost import PAIR, Cost, crowded, step_cost
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import DOUBLE, SINGLE
from qsim_ex.steps import Layout, Mix, RegisterBlock, Sweep, ZeroFill
from qsim_ex.steps.compiled import arrays_of
from qsim_ex.steps.step import Slot
from tools.golden_counts import FAMILIES


def test_zeros_are_written_to_what_is_not_there() -> None:
    """Of two bits that are known to be 0, three quarters of the amplitudes are written, and nothing is read."""
    for precision, size in ((SINGLE, 8), (DOUBLE, 16)):
        assert step_cost(ZeroFill(0b1010), 10, precision) == Cost(bytes=size * 3 / 4 * 1024)


def of(count: int, pair: Mix) -> Sweep:
    """Return a sweep of one item, many times."""
    return Sweep((0, 1, 2, 3), (RegisterBlock((0, 1), (pair,) * count),), 0, 0)


def test_only_many_pairs_crowd_a_kernel() -> None:
    """From some number on each pair slows a kernel by the same share; other matrices, and few pairs, do not."""
    pair = Mix((0, 1), (), ALWAYS, PAIR, Slot(0, 8))
    few, *more = (crowded(of(count, pair)) for count in (20, 60, 61, 62))
    assert few == 0 < more[0]
    assert more[1] - more[0] == more[2] - more[1] > 0
    single = Mix((0,), (), ALWAYS, pattern("rrrr"), Slot(0, 4))
    chosen = Mix((0, 1), (0b100,), ALWAYS, PAIR * 2, Slot(0, 16))
    under_a_condition = Mix((0, 1), (), When(0b100, 0b100), PAIR, Slot(0, 8))
    assert [crowded(of(60, item)) for item in (single, chosen, under_a_condition)] == [0, 0, 0]


def test_unmixed_bits_cost_a_gpu_no_arithmetic() -> None:
    """Kernels compute nothing of zeros that nothing mixes; native code, which chooses plans, counts them likewise."""
    circuit, shape, found = circuit_of(FAMILIES["ghz"](28), 28), shape_of(SINGLE, tensor=True), []
    for least in (9, 28):
        with thresholds.instead(unmixed_tile=least):
            plan = make_plan(circuit.instructions, 28, Layout.identity(28), shape, (1 << 28) - 1, place=True)
            arrays = arrays_of(plan.steps)
            assert arrays
            costs = [step_cost(step, 28, SINGLE, shape) for step in plan.steps]
            times = [cost.seconds(H200.memory, H200.fma, H200.seen) for cost in costs]
            found.append((arrays.passes, sum(times) * H200.memory / 2**32))
    (native, python), (native_more, python_more) = found
    assert 0 < native < native_more
    assert native_more - native == pytest.approx(python_more - python, rel=0.02)
