"""The cost of steps by definition: bytes that are touched, and arithmetic beyond that of the items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.engine import circuit_of
from qsim_ex import CircuitBuilder, thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import ALWAYS, When, pattern
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.planning.cost.rates import H200, cpu_rates
from qsim_ex.planning.cost.step_cost import Cost, step_cost, sweep_work
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import DOUBLE, SINGLE, Precision
from qsim_ex.steps import Layout, Mix, RegisterBlock, Sweep, ZeroFill
from qsim_ex.steps.compiled import arrays_of
from qsim_ex.steps.step import Slot
from tools.golden_counts import FAMILIES


def test_zeros_are_written_to_what_is_not_there() -> None:
    """Of two bits that are known to be 0, three quarters of the amplitudes are written, and nothing is read."""
    for precision, size in ((SINGLE, 8), (DOUBLE, 16)):
        assert step_cost(ZeroFill(0b1010), 10, precision, shape_of(precision)) == Cost(bytes=size * 3 / 4 * 1024)


PAIR = pattern("r00i0ri00ir0i00r")
"""Of RXX, RYY and their products."""


GPU = replace(shape_of(SINGLE), exchanged=0.0)
"""A GPU whose exchanges between register blocks take no time."""


def of(count: int, pair: Mix) -> Sweep:
    """Return a sweep of one item, many times."""
    return Sweep((0, 1, 2, 3), (RegisterBlock((0, 1), (pair,) * count),), 0, 0)


def longer(sweep: Sweep) -> float:
    """Return as how many times its arithmetic a sweep counts, without the exchange between its register blocks."""
    arithmetic, counted = sweep_work(sweep, GPU)
    return counted / arithmetic


def test_only_many_pairs_crowd_a_kernel() -> None:
    """From some number on each pair slows a kernel by the same share; other matrices, and few pairs, do not."""
    pair = Mix((0, 1), (), ALWAYS, PAIR, Slot(0, 8))
    few, *more = (longer(of(count, pair)) for count in (20, 60, 61, 62))
    assert few == 1 < more[0]
    assert more[1] - more[0] == pytest.approx(more[2] - more[1])
    assert more[1] > more[0]
    single = Mix((0,), (), ALWAYS, pattern("rrrr"), Slot(0, 4))
    chosen = Mix((0, 1), (0b100,), ALWAYS, PAIR * 2, Slot(0, 16))
    under_a_condition = Mix((0, 1), (), When(0b100, 0b100), PAIR, Slot(0, 8))
    assert [longer(of(60, item)) for item in (single, under_a_condition)] == [1, 1]
    assert longer(of(60, chosen)) == longer(of(20, chosen))


def test_threads_of_a_tile_compute_what_one_of_them_needs() -> None:
    """A condition spares a GPU what registers, or bits outside of a tile, leave out of its arithmetic, and no more."""

    def work(mask: int, reads: tuple[int, ...] = (), entries: str = "rrrr") -> tuple[float, float]:
        return sweep_work(of(1, Mix((0,), reads, When(mask, mask), pattern(entries), Slot(0, 4))), GPU)

    whole, _ = work(0)
    assert work(0b10)[0] == work(1 << 9)[0] == whole / 2
    assert work(0b100) == work(0)
    assert work(0b100 | 1 << 9) == work(1 << 9)
    identity = "1001"
    assert work(0, (0b10,), identity + "rrrr")[0] == whole / 2
    assert work(0, (0b100,), identity + "rrrr")[0] == whole
    assert work(0, (0b100, 0b10), identity + "rrrr" + identity * 2)[0] == whole / 2
    assert work(0, (0b100, 0b10), identity + "rrrr" + identity + "r00r")[0] == (whole + 2) / 2
    looked_up, counted = work(0, (0b100,), identity + "rrrr")
    exchanged, counted_exchange = work(0, (0b100,), identity + "0110")
    assert (exchanged, counted_exchange < counted - looked_up) == (0, True)


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


def drawn(wires: int, seed: int) -> Circuit:
    """Return a circuit that has items of all kinds: blocks, phases, matrices that wires choose, CX, a wide one."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(wires)
    for wire in range(wires):
        builder.gate("h", [wire])
    for _ in range(12 * wires):
        a, b, c = rng.permutation(wires)[:3].tolist()
        name, angle = rng.choice(["u", "cx", "ccx", "rzz", "crx", "rxx", "cswap", "ry", "any"]), rng.uniform(0.1, 3)
        if name == "any":
            builder.unitary(np.linalg.qr(rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)))[0], [a, b])
        elif name == "u":
            builder.gate("u", [a], angle, angle / 2, angle / 3)
        else:
            on = {"ry": [a], "ccx": [a, b, c], "cswap": [a, b, c]}.get(name, [a, b])
            builder.gate(name, on, *([angle] if name in ("rzz", "crx", "rxx", "ry") else []))
    if seed % 2:
        builder.unitary(np.linalg.qr(rng.normal(size=(64, 64)))[0], rng.permutation(wires)[:6].tolist())
    return builder.build()


@pytest.mark.parametrize("precision", [SINGLE, DOUBLE], ids=lambda one: one.name)
@pytest.mark.parametrize("machine", ["cpu", "gpu"])
@pytest.mark.parametrize("fresh", [True, False], ids=["new", "there"])
def test_the_time_that_is_told_is_the_one_by_which_plans_are_chosen(
    machine: str, precision: Precision, fresh: bool
) -> None:
    """What `explain` and results predict for drawn circuits on one device is what native code predicts of plans."""
    wires, on_cpu = 18, machine == "cpu"
    shape = CpuDevice().shape(precision.storage.dtype.name) if on_cpu else shape_of(precision, tensor=True)
    rates = cpu_rates(shape, threads=1) if on_cpu else H200
    one_pass = precision.storage.nbytes(2 << wires) / rates.memory
    for seed in range(6):
        circuit, mask = drawn(wires, seed), ((1 << wires) - 1) * fresh
        plan = make_plan(circuit.instructions, wires, Layout.identity(wires), shape, mask, place=fresh)
        arrays = arrays_of(plan.steps)
        assert arrays
        assert summary(plan, precision, rates).seconds == pytest.approx(one_pass * arrays.passes, rel=0.01)
