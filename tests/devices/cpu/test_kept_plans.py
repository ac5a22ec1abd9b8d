"""The encoded plans that a CPU device keeps."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from qsim_ex import CircuitBuilder
from qsim_ex.devices.cpu import device
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.devices.cpu.shape import shape_of
from qsim_ex.errors import Cancelled
from qsim_ex.kernels.cpu import encoded_plan
from qsim_ex.native.library import cancelled_by
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Plan


def _plans(cpu: CpuDevice, count: int) -> list[Plan]:
    circuits = [
        CircuitBuilder(4).gates(["h", "cx"] * (k + 1), [(0,), (0, 1)] * (k + 1), [()] * 2 * (k + 1))
        for k in range(count)
    ]
    return [make_plan(one.build().instructions, 4, Layout.identity(4), cpu.shape(np.complex64)) for one in circuits]


def test_plans_are_kept_within_a_bound_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device knows the bytes of what it keeps, forgets the oldest plans first, and always keeps the last one."""
    cpu = CpuDevice(1)
    plans = _plans(cpu, 4)
    made = [cpu.prepare(plan.steps, 4, np.complex64) for plan in plans]
    assert all(one.bytes > 0 for one in made)
    assert cpu._prepared_bytes == sum(one.bytes for one in made)
    monkeypatch.setattr(device, "_KEPT_BYTES", made[-1].bytes)
    again = cpu.prepare(plans[0].steps, 4, np.complex128)
    assert list(cpu._prepared.values()) in ([again], [made[-1], again])
    monkeypatch.setattr(device, "_KEPT_BYTES", 0)
    last = cpu.prepare(plans[1].steps, 4, np.complex64)
    assert list(cpu._prepared.values()) == [last]
    assert cpu._prepared_bytes == last.bytes
    assert cpu.prepare(plans[1].steps, 4, np.complex64) is last


def test_sweeps_of_a_plan_are_encoded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sweeps of a plan run from one encoding, whose bytes count once."""
    small = replace(shape_of(np.dtype(np.complex64)), tile=10, registers=10)
    monkeypatch.setattr(CpuDevice, "shape", lambda *_: small)
    cpu = CpuDevice(1)
    circuit = circuit_of(FAMILIES["brick"].build(12, 0), 12)
    plan = make_plan(circuit.instructions, 12, Layout.identity(12), cpu.shape(np.complex64))
    assert len(plan.sweeps) > 2
    prepared = cpu.prepare(plan.steps, 12, np.complex64)
    (encoding,) = {prepared.program(sweep).owner for sweep in plan.sweeps}  # type: ignore[union-attr]
    (arrays,) = {sweep.arrays for sweep in plan.sweeps}  # type: ignore[attr-defined]
    assert prepared.bytes == encoding.bytes + arrays.bytes  # type: ignore[attr-defined]


def test_encoding_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that is set ends the encoding of a large plan, and nothing is kept; afterwards it is encoded."""
    cpu, event = CpuDevice(1), threading.Event()
    circuit = circuit_of(FAMILIES["brick"].build(20, 0) * 20, 20)
    plan = make_plan(circuit.instructions, 20, Layout.identity(20), cpu.shape(np.complex64))
    assert len(plan.sweeps) > 64  # which are encoded at once
    monkeypatch.setattr(encoded_plan, "_SLICE", 0)
    encoded_plan.encoded_plan.cache_clear()
    event.set()
    with cancelled_by(event), pytest.raises(Cancelled):
        cpu.prepare(plan.steps, 20, np.complex64)
    assert not cpu._prepared
    assert cpu.prepare(plan.steps, 20, np.complex64).bytes > 0
