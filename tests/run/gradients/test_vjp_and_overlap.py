"""Vector–Jacobian products and overlaps against Jacobians and the rule of shifts on the reference simulator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.gradients import compare_overlaps, layers, observables

from qsim_ex import CircuitBuilder, ParameterSweepBuilder, PauliSum, Simulator
from qsim_ex.errors import CircuitError, InvalidInput, NotSupported

PLACES: list[dict[str, Any]] = [{}, {"virtual_peers": 2}, {"device_wires": 4}]


@pytest.mark.parametrize("options", PLACES)
def test_vjp_is_a_vector_times_the_jacobian(options: dict[str, Any]) -> None:
    """The products are those of the whole Jacobian, with cotangents for each binding and with the same for all."""
    sweep, sums = layers(6, 9, bindings=3), observables(6, 3, 9)
    whole, simulator = Simulator(device="cpu").gradient(sweep, sums), Simulator(device="cpu", **options)
    for weights in (np.random.default_rng(1).normal(size=(3, 3)), np.array([0.3, -2.0, 0.0])):
        found = simulator.vjp(sweep, sums, weights)
        expected = np.einsum("ro,roc->rc", np.broadcast_to(weights, (3, 3)), whole.jacobian)
        assert found.values == pytest.approx(whole.values, abs=1e-12)
        assert found.products == pytest.approx(expected, abs=1e-11)


def test_vjp_of_one_observable() -> None:
    """An observable may be passed as it is; with the cotangent 1 the product is its gradient."""
    sweep, (one,) = layers(4, 2), observables(4, 1, 2)
    found, whole = Simulator(device="cpu").vjp(sweep, one, [1.0]), Simulator(device="cpu").gradient(sweep, one)
    assert found.products == pytest.approx(whole.jacobian[:, 0], abs=1e-12)


def test_vjp_in_single_precision() -> None:
    """They are in complex64, to its precision."""
    sweep, sums = layers(5, 3), observables(5, 3, 3)
    found, whole = (Simulator(device="cpu", precision=p).vjp(sweep, sums, [1, 2, 3]) for p in ("single", "double"))
    assert found.products == pytest.approx(whole.products, abs=1e-4)


@pytest.mark.parametrize("cotangents", [[1.0], [[1.0, 2.0]], [[1.0], [2.0]], [np.nan, 1.0], np.ones((2, 2, 1))])
def test_wrong_cotangents(cotangents: Any) -> None:
    """Cotangents of another shape, and those that are no numbers, are errors that say what was expected."""
    sweep, sums = layers(3, 3), observables(3, 2, 3)
    with pytest.raises(InvalidInput, match=r"expected finite cotangents of shape \(2, 2\)"):
        Simulator(device="cpu").vjp(sweep, sums, cotangents)


@pytest.mark.parametrize("options", PLACES)
def test_overlaps_with_one_circuit(options: dict[str, Any]) -> None:
    """Overlaps with the final state of a circuit, and their derivatives, are those by definition."""
    sweep, other = layers(6, 11, gates=12), layers(6, 12, gates=12).circuit(0)
    compare_overlaps(sweep, [other, other], Simulator(device="cpu", **options).overlap(sweep, other))


@pytest.mark.parametrize("options", PLACES)
def test_overlaps_with_a_circuit_for_each_binding(options: dict[str, Any]) -> None:
    """So are those with the final states of another sweep, binding by binding: the kernel of a feature map."""
    sweep, other = layers(5, 13, gates=10), layers(5, 13, gates=10)
    assert other.columns is not None
    other = replace(other, columns=other.columns[::-1].copy())
    compare_overlaps(
        sweep, [other.circuit(0), other.circuit(1)], Simulator(device="cpu", **options).overlap(sweep, other), most=3
    )


def test_overlaps_with_amplitudes() -> None:
    """A circuit that initializes amplitudes ends in any state; a divided state refuses it in words."""
    sweep, rng = layers(5, 14, bindings=1, gates=10), np.random.default_rng(0)
    amplitudes = rng.normal(size=32) + 1j * rng.normal(size=32)
    other = CircuitBuilder(5).initialize(amplitudes / np.linalg.norm(amplitudes), range(5)).build()
    compare_overlaps(sweep, [other], Simulator(device="cpu").overlap(sweep, other))
    with pytest.raises(NotSupported, match="Initialize"):
        Simulator(device="cpu", virtual_peers=2).overlap(sweep, other)


def test_overlap_with_itself() -> None:
    """The overlap of a state with itself is 1, and its fidelity is at a maximum."""
    sweep = layers(4, 15, gates=15)
    found = Simulator(device="cpu").overlap(sweep, sweep)
    assert found.values == pytest.approx(np.ones(2), abs=1e-12)
    assert found.fidelity_gradients == pytest.approx(np.zeros_like(found.fidelity_gradients), abs=1e-11)


def test_wrong_overlaps() -> None:
    """Circuits of other widths, other numbers of bindings and random states are errors that say what was expected."""
    sweep, simulator = layers(3, 3), Simulator(device="cpu")
    with pytest.raises(CircuitError, match="equal numbers of wires, got 3 and 4"):
        simulator.overlap(sweep, CircuitBuilder(4).build())
    with pytest.raises(CircuitError, match="1 binding or of 2"):
        simulator.overlap(sweep, layers(3, 3, bindings=3))
    with pytest.raises(NotSupported, match="reset"):
        simulator.overlap(sweep, CircuitBuilder(3).gate("h", [0]).reset([0]).gate("h", [0]).build())
    with pytest.raises(InvalidInput, match="ParameterSweep, got PauliSum"):
        simulator.overlap(sweep, PauliSum(()))  # type: ignore[arg-type]


def test_without_parameters() -> None:
    """A circuit without parameters has an overlap and no derivatives."""
    sweep = ParameterSweepBuilder(2, 0).gate("h", [0]).sweep(1)
    for options in PLACES[:2]:
        found = Simulator(device="cpu", **options).overlap(sweep, CircuitBuilder(2).gate("x", [0]).build())
        assert found.values == pytest.approx(np.array([np.sqrt(0.5)]))
        assert found.derivatives.shape == (1, 0)
