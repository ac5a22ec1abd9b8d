"""Tests of runs of what is written out of a circuit's form: the same answers, taken where it is faster, and told."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.deployments import ON_CPU
from support.held import Hold

from benchmarks.engine import circuit_of
from benchmarks.forms import transpiled
from qsim_ex import Circuit, CircuitBuilder, PauliSum, Simulator, reference
from qsim_ex.circuit.structure import structure_of
from qsim_ex.run.written_out import Where
from qsim_ex.steps import Plan
from tools.fuzz.thresholds import WRITTEN
from tools.golden_counts import FAMILIES

N = 8


def with_end(gates: Circuit, measured: bool = False, saves: bool = False) -> Circuit:
    """Return gates with a measurement of all wires, or saves, behind them."""
    builder = CircuitBuilder(N, N)
    if saves:
        builder.save("psi").save("rho", "density_matrix", wires=[2, 0])
        builder.save("p", "probabilities", wires=[1, 3])
    if measured:
        builder.measure(range(N), range(N))
    whole = structure_of(N, N, (*gates.instructions, *builder.build().instructions))
    return Circuit.of_structure(whole, gates.operands)


def gates(name: str) -> Circuit:
    """Return a family of the benchmarks in the gates of a machine."""
    return transpiled(FAMILIES[name](N), N, ("rz", "sx", "x", "cz"), 1)


@pytest.mark.parametrize(("name", "where"), [("uccsd", "single"), *(("hubbard", where) for where in ON_CPU)])
def test_what_is_written_out_has_the_answers_of_the_circuit(name: str, where: str, hold: Hold) -> None:
    """Saved states, shots of a seed and means are those of the circuit, in every placement, and results tell it."""
    hold(**WRITTEN)
    made, simulator = gates(name), Simulator(device="cpu", precision="double", **ON_CPU[where].options)
    psi = reference.simulate(made)
    found = simulator.run(with_end(made, saves=True))
    assert found.provenance.facts["written"] == "as Pauli rotations"
    np.testing.assert_allclose(found.saved["psi"], psi, atol=1e-10)
    with simulator.state(made) as state:
        np.testing.assert_allclose(state.to_numpy(), psi, atol=1e-10)
    shots = [simulator.run(with_end(made, measured=True), 200, seed=5)]
    some = PauliSum.from_labels({"XYZIIZZX": 0.7, "IZZXIIII": -1.2})
    means = [simulator.run_batch(made, observables=[some])]
    hold(written_percent=0)
    shots.append(simulator.run(with_end(made, measured=True), 200, seed=5))
    means.append(simulator.run_batch(made, observables=[some]))
    plain = simulator.run(with_end(made, saves=True))
    assert "written" not in plain.provenance.facts
    for label in ("rho", "p"):
        np.testing.assert_allclose(found.saved[label], plain.saved[label], atol=1e-10)
    assert np.array_equal(shots[0].packed, shots[1].packed)
    np.testing.assert_allclose(means[0].values, means[1].values, atol=1e-10)


def plans_of(simulator: Simulator, circuit: Circuit) -> int:
    """Return how many gates the plans of a circuit have."""
    return sum(plan.num_gates for plan in simulator.plans(circuit))


def test_a_circuit_in_another_basis_takes_the_faster_plan() -> None:
    """A large circuit in a machine's gates is planned as its form is written, and explained so; a dense one is not."""
    simulator = Simulator(device="cpu", precision="single")
    made = transpiled(FAMILIES["uccsd"](20), 20, ("rz", "sx", "x", "cz"), 1)
    assert plans_of(simulator, made) < len(made.instructions) / 4
    assert "the circuit runs as Pauli rotations" in str(simulator.explain(made))
    dense = circuit_of(FAMILIES["brick"](20), 20)
    assert plans_of(simulator, dense) == len(dense.instructions)
    assert "Pauli rotations" not in str(simulator.explain(dense))


def reset(builder: CircuitBuilder) -> CircuitBuilder:
    """Something random in the middle."""
    return builder.gate("h", [0]).reset([0]).gate("h", [0])


@pytest.mark.parametrize(
    "numbers", [{"written_microseconds": 1 << 40}, {"gates_of_a_rotation": 1 << 20}, {"written_percent": 1}]
)
def test_what_takes_no_time_or_is_not_faster_runs_as_it_came(numbers: dict[str, int], hold: Hold) -> None:
    """Short runs, dense circuits and what is not predicted to be faster stay what they are."""
    hold(**(WRITTEN | numbers))
    found = Simulator(device="cpu").run(with_end(gates("hubbard"), measured=True), 10)
    assert "written" not in found.provenance.facts


def test_what_is_slower_in_one_place_is_tried_in_another(hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """That a structure is not faster is known of the placement in which it was tried, and of no other."""

    def seconds(where: Where, plans: Sequence[Plan]) -> float:
        gates = float(sum(plan.num_gates for plan in plans))
        return gates if where.options.virtual_peers == 1 else 1 / gates

    monkeypatch.setattr(Where, "seconds", seconds)
    hold(**(WRITTEN | {"written_percent": 100}))
    made = with_end(gates("uccsd"), measured=True)
    told = [
        "written" in Simulator(device="cpu", virtual_peers=peers).run(made, 10).provenance.facts for peers in (2, 1, 2)
    ]
    assert told == [False, True, False]


def test_what_takes_longer_to_plan_than_to_run_is_planned_when_it_comes_again(hold: Hold) -> None:
    """A first run does not wait for a plan that takes longer than it; later ones have it, and `explain` shows it."""
    hold(**(WRITTEN | {"planned_microseconds": 1 << 40}))
    simulator, made = Simulator(device="cpu"), with_end(gates("uccsd"), measured=True)
    assert "as Pauli rotations" in str(simulator.explain(made))
    told = ["written" in simulator.run(made, 10).provenance.facts for _ in range(3)]
    assert told == [False, True, True]


def test_other_runs_are_as_they_came(hold: Hold) -> None:
    """Many bindings, something random before the end and gates behind a save are run as they came."""
    hold(**WRITTEN)
    simulator = Simulator(device="cpu")
    two = Circuit.of_structure(gates("ucc").structure, np.repeat(gates("ucc").operands, 2, axis=0))
    results = [
        simulator.run_batch(two, observables=[PauliSum.from_labels({"Z" * N: 1.0})]),
        simulator.run(reset(CircuitBuilder(1, 1)).measure([0], [0]).build(), 10),
        simulator.run(CircuitBuilder(2).gate("h", [0]).save("a").gate("cx", [0, 1]).build()),
    ]
    assert not [one for one in results if "written" in one.provenance.facts]
