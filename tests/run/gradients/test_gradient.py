"""Gradients: values and derivatives against the general rule of parameter shifts on the reference simulator."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.gradient_faults import conjugate, dropped_gate, shared_once, sign
from support.gradients import DEGREE, HALF_TURNS, ROWS, compare, layers, observables
from support.trigonometric import derivative
from support.unitary_circuits import unitary

from qsim_ex import ParameterSweepBuilder, PauliSum, Simulator
from qsim_ex.circuit import derivatives
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.devices import discover
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.devices.cpu.shape import shape_of
from qsim_ex.errors import Cancelled, CircuitError, NotSupported, WireError
from qsim_ex.run.gradients import gradient as under_test


def simulator(**options: Any) -> Simulator:
    """A simulator on the CPU."""
    return Simulator(device="cpu", **options)


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str) -> None:
    """The derivatives of a row's matrix are those that the rule of shifts finds for its entries."""
    row = GATES[name]
    given = np.array([[0.5 if p in ("exponent", "shift") else 0.3 + k for k, p in enumerate(row.parameters)]])
    found = row.derivatives(given)[0]
    for k, parameter in enumerate(row.parameters):
        period = 4 * np.pi if parameter not in HALF_TURNS and parameter != "shift" else 8.0

        def entries(value: float, k: int = k) -> np.ndarray:
            changed = given.copy()
            changed[0, k] = value
            return row.entries(changed)[0]

        assert found[k] == pytest.approx(derivative(entries, given[0, k], period, 2 * DEGREE), abs=1e-12)


@pytest.mark.parametrize("name", [name for name in ROWS if GATES[name].factors])
def test_factors_are_affine(name: str) -> None:
    """The parameters of a row's factors are affine in each of the row's own, of which slopes are made."""
    factors = GATES[name].factors
    assert factors is not None
    given = np.random.default_rng(1).normal(size=len(GATES[name].parameters))
    for k in range(len(given)):
        steps = [given + step * np.eye(len(given))[k] for step in (-1.0, 0.0, 1.0)]
        low, middle, high = (np.hstack([np.array(f.parameters) for f in factors(*one)]) for one in steps)
        assert low + high == pytest.approx(2 * middle, abs=1e-14)


@pytest.mark.parametrize("seed", range(12))
def test_drawn_circuits(seed: int) -> None:
    """Values and derivatives of random circuits of the gate table are those by definition."""
    num_wires = 2 + seed % 4
    sweep, sums = layers(num_wires, seed), observables(num_wires, 1 + seed % 3, seed)
    compare(sweep, simulator().gradient(sweep, sums), sums)


@pytest.mark.parametrize("seed", range(3))
def test_many_tiles(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are where a state has many tiles, and threads share them."""
    small = replace(shape_of(np.dtype(np.complex128)), tile=9, registers=9)
    monkeypatch.setattr(CpuDevice, "shape", lambda *_: small)
    sweep, sums = layers(11, 40 + seed, bindings=1, gates=60), observables(11, 2, seed)
    compare(sweep, simulator(threads=2).gradient(sweep, sums), sums, most=2)


def test_single_precision() -> None:
    """They are in complex64, to its precision."""
    sweep, sums = layers(5, 3), observables(5, 2, 3)
    compare(sweep, simulator(precision="single").gradient(sweep, sums), sums, tolerance=2e-5)


def test_angles_at_zero() -> None:
    """Derivatives are right where all angles are 0, and the entries of matrices with them."""
    builder = ParameterSweepBuilder(3, 0)
    for wire in range(3):
        builder.gate("u", [wire], np.zeros(1), np.zeros(1), np.zeros(1)).gate("rx", [wire], np.zeros(1))
    builder.gate("crx", [0, 1], np.zeros(1)).gate("rzz", [1, 2], np.zeros(1)).gate("cu3", [0, 2], *np.zeros((3, 1)))
    sweep, sums = builder.sweep(1), observables(3, 2, 1)
    compare(sweep, simulator().gradient(sweep, sums), sums, most=20)


def test_many_bindings(hold: Callable[..., None]) -> None:
    """Bindings that are worked on in several parts have the derivatives that each has alone."""
    sweep, sums = layers(4, 9, bindings=37), observables(4, 2, 9)
    hold(batch_rows=8)
    together = simulator().gradient(sweep, sums)
    assert sweep.columns is not None
    for binding in (0, 7, 8, 36):
        alone = simulator().gradient(replace(sweep, count=1, columns=sweep.columns[binding : binding + 1]), sums)
        assert together.values[binding] == pytest.approx(alone.values[0], abs=1e-14)
        assert together.jacobian[binding] == pytest.approx(alone.jacobian[0], abs=1e-13)


def test_one_observable_and_no_parameter() -> None:
    """One sum may be passed as it is; a circuit without parameters has values and no derivatives."""
    builder = ParameterSweepBuilder(2, 2)
    builder.gate("h", [0]).gate("cx", [0, 1]).measure([0, 1], [0, 1])
    found = simulator().gradient(builder.sweep(1), PauliSum.from_labels({"XX": 2.0, "ZZ": 1.0}))
    assert found.values == pytest.approx(np.array([[3.0]]))
    assert found.jacobian.shape == (1, 1, 0)


def test_rotations_about_the_identity() -> None:
    """A rotation about the identity has the column that it is given, also where controls make its phase visible."""
    builder, shared = ParameterSweepBuilder(2, 0), np.array([0.4, 1.3])
    builder.gate("h", [1]).pauli_rotation(shared, "I", [0], controls=[1]).gate("rx", [1], shared)  # type: ignore[arg-type]
    sweep, sums = builder.pauli_rotation(shared, "", []).sweep(2), observables(2, 2, 6)  # type: ignore[arg-type]
    assert sweep.columns is not None
    assert sweep.columns.shape == (2, 1)
    compare(sweep, simulator().gradient(sweep, sums), sums)


def test_state_preparation_in_front() -> None:
    """What has no inverse may stand in front of the first parameter."""
    builder = ParameterSweepBuilder(2, 0)
    builder.initialize(np.array([0.6, 0, 0, 0.8j]), [0, 1])
    sweep = builder.gate("rx", [0], np.array([0.4])).gate("ry", [1], np.array([1.1])).sweep(1)  # type: ignore[arg-type]
    sums = observables(2, 2, 4)
    compare(sweep, simulator().gradient(sweep, sums), sums)


def test_a_matrix_on_many_wires(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that is no sweep, between rotations: the inverse circuit has a plan of its own."""
    builder, wires = ParameterSweepBuilder(7, 0), 7
    for wire in range(wires):
        builder.gate("ry", [wire], np.array([0.3 * wire]))  # type: ignore[arg-type]
    builder.unitary(unitary(np.random.default_rng(1), 6), range(6))
    for wire in range(wires):
        builder.gate("rx", [wire], np.array([0.2 * wire]))  # type: ignore[arg-type]
    sweep, sums = builder.sweep(1), observables(wires, 2, 1)
    taken, true = [], under_test._backwards

    def backwards(*given: Any) -> Any:
        taken.append(given)
        return true(*given)

    monkeypatch.setattr(under_test, "_backwards", backwards)
    compare(sweep, simulator().gradient(sweep, sums), sums, most=5)
    assert taken


def test_without_faults() -> None:
    """The circuit that faults are planted in has the right derivatives with respect to every column."""
    sweep, sums = layers(3, 5), observables(3, 1, 5)
    compare(sweep, simulator().gradient(sweep, sums), sums, most=30)


@pytest.mark.parametrize("plant", [sign, conjugate, dropped_gate, shared_once])
def test_planted_faults_are_found(plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A sign, a conjugate, a gate that is left out, and a shared parameter that counts once change what is found."""
    sweep, sums = layers(3, 5), observables(3, 1, 5)
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        compare(sweep, simulator().gradient(sweep, sums), sums, most=30)


def _with(change: Callable[[ParameterSweepBuilder], object]) -> ParameterSweep:
    builder = ParameterSweepBuilder(2, 1)
    builder.gate("rx", [0], np.array([0.3]))  # type: ignore[arg-type]
    change(builder)
    return builder.gate("ry", [0], np.array([0.3])).sweep(1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "feature"),
    [
        (lambda builder: builder.measure([0], [0]), "measure"),
        (lambda builder: builder.reset([0]), "reset"),
        (lambda builder: builder.initialize([0.6, 0.8], [1]), "Initialize"),
    ],
)
def test_refused_in_words(change: Callable[[ParameterSweepBuilder], object], feature: str) -> None:
    """What cannot be differentiated is refused, and the error names it."""
    with pytest.raises(NotSupported, match=feature):
        simulator().gradient(_with(change), PauliSum.from_labels({"ZZ": 1.0}))


def test_other_methods_and_devices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods and devices that do not differentiate say so, and so do checkpoints."""
    sweep, one = _with(lambda builder: builder), PauliSum.from_labels({"ZZ": 1.0})
    with pytest.raises(NotSupported, match="stabilizer"):
        simulator(method="stabilizer").gradient(sweep, one)
    with pytest.raises(NotSupported, match="no checkpoint"):
        simulator(checkpoint="kept").gradient(sweep, one)
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: plain())
    with pytest.raises(NotSupported, match="kernels do not yet"):
        simulator().gradient(sweep, one)


def plain() -> Any:
    """A device that has no kernels for gradients."""
    from support.plain_device import PlainDevice

    return PlainDevice()


def test_wrong_arguments() -> None:
    """Observables that are none, not Hermitian or too wide are errors before anything runs."""
    sweep = _with(lambda builder: builder)
    with pytest.raises(CircuitError, match="at least one"):
        simulator().gradient(sweep, [])
    with pytest.raises(CircuitError, match="real coefficients"):
        simulator().gradient(sweep, PauliSum.from_labels({"ZZ": 1j}))
    with pytest.raises(WireError):
        simulator().gradient(sweep, PauliSum.from_labels({"ZZZ": 1.0}))


def test_cancelled() -> None:
    """An event that is set ends a gradient."""
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        simulator().gradient(_with(lambda builder: builder), PauliSum.from_labels({"ZZ": 1.0}), stop)


def test_slopes_of_products() -> None:
    """The slope of a product of two parameters is the other one."""
    found = derivatives.slopes(lambda a, b: iter([a * b, 2 * a]), [3.0, 5.0])
    assert found == [[5.0, 2.0], [3.0, 0.0]]
