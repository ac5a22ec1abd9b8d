"""The contract of placements: the answers that `Single` and all divided states give.

`test_placements.py` has the cases. Expected answers are definitions in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.states import random_state, values_of
from support.strategies import circuits, layouts

from qsim_ex import reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliString, PauliSum
from qsim_ex.circuit.ops import ALWAYS, Op, When
from qsim_ex.devices.base import Device, LoadsNumbers
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.errors import NotSupported, StateError
from qsim_ex.observe import drawn_wires, expectation, sampling
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.executor import check_norm
from qsim_ex.placement.single import Single
from qsim_ex.placement.wires import cloned, extended, shrunk
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Shape


@dataclass(frozen=True)
class PlacementCase:
    """A way to make a placement.

    make: a placement of so many wires and this dtype in |0…0>, all bits fresh. wires: fewest and most that tests use.
    copies: whether it can be cloned and get or lose wires. gpus: how many it needs.
    stir: brings a state into a form that only this placement has; the state stays the same.
    """

    name: str
    make: Callable[[int, np.dtype[Any]], Any]
    wires: tuple[int, int]
    copies: bool = True
    gpus: int = 0
    stir: Callable[[Any, st.DataObject], None] = lambda _placement, _data: None

    def __str__(self) -> str:
        return self.name


def single(num_wires: int, dtype: np.dtype[Any], device: Device) -> Single:
    """|0…0> in one buffer of a device."""
    buffer = device.allocate(1 << num_wires, dtype)
    device.begin(buffer)
    return Single(device, buffer, Layout.identity(num_wires), (1 << num_wires) - 1)


@dataclass
class Case:
    """A placement, and what it holds: psi by basis value, complex128, exactly as stored."""

    placement: Any
    psi: np.ndarray

    @property
    def n(self) -> int:
        """Wires."""
        return self.placement.num_wires

    def close(self, found: Any, wanted: Any, tolerance: float = 1e-12) -> None:
        """Assert that an answer is the expected one; sums over amplitudes as stored are exact to float64."""
        assert np.allclose(found, wanted, rtol=0, atol=tolerance), (found, wanted)

    def unchanged(self) -> None:
        """Assert that the placement still holds psi."""
        self.close(self.placement.read(0, 1 << self.n, range(self.n)), self.psi)


def put(placement: Any, amplitudes: np.ndarray, layout: Layout) -> np.ndarray:
    """Write amplitudes at the lowest indices of a new placement, name its wires, and return the state by value.

    Index bits above those of the amplitudes stay fresh.
    """
    placement.write(0, amplitudes.astype(placement.dtype))
    placement.layout = layout
    stored = np.zeros(1 << placement.num_wires, dtype=np.complex128)
    stored[: len(amplitudes)] = amplitudes.astype(placement.dtype)
    return stored[[layout.index(value) for value in range(len(stored))]]


def draw_case(
    data: st.DataObject, deployment: PlacementCase, dtype: np.dtype[Any], num_wires: int | None = None
) -> Case:
    """A random state in a random layout, in which some bits are fresh and some amplitudes zero."""
    fewest, most = deployment.wires
    n = data.draw(st.integers(fewest, most), label="wires") if num_wires is None else num_wires
    mixed = data.draw(st.integers(0, n), label="mixed") if data.draw(st.booleans(), label="partly fresh") else n
    seed = data.draw(st.integers(0, 99), label="seed")
    amplitudes = random_state(mixed, seed)
    if seed % 3 == 0:
        amplitudes[np.random.default_rng(seed).random(len(amplitudes)) < 0.5] = 0
        amplitudes[-1] = 0.6
    layout = data.draw(layouts(n), label="layout")
    placement = deployment.make(n, dtype)
    assert (placement.num_wires, placement.dtype) == (n, dtype)
    psi = put(placement, amplitudes, layout)
    deployment.stir(placement, data)
    return Case(placement, psi)


def draw_wires(data: st.DataObject, n: int, most: int | None = None) -> tuple[list[int], list[int]]:
    """Some wires in any order, and the others."""
    mixed = data.draw(st.permutations(range(n)), label="wires in order")
    k = data.draw(st.integers(0, n if most is None else min(n, most)), label="how many")
    return mixed[:k], mixed[k:]


def draw_when(data: st.DataObject, wires: list[int]) -> When:
    """A condition on some of these wires."""
    mask = sum(1 << wire for wire in wires if data.draw(st.booleans()))
    return When(mask, data.draw(st.integers(0, (1 << max(wires, default=0) + 1) - 1)) & mask)


EXAMPLES = 3
"""Cases that each deployment is asked, each in one of both precisions; there are many deployments."""

DTYPES = st.sampled_from([np.dtype(np.complex64), np.dtype(np.complex128)])

asked = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


class Contract:
    """Tests of every answer of a placement, in any layout, with any bits fresh; fixture: `deployment`."""

    @asked
    @given(data=st.data())
    def test_amplitudes(self, deployment: PlacementCase, data: st.DataObject) -> None:
        """Amplitudes read by value or by range are those of the state, in any order of wires."""
        dtype = data.draw(DTYPES, label="dtype")
        case = draw_case(data, deployment, dtype)
        n, order = case.n, data.draw(st.permutations(range(case.n)))
        by_order = np.empty_like(case.psi)
        by_order[values_of(order, n)] = case.psi
        values = np.array(data.draw(st.lists(st.integers(0, (1 << n) - 1), max_size=6)), dtype=np.int64)
        found = case.placement.gather(values, order)
        assert found.dtype == dtype
        assert np.array_equal(found, by_order[values])
        start, stop = sorted(data.draw(st.tuples(*[st.integers(0, 1 << n)] * 2)))
        assert np.array_equal(case.placement.read(start, stop, order), by_order[start:stop])
        case.unchanged()

    @asked
    @given(data=st.data())
    def test_amplitudes_as_they_lie(self, deployment: PlacementCase, data: st.DataObject) -> None:
        """Amplitudes in the order of memory are where the layout says, and the pieces hold each of them once."""
        dtype = data.draw(DTYPES, label="dtype")
        case = draw_case(data, deployment, dtype)
        size, layout = 1 << case.n, case.placement.layout
        stored = np.zeros(size, dtype=complex)
        stored[[layout.index(value) for value in range(size)]] = case.psi
        start, stop = sorted(data.draw(st.tuples(*[st.integers(0, size)] * 2)))
        assert np.array_equal(case.placement.stored(start, stop), stored[start:stop])
        pieces = np.zeros(size, dtype=complex)
        for first, amplitudes in case.placement.pieces(data.draw(st.sampled_from([1, 4, 1 << 20]))):
            assert not pieces[first : first + len(amplitudes)].any()
            pieces[first : first + len(amplitudes)] = amplitudes
        assert np.array_equal(pieces, stored)

    @asked
    @given(data=st.data())
    def test_probabilities(self, deployment: PlacementCase, data: st.DataObject) -> None:
        """A marginal is the sum over its wires in their order, under its condition, also where wires are far."""
        dtype = data.draw(DTYPES, label="dtype")
        case = draw_case(data, deployment, dtype)
        wires, others = draw_wires(data, case.n)
        when = draw_when(data, others)
        squares = np.abs(case.psi) ** 2
        case.close(case.placement.norm_squared(), squares.sum())
        holds = np.arange(len(squares)) & when.mask == when.value
        wanted = np.bincount(values_of(wires, case.n), squares * holds, minlength=1 << len(wires))
        found = case.placement.marginal(wires, when)
        assert found.dtype == np.float64
        case.close(found, wanted)
        case.unchanged()

    @asked
    @given(data=st.data())
    def test_shots(self, deployment: PlacementCase, data: st.DataObject) -> None:
        """A shot is the value on which its number falls in the running sum over values."""
        dtype = data.draw(DTYPES, label="dtype")
        case = draw_case(data, deployment, dtype)
        numbers = sampling.uniforms(data.draw(st.integers(0, 99)), 0, data.draw(st.integers(1, 40)))
        ends = np.cumsum(np.abs(case.psi) ** 2)
        norms: list[float] = []
        found = sampling.draw(case.placement, numbers, norms.append)
        case.close(norms, [ends[-1]])
        assert found.tolist() == [np.count_nonzero(ends <= u * ends[-1]) for u in numbers]
        assert drawn_wires.draw_wires(case.placement, range(case.n), numbers[0]) == found[0]
        case.unchanged()

    @asked
    @given(data=st.data())
    def test_search(self, deployment: PlacementCase, data: st.DataObject) -> None:
        """For each prefix a target falls on the value of the searched wires at which the running sum passes it."""
        dtype = data.draw(DTYPES, label="dtype")
        case = draw_case(data, deployment, dtype)
        wires, others = draw_wires(data, case.n, case.placement.levels.local)
        squares = np.abs(case.psi) ** 2
        weights = np.bincount(values_of(others, case.n), squares, minlength=1 << len(others))
        chosen = np.flatnonzero(weights)
        prefixes = np.array([sum((v >> k & 1) << w for k, w in enumerate(others)) for v in chosen.tolist()])
        counts = np.arange(len(chosen)) % 3 + 1
        runs = np.concatenate(([0], np.cumsum(counts)))
        fractions = np.random.default_rng(len(chosen)).random(runs[-1])
        targets = fractions * np.repeat(weights[chosen], counts)
        found = case.placement.search(wires, prefixes, runs, targets)
        behind = values_of(others, case.n)
        for k, prefix in enumerate(chosen):
            rows = np.flatnonzero(behind == prefix)
            sums = np.cumsum(squares[rows[np.argsort(values_of(wires, case.n)[rows])]])
            for target in range(runs[k], runs[k + 1]):
                assert found[target] == np.count_nonzero(sums <= targets[target])
        case.unchanged()

    @asked
    @given(data=st.data())
    def test_pauli_strings(self, deployment: PlacementCase, data: st.DataObject) -> None:
        """Strings have the values of their definition, with X on far wires and where several share visits."""
        dtype = data.draw(DTYPES, label="dtype")
        case = draw_case(data, deployment, dtype)
        size = 1 << case.n
        pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
        strings = [*data.draw(st.lists(pairs, max_size=6)), (size - 1, data.draw(st.integers(0, size - 1)))]
        index = np.arange(size)
        wanted = []
        for x, z in strings:
            signs = (-1.0) ** np.bitwise_count(index & z)
            wanted.append(1j ** (x & z).bit_count() * np.sum(case.psi[index ^ x].conj() * signs * case.psi))
        sums = [PauliSum((PauliString(x, z),)) for x, z in strings]
        case.close(expectation.pauli_sums(case.placement, sums), np.array(wanted).real)
        case.unchanged()

    @asked
    @given(data=st.data())
    def test_density(self, deployment: PlacementCase, data: st.DataObject) -> None:
        """A reduced density matrix is the partial trace over all other wires, far ones among them."""
        dtype = data.draw(DTYPES, label="dtype")
        case = draw_case(data, deployment, dtype)
        wires, others = draw_wires(data, case.n, min(4, case.placement.levels.local))
        rows = np.zeros((1 << len(wires), 1 << len(others)), dtype=complex)
        rows[values_of(wires, case.n), values_of(others, case.n)] = case.psi
        case.close(case.placement.density(wires), rows @ rows.conj().T)
        case.unchanged()

    @asked
    @given(data=st.data(), other=st.sampled_from(["same", "single", "other precision"]))
    def test_inner(self, deployment: PlacementCase, data: st.DataObject, other: str) -> None:
        """Inner products of states in different layouts, places and precisions are Σ conj(a)·b; both states stay."""
        dtype = data.draw(DTYPES, label="dtype")
        one = draw_case(data, deployment, dtype)
        kind = np.dtype(np.complex64 if dtype == np.complex128 else np.complex128) if other[0] == "o" else dtype
        on_cpu = PlacementCase("single", lambda n, dtype: single(n, dtype, CpuDevice(2)), (0, 0))
        deployed = on_cpu if other == "single" else deployment
        two = draw_case(data, deployed, kind, one.n)
        wanted = np.vdot(one.psi, two.psi)
        one.close(one.placement.inner(two.placement), wanted)
        one.close(two.placement.inner(one.placement), wanted.conjugate())
        one.close(one.placement.inner(one.placement), np.vdot(one.psi, one.psi))
        one.unchanged()
        two.unchanged()

    @asked
    @given(data=st.data())
    def test_scale(self, deployment: PlacementCase, data: st.DataObject) -> None:
        """A projection multiplies exactly the amplitudes at which its condition holds."""
        dtype = data.draw(DTYPES, label="dtype")
        case = draw_case(data, deployment, dtype)
        when = draw_when(data, list(range(case.n)))
        inside, outside = data.draw(st.sampled_from([(2.0, 0.0), (0.5, 1.0), (1.0, 0.25), (1.0, 1.0)]))
        case.placement.scale(when, inside, outside)
        holds = np.arange(1 << case.n) & when.mask == when.value
        case.psi = case.psi * np.where(holds, inside, outside)
        case.unchanged()
        case.close(case.placement.norm_squared(), np.sum(np.abs(case.psi) ** 2))

    @asked
    @given(data=st.data())
    def test_arrange_and_write(self, deployment: PlacementCase, data: st.DataObject) -> None:
        """Moving amplitudes to another layout keeps the state, and writing a range changes this range alone."""
        dtype = data.draw(DTYPES, label="dtype")
        case = draw_case(data, deployment, dtype)
        n, layout = case.n, data.draw(layouts(case.n))
        case.placement.arrange(layout)
        assert case.placement.layout == layout
        case.unchanged()
        if data.draw(st.booleans()):
            case.placement.arrange(Layout.identity(n))
            start, stop = sorted(data.draw(st.tuples(*[st.integers(0, 1 << n)] * 2)))
        else:
            case.placement.forget()
            start, stop = 0, 1 << n
        assert case.placement.layout == Layout.identity(n)
        new = random_state(n, 5)[start:stop].astype(dtype)
        case.placement.write(start, new)
        case.psi[start:stop] = new
        case.unchanged()

    @asked
    @given(data=st.data())
    def test_other_numbers_of_wires(self, deployment: PlacementCase, data: st.DataObject) -> None:
        """A clone has memory of its own, a new wire is |0>, and removing a wire leaves the others' state."""
        dtype = data.draw(DTYPES, label="dtype")
        if not deployment.copies:
            pytest.skip("this placement cannot be copied")
        case = draw_case(data, deployment, dtype)
        n = case.n
        copy = Case(cloned(case.placement), case.psi.copy())
        assert copy.placement.layout == case.placement.layout
        case.placement.scale(When(0, 0), 2.0, 2.0)
        copy.unchanged()
        more = data.draw(st.integers(0, 2))
        wider = Case(extended(copy.placement, more), np.concatenate([copy.psi, np.zeros(((1 << more) - 1) << n)]))
        assert wider.n == n + more
        wider.unchanged()
        gone = data.draw(st.permutations(range(n + more)))[: data.draw(st.integers(0, more))]
        value = data.draw(st.integers(0, (1 << len(gone)) - 1))
        at_value = values_of(gone, n + more) == value
        wider.placement.scale(at.held(ALWAYS, gone, value), 1, 0)
        if not wider.psi[at_value].any():
            with pytest.raises(StateError, match="cannot be removed"):
                shrunk(wider.placement, gone)
        else:
            narrow = Case(shrunk(wider.placement, gone), wider.psi[at_value])
            assert narrow.n == n + more - len(gone)
            narrow.unchanged()

    @asked
    @given(data=st.data())
    def test_entangled_wires_stay(self, deployment: PlacementCase, data: st.DataObject) -> None:
        """Removing a wire that is in a superposition is refused, and the state stays."""
        dtype = data.draw(DTYPES, label="dtype")
        case = draw_case(data, deployment, dtype)
        wires, _ = draw_wires(data, case.n)
        weights = np.bincount(values_of(wires, case.n), np.abs(case.psi) ** 2)
        if np.count_nonzero(weights) > 1:
            with pytest.raises(StateError, match="weight of"):
                shrunk(case.placement, wires)
        case.unchanged()

    @asked
    @given(data=st.data())
    def test_circuits(self, deployment: PlacementCase, data: st.DataObject) -> None:
        """A circuit, planned for these levels and run here, leaves the state of its definition."""
        dtype = data.draw(DTYPES, label="dtype")
        fewest, most = deployment.wires
        circuit = data.draw(circuits(min_qubits=max(fewest, 1), max_qubits=most))
        placement = deployment.make(circuit.num_qubits, dtype)
        try:
            num_gates = run(placement, circuit)
        except NotSupported:
            assert widest(circuit) > (placement.planning_levels or placement.levels).local
            return
        wanted = reference.simulate(circuit)
        tolerance = 2e-5 if dtype == np.complex64 else 1e-10
        found = placement.read(0, len(wanted), range(placement.num_wires))
        assert np.linalg.norm(found - wanted) < tolerance
        check_norm(placement.norm_squared(), num_gates, dtype)
        case = Case(placement, found.astype(np.complex128))
        shots = sampling.draw(placement, sampling.uniforms(1, 0, 20))
        ends = np.cumsum(np.abs(case.psi) ** 2)
        assert shots.tolist() == [np.count_nonzero(ends <= u * ends[-1]) for u in sampling.uniforms(1, 0, 20)]


def widest(circuit: Circuit) -> int:
    """How many wires one instruction of a circuit mixes at most."""
    return max((len(one.mixes if isinstance(one, Op) else one.wires) for one in circuit.instructions), default=0)


def run(placement: Any, circuit: Circuit, shape: Shape | None = None) -> int:
    """Plan a circuit for a placement's levels, and run it there; how many gates it has."""
    work = tuple(circuit.instructions)
    devices, levels = placement.devices, placement.planning_levels or placement.levels
    shape = shape or devices[0].shape(placement.dtype)
    plan = make_plan(work, placement.num_wires, placement.layout, shape, placement.fresh, levels)
    shares = []
    for device in devices:
        prepared = device.prepare(plan.steps, plan.levels.local, placement.dtype)
        numbers = bind(plan, circuit.operands)
        shares.append((prepared, device.load(prepared, numbers) if isinstance(device, LoadsNumbers) else numbers))
    placement.run(plan, shares, lambda: None)
    return len(work)
