"""States over several real devices: the CPU as virtual peers everywhere, GPUs where there are some.

The same plan, exchange or layout on one buffer of one CPU is the expected state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.deployments import ROWS, DeploymentRow
from support.gpus import gpu_missing
from support.states import far, random_state

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.devices.base import LoadsNumbers
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.placement.peers import Peers
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.planner import make_plan
from qsim_ex.reference import simulate
from qsim_ex.steps import Coefficients, Exchange, Layout, Levels, Plan, Stage

LOCAL = 13
TOLERANCE = {np.complex64: 2e-6, np.complex128: 1e-13}


def gpus(count: int) -> list[Any]:
    """Return this many GPUs; skips where there are fewer."""
    if reason := gpu_missing():
        pytest.skip(reason)
    import cupy

    from qsim_ex.devices.gpu.device import GpuDevice

    found = cupy.cuda.runtime.getDeviceCount()
    if found < count:
        pytest.skip(f"needs {count} GPUs: the driver lists {found}")
    return [GpuDevice(k) for k in range(count)]


def on(row: DeploymentRow) -> list[Any]:
    """The device of each peer of a row: one CPU for all of them, or GPUs."""
    devices = gpus(row.gpus) if row.gpus else [CpuDevice(2)]
    return [devices[number] for number in row.devices]


PEERS = [
    pytest.param(row, marks=pytest.mark.gpu if row.gpus else ())
    for row in {(row.gpus, row.devices): row for row in ROWS if row.kind == "peers"}.values()
]
"""The rows of peers, one for each set of devices; tests choose the network."""


@pytest.fixture(params=[np.complex64, np.complex128], ids=["single", "double"])
def dtype(request: pytest.FixtureRequest) -> Any:
    """Both precisions."""
    return request.param


def made(row: DeploymentRow, dtype: Any, network: Any = "switch", **options: Any) -> Peers:
    """A state of LOCAL wires on each device of a deployment."""
    devices = on(row)
    peers = len(devices).bit_length() - 1
    return Peers(devices, LOCAL + peers, dtype, Levels(LOCAL, peers, 4, network), **options)


def hold(state: Peers, psi: np.ndarray) -> None:
    """Overwrite all amplitudes, by index."""
    state.write_zeros()
    for near in state.visit(write=True):
        size = len(near.buffer)
        near.device.write(near.buffer, 0, psi[near.high * size : (near.high + 1) * size].astype(state.dtype))


def held(state: Peers) -> np.ndarray:
    """All amplitudes by index."""
    out = np.zeros(1 << state.num_wires, dtype=state.dtype)
    for near in state.visit():
        size = len(near.buffer)
        out[near.high * size : (near.high + 1) * size] = near.device.read(near.buffer, 0, size)
    return out


def by_hand(state: Peers, stages: list[Stage], numbers: Any = None) -> Plan:
    """Stages as a plan that begins and ends as the state is."""
    shape = state.devices[0].shape(state.dtype).fit(LOCAL)
    return Plan(
        state.num_wires, tuple(stages), state.layout, state.layout, numbers or Coefficients(2, (), ()), shape, 0,
        ("by hand",), state.levels, state.fresh,
    )  # fmt: skip


def numbered(num_wires: int) -> np.ndarray:
    """Each amplitude is the number of its index, which complex64 holds exactly."""
    return np.arange(1 << num_wires) + 1j * np.arange(1 << num_wires)[::-1]


def swapped(psi: np.ndarray, swaps: tuple[tuple[int, int], ...]) -> np.ndarray:
    """The amplitudes after an exchange: two axes of the whole array trade places for each pair."""
    n = len(psi).bit_length() - 1
    cube = psi.reshape((2,) * n)
    for a, b in swaps:
        cube = np.swapaxes(cube, n - 1 - a, n - 1 - b)
    return np.ascontiguousarray(cube).reshape(-1)


@pytest.mark.parametrize("row", PEERS, ids=str)
@pytest.mark.parametrize("network", ["switch", "mesh"])
@pytest.mark.parametrize("reach", ["as it is", "through the host"])
@pytest.mark.parametrize("piece", [1 << 12, 1 << 17, 1 << 27])
def test_exchange(row: DeploymentRow, network: str, reach: str, piece: int) -> None:
    """Every amplitude is where it belongs after several exchanges, and as much is sent as planned."""
    options = {} if reach == "as it is" else {"reach": lambda *_: "through the host"}
    state = made(row, np.complex64, network, piece_bytes=piece, **options)
    n, peers = state.num_wires, state.levels.peers
    psi = numbered(n)
    hold(state, psi)
    top = tuple((LOCAL - 1 - k, LOCAL + k) for k in range(peers))
    low = tuple((4 + 4 * k, n - 1 - k) for k in range(peers))
    for swaps in (top[:1], top, low, low[-1:], top[::-1]):
        before = sum(state.sent.values())
        planned = state.schedule(swaps).sent().total() * 8
        state.run(by_hand(state, [Stage((), Exchange(swaps))]), [(None, ())] * (1 << peers), lambda: None)
        psi = swapped(psi, swaps)
        assert sum(state.sent.values()) - before == planned
        assert np.array_equal(held(state), psi.astype(np.complex64))
    if reach != "as it is":
        assert set(state.links.values()) == {"through the host"}
    state.release()


@pytest.mark.parametrize("row", PEERS, ids=str)
def test_run(row: DeploymentRow, dtype: Any) -> None:
    """A growing state of two stages and an exchange between them is the circuit's by definition."""
    state = made(row, dtype)
    n, peers = state.num_wires, state.levels.peers
    rng = np.random.default_rng(3)
    swaps = tuple((LOCAL - 1 - k, LOCAL + k) for k in range(peers))
    names = list(range(n))  # of the wires on each position
    whole, stages, numbers = CircuitBuilder(n), [], []
    fresh = state.fresh
    for motion in (None, Exchange(swaps)):
        local = CircuitBuilder(LOCAL)
        if motion is not None:
            for a, b in swaps:
                names[a], names[b] = names[b], names[a]
            fresh &= ~sum(1 << b for _, b in swaps)  # fully grown in the first stage
            fresh |= sum(1 << a for a, _ in swaps)
        for layer in range(2):
            for position in range(LOCAL):
                angles = rng.uniform(-3, 3, 3)
                for builder, wire in ((local, position), (whole, names[position])):
                    builder.gate("u", [wire], *angles)
            for a in range(layer, LOCAL - 1, 2):
                for builder, wires in ((local, [a, a + 1]), (whole, [names[a], names[a + 1]])):
                    builder.gate("cx", wires)
        circuit = local.build()
        inside = fresh & (1 << LOCAL) - 1
        plan = make_plan(
            circuit.instructions, LOCAL, Layout.identity(LOCAL), state.devices[0].shape(dtype).fit(LOCAL), inside
        )
        assert plan.end == plan.start
        stages.append(Stage(plan.steps, motion, fresh))
        numbers.append((plan, bind(plan, circuit.operands)))
        fresh &= ~inside
    assert not fresh
    whole_plan = by_hand(state, stages)
    work = []
    for device in state.devices:
        prepared = device.prepare(whole_plan.steps, LOCAL, dtype, "always")
        own = []
        for plan, bound in numbers:
            part = device.prepare(plan.steps, LOCAL, dtype, "always")
            own += device.load(part, bound) if isinstance(device, LoadsNumbers) else bound
        work.append((prepared, own))
    state.run(whole_plan, work, lambda: None)
    found = held(state)
    want = simulate(whole.build())
    at = [sum((value >> wire & 1) << names.index(wire) for wire in range(n)) for value in range(1 << n)]
    assert far(found[at], want) < 40 * TOLERANCE[dtype]
    state.release()


@pytest.mark.parametrize("row", PEERS, ids=str)
def test_layouts_and_visits(row: DeploymentRow, dtype: Any) -> None:
    """A layout moves amplitudes where it says, and a visit shows each of them and changes none."""
    state = made(row, dtype)
    n = state.num_wires
    psi = random_state(n)
    hold(state, psi)
    rng = np.random.default_rng(1)
    values = np.arange(1 << n)
    for _ in range(3):
        layout = Layout(tuple(rng.permutation(n).tolist()), int(rng.integers(1 << n)))
        state.arrange(layout)
        index = np.zeros_like(values)
        for wire, bit in enumerate(layout.address):
            index |= (values >> wire & 1) << bit
        assert np.array_equal(held(state)[index ^ layout.flip], psi.astype(dtype))
    weight = sum(float(near.device.norms(near.buffer, 1)[0]) for near in state.visit([0, 1, n - 1]))
    assert abs(weight - 1) < 1e-5
    state.arrange(Layout.identity(n))
    assert np.array_equal(held(state), psi.astype(dtype))
    state.release()


@pytest.mark.gpu
@pytest.mark.parametrize("count", [2, 4])
def test_peers_reach_each_other(count: int) -> None:
    """GPUs that the driver lets read each other are linked directly, also when asked twice."""
    devices = gpus(count)
    import cupy

    for _ in range(2):
        state = Peers(devices, LOCAL + count.bit_length() - 1, np.complex64, Levels(LOCAL, count.bit_length() - 1, 4))
        for (a, b), kind in state.links.items():
            straight = cupy.cuda.runtime.deviceCanAccessPeer(a, b) and cupy.cuda.runtime.deviceCanAccessPeer(b, a)
            assert kind == ("peer" if straight else "through the host")
        state.release()
