"""Layouts that are linear maps, as users would have them: any circuit full of CX, in any order, on tiny capacities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.any_division import far_parities_always
from support.stopped_runs import stop_after

from qsim_ex import CircuitBuilder, Options, Simulator, StateVector, reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.planning import planner, rules
from qsim_ex.steps import Plan, Shape

SHAPE = Shape(tile=5, registers=5, low=1, edge=0, most_blocks=3, dense=3, start=2, item_work=2.0, linear=True)
WIRES = 8
WIDER = 12
"""Wires of a state with measurements that is divided and planned: narrower ones have a kernel of their own."""

PLACES = ({}, {"device_wires": 5}, {"virtual_peers": 2}, {"virtual_peers": 2, "device_wires": 5})
"""A state in one piece, in host memory, on two devices, on both: in all but the first parities may be far."""

far: list[bool] = []
"""For each plan on several levels whether parities are far."""

taken: list[int] = []
"""How many sweeps each linear plan for one device had, 0 for plans on bits."""


def _noted(make: Callable[..., Plan]) -> Callable[..., Plan]:
    def made(*given: object) -> Plan:
        plan = make(*given)
        if plan.levels.local == plan.num_wires:
            taken.append(len(plan.sweeps) if plan.made_from[-1] == "linear" else 0)
        else:
            far.append(plan.made_from[-1] == "far parities")
        return plan

    return made


@pytest.fixture(scope="module", autouse=True)
def _linear() -> Iterator[None]:
    """Plan for a tiny CPU whose tiles may be subspaces, and take every plan in a CNOT frame that there is."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("compiled_plan", "compiled_stages"):
            patch.setattr(planner, name, _noted(getattr(planner, name)))
        patch.setattr(CpuDevice, "shape", lambda _self, _dtype: SHAPE)
        patch.setattr(rules, "PROMISE", rules.ANY_PROMISE)
        with far_parities_always():
            yield


@st.composite
def pieces(draw: st.DrawFn) -> list[Circuit]:
    """A circuit of which most is CX, cut at random moments."""
    wire = st.integers(0, WIRES - 1)
    names = st.sampled_from(["cx"] * 8 + ["swap", "x", "h", "t", "ry", "ccx", "rzz"])
    out = []
    for _ in range(draw(st.integers(1, 3))):
        builder = CircuitBuilder(WIRES)
        for name in draw(st.lists(names, max_size=25)):
            count = {"cx": 2, "swap": 2, "ccx": 3, "rzz": 2}.get(name, 1)
            on = draw(st.lists(wire, min_size=count, max_size=count, unique=True))
            builder.gate(name, on, *([0.7] if name in ("ry", "rzz") else []))
        out.append(builder.build())
    return out


@given(pieces(), st.sampled_from(PLACES))
def test_order_at_random_moments(circuits: list[Circuit], place: dict[str, int]) -> None:
    """After each piece the amplitudes are those of the definition, in memory's order by `wire_ordering` too."""
    psi = np.eye(1, 1 << WIRES, dtype=np.complex128)[0]
    with StateVector(WIRES, options=Options(device="cpu", **place)) as state:
        for circuit in circuits:
            state.apply(circuit)
            psi = reference.simulate(circuit, psi)
            np.testing.assert_allclose(state.to_numpy(), psi, atol=1e-12)
            assert sorted(state.wire_ordering) == list(range(WIRES))


def test_a_circuit_that_comes_again_has_one_plan() -> None:
    """Applied again and again, a circuit full of CX is planned for the new state, and once for all that come then."""
    builder, rng = CircuitBuilder(WIRES), np.random.default_rng(9)
    for k in range(60):
        builder.gate("cx", sorted(rng.permutation(WIRES)[:2].tolist()))
        if k % 6 == 0:
            builder.gate("ry", [k % WIRES], 0.4 + k)
    circuit, begun = builder.build(), len(taken)
    psi = np.eye(1, 1 << WIRES, dtype=np.complex128)[0]
    with StateVector(WIRES, options=Options(device="cpu")) as state:
        for _ in range(4):
            state.apply(circuit)
            psi = reference.simulate(circuit, psi)
        np.testing.assert_allclose(state.to_numpy(), psi, atol=1e-12)
    assert [sweeps > 0 for sweeps in taken[begun:]] == [True, True]


def test_parities_are_far() -> None:
    """Most plans of states on several levels that the tests above and below draw could have far parities, and have."""
    circuit = CircuitBuilder(WIRES)
    for wire in range(WIRES):
        circuit.gate("h", [wire]).gate("cx", [wire, (wire + 3) % WIRES])
    begun = len(far)
    for place in PLACES[1:]:
        with StateVector(WIRES, options=Options(device="cpu", **place)) as state:
            state.apply(circuit.build())
            state.apply(circuit.build())
    assert far[begun:].count(True) >= 4


def test_every_place_draws_the_same_shots() -> None:
    """CX under conditions, behind measurements and before them: a seed means the same shots in every placement."""
    builder, rng = CircuitBuilder(WIDER, WIDER), np.random.default_rng(5)
    for layer in range(4):
        for wire in range(0, WIDER, 3):
            builder.gate("ry", [wire], 0.3 + wire)
        for _ in range(30):
            builder.gate("cx", rng.permutation(WIDER)[:2].tolist())
        builder.measure([layer], [layer])
        with builder.condition([layer], [1]):
            builder.gate("cx", [layer, 7])
            builder.gate("cx", [7, 6])
    builder.measure(range(WIDER), range(WIDER))
    circuit = builder.build()
    begun = len(taken)
    counts = [Simulator(Options(device="cpu", **p)).run(circuit, shots=300, seed=3).counts() for p in PLACES]
    assert len(counts[0]) > 4
    assert all(found == counts[0] for found in counts)
    assert any(taken[begun:])


def test_each_element_of_a_batch() -> None:
    """Elements whose angles differ share one linear plan, and each is what its own circuit says."""
    rng = np.random.default_rng(6)
    on = [rng.permutation(WIRES)[:2].tolist() for _ in range(60)]
    made = []
    for element in range(5):
        builder = CircuitBuilder(WIRES)
        for k, pair in enumerate(on):
            builder.gate("cx", pair)
            if k % 6 == 0:
                builder.gate("rx", pair[:1], 0.2 + element + k)
        builder.save("now")
        made.append(builder.build())
    operands = np.concatenate([circuit.operands for circuit in made])
    begun = len(taken)
    results = Simulator(Options(device="cpu")).run_batch(made[0], operands)
    for circuit, result in zip(made, results, strict=True):
        expected = Simulator(Options(device="cpu", device_wires=5)).run(circuit).saved["now"]
        np.testing.assert_allclose(result.saved["now"], expected, atol=1e-12)
    assert [sweeps > 0 for sweeps in taken[begun:]] == [True]


def test_a_run_that_was_stopped_goes_on_anywhere(tmp_path: Path) -> None:
    """Stopped between two sweeps, where wires are sums of index bits, a run goes on in every placement."""
    builder, rng = CircuitBuilder(WIDER, WIDER), np.random.default_rng(8)
    for wire in range(WIDER):
        builder.gate("ry", [wire], 0.3 + wire)
    for k in range(90):
        builder.gate("cx", rng.permutation(WIDER)[:2].tolist())
        if k % 15 == 0:
            builder.gate("rx", [k % WIDER], 0.4 + k)
    circuit = builder.measure(range(WIDER), range(WIDER)).build()
    begun = len(taken)
    expected = Simulator(Options(device="cpu")).run(circuit, shots=100, seed=3).counts()
    assert taken[begun] > 3
    stopped = tmp_path / "stopped.qsx"
    kept = Simulator(Options(device="cpu", checkpoint=stopped, checkpoint_every=0, progress=stop_after(2)))
    with pytest.raises(KeyboardInterrupt):
        kept.run(circuit, shots=100, seed=3)
    for place in PLACES:
        path = copy(stopped, tmp_path / "goes_on.qsx")
        found = Simulator(Options(device="cpu", checkpoint=path, checkpoint_every=0, **place)).run(
            circuit, shots=100, seed=3
        )
        assert found.counts() == expected, place


def test_a_run_with_far_parities_that_was_stopped_goes_on_anywhere(tmp_path: Path) -> None:
    """Stopped between two passes or exchanges of a plan with far parities, a run goes on in every placement."""
    builder, rng = CircuitBuilder(WIDER, WIDER), np.random.default_rng(9)
    for k in range(80):
        builder.gate("cx", rng.permutation(WIDER)[:2].tolist())
        builder.gate("rx", [k % WIDER], 0.4 + k)
    circuit = builder.measure(range(WIDER), range(WIDER)).build()
    expected = Simulator(Options(device="cpu")).run(circuit, shots=100, seed=3).counts()
    divided: tuple[dict[str, int], ...] = ({"device_wires": 9}, {"virtual_peers": 2})
    begun = len(far)
    for place in divided:
        assert Simulator(Options(device="cpu", **place)).run(circuit, shots=100, seed=3).counts() == expected
    assert far[begun:] == [True, True]
    for number, begun_in in enumerate(divided):
        stopped = tmp_path / f"stopped_{number}.qsx"
        kept = {"checkpoint": stopped, "checkpoint_every": 0, "progress": stop_after(2)}
        with pytest.raises(KeyboardInterrupt):
            Simulator(Options(device="cpu", **kept, **begun_in)).run(circuit, shots=100, seed=3)
        for place in PLACES:
            path = copy(stopped, tmp_path / "goes_on.qsx")
            further = Options(device="cpu", checkpoint=path, checkpoint_every=0, **place)
            assert Simulator(further).run(circuit, shots=100, seed=3).counts() == expected, (begun_in, place)
