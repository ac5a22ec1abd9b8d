"""A run whose numbers and kernels are queued by compiled code has the result of the run step by step."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from math import pi

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.execution.prepare import prepare
from qsim_ex.placement.single import Single
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import BY_DTYPE
from qsim_ex.reference import simulate
from qsim_ex.steps import Euler, Layout, Mix

WIRES = 9
FRESH = (1 << WIRES) - 1
TOLERANCE = {np.complex64: 2e-6, np.complex128: 1e-13}


@pytest.fixture(params=[np.complex64, np.complex128], ids=["single", "double"])
def dtype(request):
    """Both precisions."""
    return np.dtype(request.param)


def products(seed, layers=4):
    """Dense gates on the same wires, whose matrices are multiplied, some of them sparse."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(WIRES)
    for layer in range(layers):
        for wire in range(WIRES):
            builder.gate("u", [wire], *rng.uniform(-pi, pi, 3))
        for wire in range(layer % 2, WIRES - 1, 2):
            matrix = np.linalg.qr(rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)))[0]
            builder.unitary(matrix, [wire, wire + 1])
    return builder.build()


def eulers(seed):
    """Roots of X, Y and W between CZ, which become Euler angles; among them gates with zeros in their matrices."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(WIRES)
    for layer in range(6):
        for wire in range(WIRES):
            angle = rng.uniform(0, pi, 2)
            root = np.array([[1, -1j * np.exp(-1j * angle[0])], [-1j * np.exp(1j * angle[0]), 1]]) / np.sqrt(2)
            diagonal = np.diag(np.exp(1j * angle))
            matrix = (root, diagonal, diagonal[::-1], root @ diagonal)[(layer + wire) % 4]
            builder.unitary(np.exp(0.3j) * matrix, [wire])
        for wire in range(layer % 2, WIRES - 1, 2):
            builder.gate("cz", [wire, wire + 1])
    return builder.build()


def tables(seed):
    """A Fourier transform and an Ising layer: phases in tables, small ones and large ones."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(WIRES)
    for wire in range(WIRES):
        builder.gate("ry", [wire], rng.uniform(0, pi))
    for target in reversed(range(WIRES)):
        builder.gate("h", [target])
        for control in range(target):
            builder.gate("cp", [control, target], pi / 2 ** (target - control))
    for wire in range(WIRES):
        builder.gate("rzz", [wire, (wire + 4) % WIRES], rng.uniform(-3, 3)).gate("rx", [wire], rng.uniform(-3, 3))
    return builder.build()


def pairs_of_rotations(seed):
    """Steps of RXX, RYY and RZZ on neighbours, by any angles and by quarter turns."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(WIRES)
    for wire in range(WIRES):
        builder.gate("ry", [wire], rng.uniform(0, pi))
    for layer in range(6):
        for wire in range(layer % 2, WIRES - 1, 2):
            for name in ("rxx", "ryy", "rzz")[: 2 + (wire + layer) // 2 % 2]:
                builder.gate(name, [wire, wire + 1], rng.choice([rng.uniform(-pi, pi), pi / 2 * rng.integers(-2, 3)]))
        builder.gate("rz", [layer], rng.uniform(-3, 3))
    return builder.build()


def transpiled_pairs(seed):
    """Steps of RXX, RYY, RZZ and RZ as transpilers write them, whose matrices become imaginary rotations."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(WIRES)
    for wire in range(WIRES):
        builder.gate("ry", [wire], rng.uniform(0, pi))
    for layer in range(6):
        for wire in range(layer % 2, WIRES - 1, 2):
            angle = rng.choice([rng.uniform(-pi, pi), pi / 2 * rng.integers(-2, 3)])
            for before, behind in (("h", "h"), ("sx", "sxdg"), (None, None)):
                for turned in (wire, wire + 1) if before else ():
                    builder.gate(before, [turned])
                other = rng.choice([angle, rng.uniform(-pi, pi)])
                builder.gate("cx", [wire, wire + 1]).gate("rz", [wire + 1], other).gate("cx", [wire, wire + 1])
                for turned in (wire, wire + 1) if before else ():
                    builder.gate(behind, [turned])
        for wire in range(WIRES) if layer % 2 else ():
            builder.gate("rz", [wire], rng.uniform(-3, 3))
    return builder.build()


def plain_gates(seed):
    """No numbers at all."""
    del seed
    builder = CircuitBuilder(WIRES).gate("h", [0])
    for wire in range(WIRES - 1):
        builder.gate("cx", [wire, wire + 1])
    return builder.build()


class Loop:
    """A circuit run again and again on one device."""

    def __init__(self, make, dtype, compile="always", room=32_764, tensor=False):
        self.runtime = EmulatedRuntime(room, tensor=tensor)
        self.device = GpuDevice.on(self.runtime)
        self._make, self._dtype, self._compile = make, dtype, compile
        self.plan = make_plan(make(0).instructions, WIRES, Layout.identity(WIRES), self.device.shape(dtype), FRESH)
        assert self.plan.steps

    def run(self, seed):
        """How far the state is from the definition's, and how many kernels were launched by compiled code."""
        circuit = self._make(seed)
        work = prepare(self.plan, circuit.operands, (self.device,), self._dtype, self._compile)
        buffer = self.device.allocate(1 << WIRES, self._dtype)
        state = Single(self.device, buffer, self.plan.start, FRESH, begun=False)
        before, told = self.runtime.natively_launched, []
        state.run(self.plan, work, lambda: told.append(1))
        assert len(told) == len(self.plan.steps)
        found = state.read(0, 1 << WIRES, range(WIRES))
        return float(np.linalg.norm(found - simulate(circuit))), self.runtime.natively_launched - before


@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize("make", [products, eulers, tables, pairs_of_rotations, plain_gates])
def test_a_loop_gives_the_definition_s_states(make, dtype, compile):
    """Each run of a loop has the state of its own numbers, and all are queued natively."""
    loop = Loop(make, dtype, compile)
    for seed in range(4):
        error, launched = loop.run(seed)
        assert error < TOLERANCE[dtype.type]
        sweeps = len(loop.plan.steps)
        assert launched in (1 + sweeps, 2 + sweeps)  # the state's beginning; and its tables


@pytest.mark.parametrize("compile", ["always", "never"])
def test_imaginary_rotations_are_made_natively(dtype, compile, monkeypatch):
    """Pairs of rotations in H, √X, RZ and CX have the state of the definitions, by any angles and by quarter turns."""
    monkeypatch.setattr(GpuDevice, "shape", lambda _, dtype: replace(shape_of(BY_DTYPE[dtype], False), start=0))
    loop = Loop(transpiled_pairs, dtype, compile)
    assert any(isinstance(row, Euler) and row.imaginary for row in loop.plan.coefficients.program)
    for seed in range(4):
        error, launched = loop.run(seed)
        assert error < TOLERANCE[dtype.type]
        assert launched


@pytest.mark.parametrize("compile", ["always", "never"])
def test_dense_blocks_are_queued_natively(dtype, compile, monkeypatch):
    """Matrices of dense blocks are multiplied row by row, and made in parts where a kernel takes them from a table."""
    monkeypatch.setattr(GpuDevice, "shape", lambda _, dtype: replace(shape_of(BY_DTYPE[dtype], True), block_made=0))
    loop = Loop(partial(products, layers=12), dtype, compile, tensor=True)
    items = [item for step in loop.plan.steps for block in step.register_blocks for item in block.items]
    blocks = sum(isinstance(item, Mix) and len(item.bits) == 4 for item in items)
    assert 512 * blocks > 4000
    for seed in range(3):
        error, launched = loop.run(seed)
        assert error < TOLERANCE[dtype.type]
        assert launched > 2 + len(loop.plan.steps) if compile == "always" else launched


def test_a_run_in_pieces_waits_for_all_but_the_last(dtype, hold):
    """With a launch in each piece, the host waits for each launch but the last, when the one after it is queued."""
    loop = Loop(tables, dtype, "never")
    loop.run(0)
    hold(queued_work=1)
    before = loop.runtime.natively_launched
    error, launched = loop.run(1)
    assert error < TOLERANCE[dtype.type]
    assert launched > 2
    assert loop.runtime.reached == list(range(before + 1, before + launched - 1))


def test_what_must_be_sent_goes_step_by_step(dtype):
    """Where a kernel may be given too few bytes for the tables' factors, the run goes step by step and is right."""
    loop = Loop(tables, dtype, room=96)
    found = [loop.run(seed) for seed in range(3)]
    assert all(error < TOLERANCE[dtype.type] and launched == 0 for error, launched in found)


def test_threads_have_rooms_of_their_own(dtype):
    """Two threads that run one plan with different numbers do not disturb each other."""
    loop = Loop(eulers, dtype)
    loop.run(0), loop.run(1)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(loop.run, range(12)))
    assert max(error for error, _ in found) < TOLERANCE[dtype.type]


def test_an_error_of_the_driver_is_raised(dtype):
    """A launch that fails raises an error."""
    loop = Loop(plain_gates, dtype)
    loop.run(0), loop.run(1)
    loop.runtime.status = 700
    with pytest.raises(RuntimeError, match="700"):
        loop.run(2)


def test_a_state_that_was_begun_is_not_begun_again(dtype):
    """Going on from a state does not write its amplitude 0."""
    loop = Loop(plain_gates, dtype)
    loop.run(0), loop.run(1)
    circuit = plain_gates(0)
    work = prepare(loop.plan, circuit.operands, (loop.device,), dtype, "always")
    buffer = loop.device.allocate(1 << WIRES, dtype)
    state = Single(loop.device, buffer, loop.plan.start, FRESH)
    loop.device.write(buffer, 0, np.array([-1], dtype=dtype))
    state.run(loop.plan, work, lambda: None)
    assert np.allclose(state.read(0, 1 << WIRES, range(WIRES)), -simulate(circuit), atol=1e-6)
