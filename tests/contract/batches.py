"""The contract of devices with batches: each method does to every row what its namesake does to one state.

A test module of a device subclasses `BatchContract` and gives it a fixture `device`. Expected answers are the plain
device's; that a row does not depend on the others is asked bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.plain_device import PlainDevice
from support.strategies import disturbed, shapes

from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import ALWAYS, Op, When
from qsim_ex.planning.coefficients.binding import fill, fill_batch
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Plan

PLAIN = PlainDevice()
ROWS = st.sampled_from([1, 2, 3, 7])
asked = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)


def family(name: str, wires: int, seed: int) -> Circuit:
    """A circuit of a benchmark family; the seed draws its numbers alone."""
    return circuit_of(FAMILIES[name].build(wires, seed), wires)


@st.composite
def structures(draw: st.DrawFn, rows: int) -> tuple[Circuit, np.ndarray]:
    """A circuit and operands [rows, total] that fit its structure, matrices that are not unitary among them."""
    if draw(st.booleans()):
        name, wires = draw(st.sampled_from(sorted(FAMILIES))), draw(st.integers(4, 8))
        made = [family(name, wires, seed) for seed in range(rows)]
        return made[0], np.concatenate([circuit.operands for circuit in made])
    circuit = draw(disturbed())
    operands = np.repeat(circuit.operands, rows, axis=0)
    rng = np.random.default_rng(rows)
    for instruction in circuit.instructions:
        if isinstance(instruction, Op) and not instruction.unitary:
            entries = slice(instruction.operand, instruction.operand + len(instruction.pattern))
            operands[:, entries] *= rng.uniform(-1, 1, (rows, 1))
    return circuit, operands


def planned(circuit: Circuit, shape: Any) -> Plan:
    """The plan of a circuit that begins in |0…0> of which only amplitude 0 is written."""
    n = circuit.num_qubits
    return make_plan(circuit.instructions, n, Layout.identity(n), shape, (1 << n) - 1)


def random_rows(rows: int, num_bits: int, dtype: Any, seed: int = 0) -> np.ndarray:
    """Rows of random amplitudes [rows, 2^num_bits], each of norm 1."""
    rng = np.random.default_rng(seed)
    psi = rng.normal(size=(rows, 1 << num_bits, 2)) @ [1, 1j]
    return (psi / np.linalg.norm(psi, axis=1, keepdims=True)).astype(dtype)


def put(device: Any, values: np.ndarray) -> Any:
    """A batch that holds these rows."""
    buffer = device.allocate(values.size, values.dtype)
    device.write(buffer, 0, values.ravel())
    return buffer


def taken(device: Any, buffer: Any, num_bits: int) -> np.ndarray:
    """All rows of a batch."""
    return device.read(buffer, 0, buffer.size).reshape(-1, 1 << num_bits)


def run(device: Any, plan: Plan, operands: np.ndarray, dtype: Any, rows: int) -> np.ndarray:
    """All rows after a plan; before it, memory held NaN."""
    n = plan.num_wires
    buffer = put(device, np.full((rows, 1 << n), np.nan, dtype=dtype))
    device.begin_batch(buffer, n)
    prepared = device.prepare(plan.steps, n, dtype)
    numbers = device.load_batch(prepared, fill_batch(plan.coefficients, operands))
    for step, own in zip(plan.steps, numbers, strict=True):
        device.run_batch(buffer, n, step, own, prepared)
    return taken(device, buffer, n)


def run_plain(plan: Plan, operands: np.ndarray) -> np.ndarray:
    """Return one state after a plan, by definition, in complex128."""
    psi = np.full(1 << plan.num_wires, np.nan, dtype=np.complex128)
    psi[0] = 1
    for step, own in zip(plan.steps, fill(plan.coefficients, operands), strict=True):
        PLAIN.run(psi, plan.num_wires, step, own)
    return psi


def condition(data: st.DataObject, bits: list[int]) -> When:
    """A random condition on some of `bits`."""
    mask = sum(1 << bit for bit in bits if data.draw(st.booleans()))
    return When(mask, mask & data.draw(st.integers(0, (1 << 20) - 1)))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128], ids=["single", "double"])
class BatchContract:
    """The tests; `any_shape`: whether the device runs plans that were made for other machines."""

    any_shape = True

    @asked
    @given(data=st.data(), rows=ROWS)
    def test_plans(self, device: Any, dtype: Any, data: st.DataObject, rows: int) -> None:
        """A row is the state of its own numbers, however many rows there are."""
        circuit, operands = data.draw(structures(rows))
        shape = data.draw(shapes()) if self.any_shape and data.draw(st.booleans()) else device.shape(dtype)
        plan = planned(circuit, shape)
        found = run(device, plan, operands, dtype, rows)
        rounding = 1e-6 + 3e-8 * plan.num_gates if dtype == np.complex64 else 1e-12
        for row in range(rows):
            wanted = run_plain(plan, operands[row])
            assert np.linalg.norm(found[row] - wanted) <= rounding * max(1, np.linalg.norm(wanted))
        alone = data.draw(st.integers(0, rows - 1))
        assert np.array_equal(found[alone], run(device, plan, operands[alone : alone + 1], dtype, 1)[0])
        alike = run(device, plan, operands[alone : alone + 1], dtype, rows)
        assert np.array_equal(alike, np.repeat(found[alone : alone + 1], rows, axis=0))

    @asked
    @given(data=st.data(), rows=st.sampled_from([2, 3, 7]))
    def test_a_row_reaches_no_other(self, device: Any, dtype: Any, data: st.DataObject, rows: int) -> None:
        """NaN among the amplitudes of one row leaves all other rows as they are."""
        circuit, operands = data.draw(structures(rows))
        n = circuit.num_qubits
        plan = make_plan(circuit.instructions, n, Layout.identity(n), device.shape(dtype))
        sick = data.draw(st.integers(0, rows - 1))
        healthy = random_rows(rows, n, dtype)
        spoilt = healthy.copy()
        spoilt[sick] = np.nan
        results = []
        for values in (healthy, spoilt):
            buffer, prepared = put(device, values), device.prepare(plan.steps, n, dtype)
            numbers = device.load_batch(prepared, fill_batch(plan.coefficients, operands))
            for step, own in zip(plan.steps, numbers, strict=True):
                device.run_batch(buffer, n, step, own, prepared)
            results.append(np.delete(taken(device, buffer, n), sick, axis=0))
        assert np.array_equal(*results)

    @asked
    @given(data=st.data(), rows=ROWS, num_bits=st.integers(0, 12))
    def test_marginals(self, device: Any, dtype: Any, data: st.DataObject, rows: int, num_bits: int) -> None:
        """A row's sums are its own, heed the condition, and do not depend on how many rows there are."""
        values = random_rows(rows, num_bits, dtype)
        bits = data.draw(st.lists(st.sampled_from(range(num_bits)), unique=True)) if num_bits else []
        when = condition(data, [bit for bit in range(num_bits) if bit not in bits])
        found = device.marginals(put(device, values), num_bits, bits, when)
        assert (found.dtype, found.shape) == (np.float64, (rows, 1 << len(bits)))
        np.testing.assert_allclose(found, PLAIN.marginals(values.ravel(), num_bits, bits, when), rtol=1e-12)
        alone = device.marginals(put(device, values[-1:]), num_bits, bits, when)
        assert np.array_equal(alone, found[-1:])

    @asked
    @given(data=st.data(), rows=ROWS, num_bits=st.integers(0, 12))
    def test_paulis(self, device: Any, dtype: Any, data: st.DataObject, rows: int, num_bits: int) -> None:
        """A row's expectations are its own, part after part, and do not depend on how many rows there are."""
        values = random_rows(rows, num_bits, dtype)
        masks = st.integers(0, (1 << num_bits) - 1)
        parts = data.draw(st.lists(st.tuples(masks, st.lists(masks, min_size=1, max_size=4)), min_size=1, max_size=3))
        found = device.paulis(put(device, values), num_bits, parts)
        wanted = PLAIN.paulis(values.ravel(), num_bits, parts)
        assert (found.dtype, found.shape) == (np.complex128, wanted.shape)
        np.testing.assert_allclose(found, wanted, atol=1e-13)
        assert np.array_equal(device.paulis(put(device, values[-1:]), num_bits, parts), found[-1:])

    @asked
    @given(data=st.data(), rows=ROWS, num_bits=st.integers(0, 9))
    def test_take_rows(self, device: Any, dtype: Any, data: st.DataObject, rows: int, num_bits: int) -> None:
        """The rows taken are those asked for, in this order, also if some are taken twice."""
        values = random_rows(rows, num_bits, dtype)
        chosen = np.array(data.draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=9)), dtype=np.int64)
        to = device.allocate(len(chosen) << num_bits, dtype)
        device.take_rows(to, put(device, values), num_bits, chosen)
        assert np.array_equal(taken(device, to, num_bits), values[chosen])

    @asked
    @given(data=st.data(), rows=ROWS, num_bits=st.integers(0, 10))
    def test_search_and_gather(self, device: Any, dtype: Any, data: st.DataObject, rows: int, num_bits: int) -> None:
        """With the row as the high part of an index, `search` and `gather` find the row's own values."""
        values = random_rows(rows, num_bits, dtype)
        buffer = put(device, values)
        bits = data.draw(st.permutations(range(num_bits)))[: data.draw(st.integers(0, num_bits))]
        flip = data.draw(st.integers(0, (1 << num_bits) - 1))
        counts = [data.draw(st.integers(0, 4)) for _ in range(rows)]
        runs = np.concatenate(([0], np.cumsum(counts)))
        weights = PLAIN.marginals(values.ravel(), num_bits, (), ALWAYS)[:, 0]
        targets = np.random.default_rng(rows).random(runs[-1]) * np.repeat(weights, counts) * 1.01
        bases = np.arange(rows, dtype=np.int64) << num_bits | flip
        found = device.search(buffer, bits, bases, runs, targets)
        assert np.array_equal(found, PLAIN.search(values.ravel(), bits, bases, runs, targets))
        places = np.random.default_rng(rows).integers(0, values.size, 20)
        assert np.array_equal(device.gather(buffer, places), values.ravel()[places])

    @pytest.mark.parametrize("num_bits", [0, 1, 6])
    def test_begin_batch(self, device: Any, dtype: Any, num_bits: int) -> None:
        """The first amplitude of each row becomes 1, and nothing else is written."""
        buffer = put(device, np.full((3, 1 << num_bits), 7, dtype=dtype))
        device.begin_batch(buffer, num_bits)
        wanted = np.full((3, 1 << num_bits), 7)
        wanted[:, 0] = 1
        assert np.array_equal(taken(device, buffer, num_bits), wanted)
