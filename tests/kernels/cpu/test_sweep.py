"""A growing state may be written past the caches, which no amplitude depends on."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from qsim_ex import CircuitBuilder, StateVector
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.kernels.cpu import encoded_plan
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import Precision
from qsim_ex.steps import Layout

QUBITS = 15


def grown(precision: Precision, threads: int) -> np.ndarray:
    """Return the amplitudes of a circuit whose state grows in several sweeps."""
    rng = np.random.default_rng(7)
    builder = CircuitBuilder(QUBITS)
    for _ in range(3):
        for wire in range(QUBITS):
            builder.gate("ry", [wire], rng.uniform(0, 3))
        for one, other in pairwise(rng.permutation(QUBITS).tolist()):
            builder.gate("cx", [one, other])
    with StateVector(QUBITS, device="cpu", precision=precision, threads=threads) as state:
        state.apply(builder.build())
        return np.asarray(state.to_numpy())


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_amplitudes_are_the_same_past_the_caches(
    precision: Precision, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All amplitudes are bit for bit the same whether a growing state is written through the caches or past them."""
    through = grown(precision, threads)
    written = []
    monkeypatch.setattr(encoded_plan, "cached_bytes", lambda: written.append(1) or 0)
    past = grown(precision, threads)
    assert written
    np.testing.assert_array_equal(past, through)
    assert abs(np.vdot(past, past) - 1) < 1e-5


def test_a_small_state_stays_in_the_caches() -> None:
    """The bytes from which states are written past the caches are those of the last cache, and 64 MiB at least."""
    assert encoded_plan.cached_bytes() >= 1 << 26


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_subnormal_amplitudes_are_zero(dtype: type[np.complexfloating]) -> None:
    """A sweep takes numbers too small for a full mantissa for 0, and whoever calls it computes with them as before."""
    tiny = np.finfo(dtype).smallest_subnormal * 8
    builder = CircuitBuilder(QUBITS)
    for wire in range(QUBITS):
        builder.gate("ry", [wire], 0.3)
    circuit, device = builder.build(), CpuDevice(2)
    plan = make_plan(circuit.instructions, QUBITS, Layout.identity(QUBITS), device.shape(np.dtype(dtype)))
    buffer = np.full(1 << QUBITS, tiny, dtype=dtype)
    for step, numbers in zip(plan.steps, bind(plan, circuit.operands), strict=True):
        device.run(buffer, QUBITS, step, numbers)
    assert not buffer.any()
    assert tiny / 2 > 0
