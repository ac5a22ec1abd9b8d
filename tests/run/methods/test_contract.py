"""The contract of methods: each row answers circuits as definitions do, and says what it is and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pytest
from support.chi_square import probability

from qsim_ex import Circuit, CircuitBuilder, PauliString, PauliSum, Simulator, errors, reference
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.options.methods import METHODS, UNDER, USUAL, Method, MethodRow
from qsim_ex.run.methods.method import ProgramWay, RunMethod, loaded
from qsim_ex.run.worker import WAYS

pytest.importorskip("stim")

SHOTS = 3000


def noisy() -> Circuit:
    """Clifford gates and Pauli noise on three wires, which every method takes."""
    builder = CircuitBuilder(3, 3).gate("h", [0]).gate("cx", [0, 1]).channel(noise.depolarizing(0.2, 2), [0, 1])
    builder.gate("s", [1]).gate("cx", [1, 2]).channel(noise.depolarizing(0.1), [2]).gate("h", [2])
    return builder.measure([0, 1, 2], [0, 1, 2]).build()


def dynamic() -> Circuit:
    """Measurements on the way, a condition on two bits, a reset, and a bit that is written twice."""
    builder = CircuitBuilder(3, 3).gate("h", [0]).gate("cx", [0, 1]).channel(noise.bit_flip(0.2), [1])
    builder.measure([0, 1], [0, 1])
    with builder.condition([0, 1], [1, 2]):
        builder.gate("x", [2])
    return builder.reset([0]).gate("h", [0]).measure([2, 0], [2, 0]).build()


def with_t() -> Circuit:
    """A gate that is not Clifford."""
    return CircuitBuilder(2, 2).gate("h", [0]).gate("t", [0]).measure([0], [0]).build()


def wide() -> Circuit:
    """More wires than fit as amplitudes, and no Clifford circuit."""
    builder = CircuitBuilder(90, 1)
    for wire in range(90):
        builder.gate("ry", [wire], 0.3).gate("cx", [wire, (wire + 1) % 90])
    return builder.measure([0], [0]).build()


@dataclass(frozen=True)
class Case:
    """options: under which the method runs `noisy`. way: what its result calls the way, if it does.

    explained: words of its explanation. refused: a circuit that it refuses, with the error and its words; None if
    another method takes what it does not. takes_all: whether it takes `dynamic` and observables.
    """

    options: Mapping[str, Any]
    method: str
    way: str | None
    explained: str
    refused: tuple[Circuit, type[Exception], str] | None
    takes_all: bool = True


TOO_WIDE = wide(), errors.OutOfMemory, "90 wires"
NO_CLIFFORD = with_t(), errors.NotSupported, "Op 't'"
CASES: Mapping[str, Case] = {
    "narrow_density": Case({}, "density_matrix", "exact density matrix", "exact density matrix", None, False),
    "exact_values": Case({"method": "density_matrix"}, "density_matrix", None, "rows, columns", None),
    "stabilizer": Case({"method": "stabilizer"}, "stabilizer", "Stim", "Stim", NO_CLIFFORD),
    "density_matrix": Case(
        {"method": "density_matrix"}, "density_matrix", None, "rows, columns", (wide(), errors.OutOfMemory, "180 wires")
    ),
    "trajectories": Case(
        {"method": "statevector"}, "statevector", "compiled trajectories", "compiled trajectories", TOO_WIDE
    ),
    "statevector": Case(
        {"method": "statevector", "device_wires": 2}, "statevector", "plans", "sweep", TOO_WIDE
    ),
}  # fmt: skip
"""A case of each row of `METHODS`, and of each way that a program may be simulated in beside plans."""

ALL = pytest.mark.parametrize("name", CASES)
TAKES_ALL = pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.takes_all])


def simulator(name: str, **more: Any) -> Simulator:
    """Return a simulator that runs by a method."""
    return Simulator(device="cpu", **CASES[name].options, **more)


@pytest.fixture
def _nothing_is_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that refuses memory for amplitudes."""

    def refuse(*_given: object, **_named: object) -> None:
        raise AssertionError("memory was allocated")

    monkeypatch.setattr(CpuDevice, "allocate", refuse)


def test_every_row_has_a_case() -> None:
    """The table of methods and the ways of programs are tried here, each by its name."""
    assert set(CASES) == {row.name for row in METHODS} | set(WAYS)


def test_every_value_of_the_option_has_rows() -> None:
    """Under a demanded method there is one row, and under 'automatic' the last one takes every circuit."""
    assert list(UNDER) == list(get_args(Method))
    for value, rows in UNDER.items():
        assert rows[-1] is USUAL[value]
        assert value == "automatic" or [row.method for row in rows] == [value]
        assert all(row.only_if is not None for row in rows[:-1])  # else its file would be loaded for every run


@pytest.mark.parametrize("row", METHODS, ids=lambda row: row.name)
def test_every_row_has_a_file(row: MethodRow) -> None:
    """The file of a row has its method, which suits calls of its own accord exactly if it stands before others."""
    method = loaded(row.name).METHOD
    assert isinstance(method, RunMethod)
    before = any(row in rows[:-1] for rows in UNDER.values())
    assert before == (method.suits.__name__ != "_never")
    assert row.suits


@pytest.mark.parametrize("name", WAYS)
def test_every_way_has_a_file(name: str) -> None:
    """The file of a way says which programs it suits."""
    way = loaded(name).WAY
    assert isinstance(way, ProgramWay)
    assert way.suits is not None
    assert way.description


# --- answers --------------------------------------------------------------------------------------------------------


@ALL
def test_a_result_names_its_method(name: str) -> None:
    """The method and the way stand in the result and in its metadata, which are JSON."""
    result = simulator(name).run(noisy(), 10)
    told = json.loads(json.dumps(result.metadata()))
    assert (told["method"], told.get("way")) == (CASES[name].method, CASES[name].way)


@ALL
def test_shots_have_the_distribution_of_the_definition(name: str) -> None:
    """Shots of noisy Clifford gates are distributed as the definition says."""
    exact = {bits: float(np.trace(rho).real) for bits, rho in reference.by_bits(noisy()).items()}
    assert probability(simulator(name).run(noisy(), SHOTS, seed=11).counts(), exact) > 1e-4


@TAKES_ALL
def test_dynamic_circuits_have_the_distribution_of_the_definition(name: str) -> None:
    """Measurements on the way, conditions and resets too."""
    exact = {bits: float(np.trace(rho).real) for bits, rho in reference.by_bits(dynamic()).items()}
    assert probability(simulator(name).run(dynamic(), SHOTS, seed=12).counts(), exact) > 1e-4


@TAKES_ALL
@pytest.mark.parametrize("made", [noisy, dynamic])
def test_values_are_those_of_the_definition(name: str, made: Any) -> None:
    """Expectation values at the end are exact, or means within five of the standard errors that they have."""
    gates = made()
    gates = Circuit(3, 3, gates.instructions[: gates.structure.gates_end], gates.operands)
    strings = [(x, z) for x in (0, 3, 5) for z in (0, 1, 7)]
    observables = [PauliSum((PauliString(x, z),)) for x, z in strings]
    found = simulator(name, seed=3).run_batch(gates, observables=observables, trajectories=8000)
    expected = [trace_with(reference.density_matrix(gates), x, z) for x, z in strings]
    assert (np.abs(found.values[0] - expected) <= 5 * found.errors[0] + 1e-9).all()


def trace_with(rho: np.ndarray, x: int, z: int) -> float:
    """Return the trace of a density matrix times a Pauli string, by its definition."""
    index = np.arange(len(rho))
    entries = 1j ** (x & z).bit_count() * (-1.0) ** np.bitwise_count(index & z)
    return float((rho[index, index ^ x] * entries).sum().real)


@ALL
def test_seeds_and_batches(name: str) -> None:
    """A seed gives the same shots again, alone or in a batch, and a result holds the seed that gives them."""
    made, run = noisy(), simulator(name).run
    first, fresh = run(made, 200, seed=5), run(made, 200)
    np.testing.assert_array_equal(first.packed, run(made, 200, seed=5).packed)
    np.testing.assert_array_equal(fresh.packed, run(made, 200, seed=fresh.seed).packed)
    assert not np.array_equal(first.packed, run(made, 200, seed=6).packed)
    batch = simulator(name).run_batch(made, Bindings.of(np.repeat(made.operands, 2, axis=0)), shots=200, seeds=[5, 6])
    np.testing.assert_array_equal(batch[0].packed, first.packed)
    np.testing.assert_array_equal(batch[1].packed, run(made, 200, seed=6).packed)


# --- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_nothing_is_allocated")
@ALL
def test_what_is_refused_is_said_before_memory_is_touched(name: str) -> None:
    """A circuit that a method does not run is refused in words, and so is a run that measures nothing."""
    with pytest.raises(errors.MeasurementError, match="expected a measurement"):
        simulator(name).run(CircuitBuilder(3, 3).channel(noise.bit_flip(0.1), [0]).build(), 5)
    if CASES[name].refused is not None:
        circuit, error, words = CASES[name].refused
        with pytest.raises(error, match=words):
            simulator(name).run(circuit, 5)


@pytest.mark.usefixtures("_nothing_is_allocated")
@ALL
def test_explain_tells_of_the_method(name: str) -> None:
    """`explain` says how a circuit would be run, and runs nothing."""
    assert CASES[name].explained in simulator(name).explain(noisy())
