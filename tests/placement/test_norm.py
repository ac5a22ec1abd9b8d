"""The norm of a state after a run tells lost amplitudes from rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.states import random_state
from support.strategies import random_unitary

from qsim_ex import PauliSum, Simulator
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.errors import DeviceError
from qsim_ex.options import Options
from qsim_ex.placement.executor import check_norm, norm_bound
from qsim_ex.state.vector import StateVector


def test_rounding_of_a_long_run_passes(options: Options) -> None:
    """The rounding of a thousand repeated gates passes, and the bound stays below 2e-3."""
    builder = CircuitBuilder(4)
    matrix = random_unitary(4, 3)
    for k in range(250):
        builder.unitary(matrix, [k % 4, (k + 1) % 4])
        builder.gate("rx", [k % 4], 0.3).gate("t", [k % 3]).gate("h", [2])
    with StateVector(4, options=options).apply(builder.build()) as state:
        check_norm(state.norm() ** 2, 1000, options.dtype)
        assert abs(state.norm() ** 2 - 1) < norm_bound(1000, options.dtype) / 4
    assert norm_bound(1000, options.dtype) < 2e-3


@pytest.mark.parametrize("fault", ["dropped", "doubled"])
def test_a_lost_slice_is_found(dtype: np.dtype[Any], fault: str) -> None:
    """A slice of 1/64 of the state that is zero, or that stands in another's place, raises an error."""
    psi = random_state(12).astype(dtype)
    psi[:64] *= 1.5
    psi /= np.linalg.norm(psi)
    check_norm(float(np.vdot(psi, psi).real), 500, dtype)
    psi[64:128] = 0 if fault == "dropped" else psi[:64]
    with pytest.raises(
        DeviceError, match=r"cannot be right, since amplitudes were lost or damaged .* please report it"
    ):
        check_norm(float(np.vdot(psi, psi).real), 500, dtype)


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("method", ["statevector", "density_matrix"])
def test_wrong_amplitudes_are_told_with_the_run(observed: bool, method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose amplitudes are lost says that its result cannot be right, its seed and plan, and to report it."""
    monkeypatch.setattr("qsim_ex.placement.executor.norm_bound", lambda *_: -1.0)  # no norm is near enough
    builder = CircuitBuilder(6, 6)
    for wire in range(6):
        builder.gate("ry", [wire], 0.3).gate("cx", [wire, (wire + 1) % 6])
    circuit = builder.measure(range(6), range(6)).build()
    simulator = Simulator(device="cpu", virtual_peers=4, method=method)
    asked: dict[str, Any] = {"observables": [PauliSum.from_labels({"Z": 1.0})]} if observed else {"shots": 5}
    with pytest.raises(DeviceError) as raised:
        simulator.run_batch(circuit, seeds=[7], **asked)
    text = str(raised.value)
    assert "the result cannot be right" in text
    assert "The seed is 7 " in text
    assert "please report it" in text
    if method == "statevector":
        (plan,) = simulator.plans(circuit)
        assert f"the plan's key {plan.key}; simulator.plans(circuit)" in text


@pytest.mark.parametrize("found", [np.nan, np.inf, 0.0])
def test_what_is_no_norm(found: float) -> None:
    """NaN, infinity and zero are refused as norms."""
    with pytest.raises(DeviceError):
        check_norm(found, 10, np.complex128)


def test_wrong_amplitudes_of_several_plans_are_told_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a run has several plans, the error names the first and says how many more there are."""
    monkeypatch.setattr("qsim_ex.placement.executor.norm_bound", lambda *_: -1.0)
    builder = CircuitBuilder(6)
    for _ in range(2):
        for wire in range(6):
            builder.gate("ry", [wire], 0.3).gate("cx", [wire, (wire + 1) % 6])
        builder.save(f"p{_}", "probabilities", wires=[0])
    circuit, simulator = builder.gate("h", [3]).build(), Simulator(device="cpu", virtual_peers=4)
    with pytest.raises(DeviceError) as raised:
        simulator.run_batch(circuit, seeds=[7])
    plans = simulator.plans(circuit)
    assert len(plans) > 1
    assert f"the plan's key {plans[0].key} and {len(plans) - 1} more; " in str(raised.value)
