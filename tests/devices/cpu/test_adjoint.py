"""Sweeps of adjoint differentiation: what they do to states, and derivatives for every number by definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.encoded import kinds
from support.unitary_circuits import circuit

from qsim_ex import Circuit
from qsim_ex.circuit.ops import ALWAYS
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.devices.cpu.shape import shape_of
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.coefficients.pullback import LEFT_OUT
from qsim_ex.planning.planner import make_plan
from qsim_ex.program.one_state import unitary_program
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan
from qsim_ex.steps.step import DenseMatrix, Sweep

ROWS, COUNT = 2, 3


def planned(of: Circuit, device: CpuDevice, dtype: type) -> Plan:
    """The plan of a circuit on a state that is there, as gradients make it."""
    shape = replace(device.shape(dtype), left_out=LEFT_OUT)
    work = unitary_program(of.structure).whole.work
    return make_plan(work.instructions, of.num_qubits, Layout.identity(of.num_qubits), shape)  # type: ignore[arg-type]


def amplitudes(rng: np.random.Generator, size: int, dtype: type) -> np.ndarray:
    """Random amplitudes."""
    return (rng.normal(size=size) + 1j * rng.normal(size=size)).astype(dtype)


def overlaps(cotangents: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Re ⟨cotangent|state⟩ of each row and cotangent."""
    return np.einsum("rki,ri->rk", cotangents.reshape(ROWS, COUNT, -1).conj(), states.reshape(ROWS, -1)).real


@pytest.mark.parametrize("seed", range(6))
def test_every_number(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """States and cotangents are what the sweep makes of each, and derivatives are half of what steps of ±1 change."""
    small = replace(shape_of(np.dtype(np.complex128)), tile=9, registers=9)
    monkeypatch.setattr(CpuDevice, "shape", lambda *_: small)
    num_wires, device, rng = (3, 6, 10)[seed % 3], CpuDevice(threads=2), np.random.default_rng(seed)
    made = circuit(num_wires, seed)
    plan = planned(made, device, np.complex128)
    steps = [(step, numbers) for step, numbers in zip(plan.steps, bind(plan, made.operands), strict=True)]
    for step, numbers in steps:
        if not isinstance(step, Sweep):
            continue
        states = amplitudes(rng, ROWS << num_wires, np.complex128)
        cotangents = amplitudes(rng, ROWS * COUNT << num_wires, np.complex128)
        before, through = states.copy(), cotangents.copy()
        prepared = device.prepare_adjoint([step], num_wires, np.complex128, [np.ones(len(numbers), dtype=np.bool_)])
        found = device.run_adjoint(states, cotangents, num_wires, 0, numbers[None], prepared)
        device.run_batch(through, num_wires, step, numbers[None])
        assert cotangents == pytest.approx(through, abs=1e-12)

        def after(changed: np.ndarray, step: Sweep = step, before: np.ndarray = before) -> np.ndarray:
            ended = before.copy()
            device.run_batch(ended, num_wires, step, changed[None])
            return ended

        assert states == pytest.approx(after(numbers), abs=1e-12)
        for number in rng.permutation(len(numbers))[:12].tolist():
            for part in (1, 1j):
                change = np.zeros(len(numbers), dtype=np.complex128)
                change[number] = part
                expected = (overlaps(cotangents, after(numbers + change) - after(numbers - change))) / 2
                assert found is not None
                assert (found[:, :, number].conj() * part).real == pytest.approx(expected, abs=1e-10 * 2**num_wires)


def test_every_kind_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweeps above have every instruction that multiplies."""
    small = replace(shape_of(np.dtype(np.complex128)), tile=9, registers=9)
    monkeypatch.setattr(CpuDevice, "shape", lambda *_: small)
    met: set[str] = set()
    for seed in range(6):
        num_wires = (3, 6, 10)[seed % 3]
        plan = planned(circuit(num_wires, seed), CpuDevice(), np.complex128)
        met |= {kind for step in plan.sweeps for kind in kinds(step, num_wires, 3, 8)}
    expected = {"SCALE_REAL", "SCALE_COMPLEX", "PAIR_REAL", "PAIR_COMPLEX", "QUAD_REAL", "QUAD_COMPLEX", "DENSE"}
    assert met >= expected | {"LANES"}


def test_a_wide_matrix_acts_on_the_cotangents_of_its_row() -> None:
    """A step that is no sweep multiplies the state of each row, and all cotangents of that row, by the row's matrix."""
    rng, device, num_bits = np.random.default_rng(4), CpuDevice(threads=2), 3
    step, matrices = DenseMatrix((0, 2), (), ALWAYS), rng.normal(size=(ROWS, 4, 4)) + 0j
    states, cotangents = (amplitudes(rng, rows << num_bits, np.complex128) for rows in (ROWS, ROWS * COUNT))
    prepared = device.prepare_adjoint([step], num_bits, np.complex128, [np.zeros(16, dtype=np.bool_)])

    def multiplied(one: np.ndarray) -> np.ndarray:
        per_row = one.reshape(ROWS, -1, 2, 2, 2).copy()  # bits 2, 1, 0
        return np.einsum("rabcd,rncxd->rnaxb", matrices.reshape(ROWS, 2, 2, 2, 2), per_row).ravel()

    expected = multiplied(states), multiplied(cotangents)
    assert device.run_adjoint(states, cotangents, num_bits, 0, matrices.reshape(ROWS, 16), prepared) is None
    assert (states, cotangents) == (pytest.approx(expected[0]), pytest.approx(expected[1]))
