"""Gradients of divided states against the rule of shifts: over ranks, with wide strings, and with planted faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.gradient_piece_faults import dropped_piece, dropped_sums, high_bits, lost_piece
from support.gradients import compare, layers, observables
from support.together import together

from qsim_ex import Gradient, Options, ParameterSweepBuilder, PauliString, PauliSum, Simulator
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.errors import DeviceError, NotSupported, OptionError
from qsim_ex.options import Progress
from qsim_ex.placement.divided.divided import Divided
from qsim_ex.placement.ranks.over_host import RanksOverHost
from qsim_ex.placement.ranks.ranks import Ranks
from qsim_ex.placement.ranks.spread import RanksSpread
from qsim_ex.run.gradients import divided as gradient_divided
from qsim_ex.run.gradients import gradient
from qsim_ex.run.gradients.targets import Expectations
from qsim_ex.run.gradients.task import Found, Steps, ticker_of
from qsim_ex.steps import Levels

WIRES = 8
CPU = CpuDevice(1)
OVER_RANKS: dict[str, tuple[int, Callable[[Any], Divided]]] = {
    "ranks": (4, lambda end: Ranks(end, [CPU], WIRES + 1, np.complex128, Levels(WIRES - 1, 2, 1))),
    "a rank without amplitudes": (5, lambda end: Ranks(end, [CPU], WIRES + 1, np.complex128, Levels(WIRES - 1, 2, 1))),
    "two devices each": (2, lambda end: Ranks(end, [CPU] * 2, WIRES + 1, np.complex128, Levels(WIRES - 1, 2, 1))),
    "over host": (4, lambda end: RanksOverHost(end, [CPU] * 2, WIRES + 1, np.complex128, Levels(4, 1, 1, ranks=2))),
    "spread": (4, lambda end: RanksSpread(end, CPU, WIRES + 1, np.complex128, Levels(5, 0, 1, ranks=2), slots=2)),
}


def of_state(sweep: ParameterSweep, sums: list[PauliSum], state: Divided) -> Gradient:
    """The gradient of one binding and one observable on a new state."""
    task = gradient.checked(Options(), sweep, Expectations(tuple(sums)))
    columns = 0 if sweep.columns is None else sweep.columns.shape[1]
    found = Found(np.zeros((1, 1)), np.zeros((1, 1, columns)))
    with ticker_of(task, 1) as ticker:
        gradient_divided.differentiate(task, state, np.array([0]), found, Steps(ticker, 1, int))
    state.release()
    return Gradient(found.values, found.derivatives, "cpu", "double", 0.0)


@pytest.mark.parametrize("kind", OVER_RANKS)
def test_over_ranks(kind: str) -> None:
    """States over ranks, which are threads here, have the gradient by definition, the same on all ranks."""
    size, make = OVER_RANKS[kind]
    sweep, sums = layers(WIRES, 4, bindings=1), observables(WIRES, 1, 4)
    found = together(size, lambda end: of_state(sweep, sums, make(end)))
    compare(sweep, found[0], sums, most=3)
    for other in found[1:]:
        assert np.array_equal(other.jacobian, found[0].jacobian)


@pytest.mark.parametrize(
    "options", [{"virtual_peers": 4}, {"device_wires": 5}, {"device_wires": 4, "virtual_peers": 2}]
)
def test_strings_on_all_wires(options: dict[str, Any]) -> None:
    """X and Y on all wires, which are more than fit into a visit, and on none have the derivatives by definition."""
    sweep, every = layers(WIRES, 7, bindings=1), (1 << WIRES) - 1
    terms = PauliString(every, 0b1010, 0.7), PauliString(every, 0, -0.4), PauliString(0, 0b110, 1.1)
    sums = [PauliSum((*terms, PauliString(0b11, 0b1, 0.3), PauliString(0, 0, 0.2))), PauliSum(())]
    compare(sweep, Simulator(device="cpu", **options).gradient(sweep, sums), sums, most=3)


def test_several_bindings_and_observables() -> None:
    """Bindings and observables, which come one after another, have those that they have in one piece."""
    sweep, sums = layers(6, 9, bindings=3), observables(6, 3, 9)
    whole = Simulator(device="cpu").gradient(sweep, sums)
    found = Simulator(device="cpu", virtual_peers=2).gradient(sweep, sums)
    assert found.values == pytest.approx(whole.values, abs=1e-12)
    assert found.jacobian == pytest.approx(whole.jacobian, abs=1e-12)


def test_little_memory() -> None:
    """Observables whose cotangents do not fit beside one another come one after another, in one piece or divided."""
    sweep, sums = layers(10, 9, bindings=1), observables(10, 3, 9)
    roomy = Simulator(device="cpu").gradient(sweep, sums)
    tight = Simulator(device="cpu", max_memory=2 * 16 << 10).gradient(sweep, sums)
    assert tight.values == pytest.approx(roomy.values, abs=1e-12)
    assert tight.jacobian == pytest.approx(roomy.jacobian, abs=1e-12)


def test_single_precision() -> None:
    """They are in complex64, to its precision."""
    sweep, sums = layers(7, 3, bindings=1), observables(7, 1, 3)
    found = Simulator(device="cpu", precision="single", virtual_peers=2, device_wires=5).gradient(sweep, sums)
    compare(sweep, found, sums, tolerance=2e-5, most=3)


def test_without_parameters() -> None:
    """A circuit without parameters has values and no derivatives."""
    sweep = ParameterSweepBuilder(5, 0).gate("h", [0]).gate("cx", [0, 4]).sweep(1)
    found = Simulator(device="cpu", virtual_peers=2).gradient(sweep, PauliSum.from_labels({"XIIIX": 2.0}))
    assert found.values == pytest.approx(np.array([[2.0]]))
    assert found.jacobian.shape == (1, 1, 0)


@pytest.mark.parametrize("options", [{}, {"virtual_peers": 2}, {"device_wires": 4}])
def test_progress(options: dict[str, Any]) -> None:
    """`progress` and `watch` hear of all steps of all bindings, forward and back, in every placement."""
    sweep, sums, told, watched = layers(6, 9, bindings=2), observables(6, 2, 9), [], list[Progress]()
    simulator = Simulator(
        device="cpu", progress=lambda done, total: told.append((done, total)), watch=watched.append, **options
    )
    simulator.gradient(sweep, sums)
    (total,) = {of for _, of in told}
    done = [one for one, _ in told]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, total)
    assert (watched[-1].steps, watched[-1].all_steps) == (total, total)
    assert watched[-1].bytes_moved > 0 or not options


def test_pieces_that_are_too_small() -> None:
    """Pieces that have no room for a state and a cotangent are refused in words."""
    sweep, one = layers(3, 1, bindings=1), PauliSum.from_labels({"ZZI": 1.0})
    with pytest.raises(NotSupported, match="at least 2 wires"):
        Simulator(device="cpu", virtual_peers=8).gradient(sweep, one)
    with pytest.raises(OptionError):
        Simulator(device="cpu", virtual_peers=16).gradient(sweep, one)


# --- planted faults --------------------------------------------------------------------------------------------------


def test_without_faults() -> None:
    """The circuit that faults are planted in has the right derivatives with respect to every column."""
    sweep, sums = layers(6, 5, bindings=1), observables(6, 1, 5)
    compare(sweep, Simulator(device="cpu", virtual_peers=4).gradient(sweep, sums), sums, most=30)


@pytest.mark.parametrize("plant", [dropped_sums, high_bits, dropped_piece, lost_piece])
def test_planted_faults_are_found(plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out on one piece changes what is found, or the norm, which a run checks."""
    sweep, sums = layers(6, 5, bindings=1), observables(6, 1, 5)
    plant(monkeypatch)
    with pytest.raises((AssertionError, DeviceError)):
        compare(sweep, Simulator(device="cpu", virtual_peers=4).gradient(sweep, sums), sums, most=30)


# --- in words --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"device": "cpu"}, ["single", "on 3 states together", "3 states of 4 KiB", "predicted"]),
        ({"device": "cpu", "virtual_peers": 4}, ["peers", "1 exchange", "a state and a cotangent, 8 KiB", "2 times"]),
        ({"device": "cpu", "device_wires": 5}, ["migrated", "over host memory", "a state and a cotangent"]),
        ({"devices": (0, 1, 2, 3)}, ["gpu:0", "peers: 4 sub state vectors of 7 wires"]),
    ],
)
def test_explained(options: dict[str, Any], words: list[str]) -> None:
    """What a gradient will do is told before it runs, also for GPUs that are not there, and two plans are drawn."""
    sweep, sums = layers(8, 4, bindings=3), observables(8, 2, 4)
    told = Simulator(**options).explain_gradient(sweep, sums)
    for one in [*words, "2 observables, 26 parameters, 3 bindings", "14 Pauli strings with 14 X-parts"]:
        assert one in told
    assert [chart.title for chart in told.charts] == ["forward", "back"]


def test_explained_steps_are_those_that_run() -> None:
    """The sweeps that are told, forward and back, are the steps of which a gradient tells its progress."""
    sweep, sums, seen = layers(6, 9, bindings=1), observables(6, 1, 9), list[int]()
    for options in ({}, {"virtual_peers": 2}):
        simulator = Simulator(device="cpu", progress=lambda _, total: seen.append(total), **options)
        told = simulator.explain_gradient(sweep, sums)
        simulator.gradient(sweep, sums)
        assert sum(len(chart.steps) for chart in told.charts) == seen[-1]


@pytest.mark.parametrize("wires", [6, 7])
def test_an_explanation_is_of_a_state_and_its_cotangent(wires: int) -> None:
    """Pieces hold a wire more than the state has; nothing is there of the cotangent forward, and all the way back."""
    sweep, sums = layers(wires, 4, bindings=1), observables(wires, 1, 4)
    told = Simulator(device="cpu", virtual_peers=4).explain_gradient(sweep, sums)
    assert f"4 sub state vectors of {wires + 1 - 2} wires" in told
    forward, back = told.charts
    assert all(column.absent >> wires - 2 & 1 for column in forward.columns)
    assert not any(column.absent for column in back.columns)
