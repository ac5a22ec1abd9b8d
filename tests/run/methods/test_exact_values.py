"""Means that a density matrix has too are taken from it where that costs less, and from trajectories elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.noisy_circuits import random_noisy
from support.saves_by_definition import saved_value

from qsim_ex import Circuit, CircuitBuilder, Expression, PauliString, PauliSum, Simulator, errors, reference
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.noise.readout import ReadoutError, confusion
from qsim_ex.circuit.saves import Save

OBSERVABLE = PauliSum((PauliString(0b011, 0b100, 0.7), PauliString(0b100, 0b110, -0.4), PauliString(0, 0b101, 1.1)))
TRAJECTORIES = 4000


SAVES = (
    Save("mean", "expectation_value", None, "average", OBSERVABLE),
    Save("some", "probabilities", (2, 0), "average"),
    Save("squares", "amplitudes_squared", None, "average", values=(5, 0)),
    Save("rho", "density_matrix", (1, 2), "average"),
)
"""One of each linear kind."""


def simple(channel: np.ndarray | None = None) -> CircuitBuilder:
    """Return a noisy pair of wires."""
    builder = CircuitBuilder(2, 2).gate("ry", [0], 0.7).gate("cx", [0, 1])
    return builder.channel(noise.amplitude_damping(0.2) if channel is None else channel, [1])


Z = PauliSum((PauliString(0, 1),))


# --- answers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_values_are_those_of_the_definition_and_of_trajectories(seed: int) -> None:
    """Values after drawn noise, measurements, resets and conditions are exact, and trajectories have them as means."""
    circuit = random_noisy(3, 14, seed, ("pauli", "pauli pair", "damping", "kraus", "measure", "reset", "condition"))
    saving = Circuit(3, 3, (*circuit.instructions, *SAVES), circuit.operands)
    weights, states = np.linalg.eigh(reference.density_matrix(circuit))
    found = Simulator(device="cpu").run(saving, TRAJECTORIES, seed=seed)
    drawn = Simulator(device="cpu", method="statevector").run(saving, TRAJECTORIES, seed=seed)
    assert (found.facts["method"], drawn.facts["method"]) == ("density_matrix", "statevector")
    assert "density matrix" in found.facts["method_reason"]
    for save in SAVES:
        value = sum(weight * saved_value(save, psi) for weight, psi in zip(weights, states.T, strict=True))
        np.testing.assert_allclose(found.saved[save.label], value, atol=1e-12)
        assert np.abs(drawn.saved[save.label] - value).max() < 5 * 2.2 / np.sqrt(TRAJECTORIES)


def test_observables_at_the_end_are_exact_for_every_binding() -> None:
    """Values at the end have no errors, with classical bits that are misread and conditions on them."""
    builder = CircuitBuilder(2, 1).gate("ry", [0], 0.7).channel(noise.depolarizing(0.2), [0]).measure([0], [0])
    with builder.condition([0], [1]):
        builder.gate("x", [1])
    circuit = builder.gate("h", [0]).build()
    one = PauliSum((PauliString(0, 2),))
    readout = (ReadoutError((0,), confusion([[0.9, 0.1], [0.3, 0.7]], 1)),)
    found = Simulator(device="cpu").run_batch(circuit, observables=[one], readout=readout)
    likely = (1 - 0.8 * np.cos(0.7)) / 2  # that the bit is 1
    read = 0.7 * likely + 0.1 * (1 - likely)
    assert found.values[0, 0] == pytest.approx(1 - 2 * read, abs=1e-12)
    assert (found.errors[0, 0], found.trajectories) == (0, None)


def test_shots_beside_saves_are_drawn_from_the_density_matrix() -> None:
    """Shots of a circuit that saves a mean repeat with their seed, and have the distribution of the density matrix."""
    circuit = simple().save("z", "expectation_value", wires=[0], observable=Z).measure([0, 1], [0, 1]).build()
    run = Simulator(device="cpu").run
    found, again = run(circuit, 20_000, seed=3), run(circuit, 20_000, seed=3)
    np.testing.assert_array_equal(found.packed, again.packed)
    share = sum(count for bits, count in found.counts().items() if bits & 1) / 20_000
    assert abs(share - (1 - found.saved["z"]) / 2) < 5 * 0.5 / np.sqrt(20_000)
    assert found.saved["z"] == pytest.approx(np.cos(0.7), abs=1e-12)


# --- which calls ----------------------------------------------------------------------------------------------------


def method_of(builder: CircuitBuilder, tmp_path: Path | None = None, **how: Any) -> str:
    """Return the method that ran a circuit, with a checkpoint if there is a path."""
    options = {name: how.pop(name) for name in ("device_wires", "virtual_peers", "max_memory") if name in how}
    if tmp_path is not None:
        options["checkpoint"] = tmp_path / "point"
    found = Simulator(device="cpu", **options).run_batch(builder.build(), **how)
    return str(found.provenance.facts["method"])


@pytest.mark.parametrize(
    "save",
    [
        ("statevector", "single"),
        ("amplitudes", "single"),
        ("expectation_value_variance", "average"),
        ("density_matrix", "list"),
        ("density_matrix", "accum"),
        ("density_matrix", "c_average"),
    ],
    ids=" ".join,
)
def test_what_belongs_to_trajectories_is_drawn(save: tuple[str, Any]) -> None:
    """Values that are not linear, of single trajectories, sums, and by classical memory are those of trajectories."""
    what, how = save
    more = {"amplitudes": {"values": [0]}, "expectation_value_variance": {"observable": Z}}.get(what, {})
    alone = simple().save("mean", "density_matrix")
    assert method_of(alone) == "density_matrix"
    assert method_of(simple().save("mean", "density_matrix").save("other", what, how=how, **more)) == "statevector"


def test_a_number_of_trajectories_is_a_demand_where_values_have_errors(tmp_path: Path) -> None:
    """Trajectories that are asked for are drawn, and so is a single one, what is divided, and what is checkpointed."""
    saved = simple().save("rho", "density_matrix")
    assert method_of(simple(), observables=[Z]) == "density_matrix"
    assert method_of(simple(), observables=[Z], trajectories=500) == "statevector"
    assert method_of(saved, trajectories=500) == "density_matrix"
    assert method_of(saved, trajectories=1) == "statevector"
    assert method_of(saved, device_wires=1, virtual_peers=2) == "statevector"
    assert method_of(saved, tmp_path) == "statevector"
    assert method_of(saved, max_memory=64) == "statevector"
    assert method_of(CircuitBuilder(2, 2).reset([0]).save("rho", "density_matrix")) == "statevector"


def test_trajectories_are_drawn_where_few_choose_otherwise(hold: Any) -> None:
    """Wider states are drawn if trajectories nearly all choose alike, or are few; idle wires do not count."""

    def ladder(wires: int, p: float) -> CircuitBuilder:
        builder = CircuitBuilder(40)
        for wire in range(wires):
            builder.gate("ry", [3 * wire], 0.3).channel(noise.depolarizing(p), [3 * wire])
            builder.gate("cx", [0, 3 * wire + 3])
        return builder.save("z", "expectation_value", wires=[0], observable=Z)

    hold(exact_wires=4)
    assert method_of(ladder(3, 1e-6)) == "density_matrix"
    assert method_of(ladder(7, 1e-6)) == "statevector"
    assert method_of(ladder(6, 0.2)) == "density_matrix"
    assert method_of(ladder(7, 0.2), trajectories=100) == "statevector"
    assert method_of(ladder(11, 0.2), trajectories=10**4) == "statevector"


def test_control_flow_keeps_trajectories() -> None:
    """Circuits with blocks are drawn, as without the rule."""
    builder = simple().measure([0], [0])
    with builder.branch(Expression.of_bits([0])):
        builder.measure([1], [1])
    assert method_of(builder.save("rho", "density_matrix")) == "statevector"


def test_explain_says_so() -> None:
    """The explanation of a circuit says that its saves are exact."""
    told = Simulator(device="cpu").explain(simple().save("rho", "density_matrix").build())
    assert "exact density matrix" in told
    assert "exact density matrix" not in Simulator(device="cpu").explain(simple().save("psi").build())


def test_what_is_wrong_is_refused_as_ever() -> None:
    """A run that measures nothing is refused, and observables on wires that the circuit has not."""
    saved = simple().save("rho", "density_matrix").build()
    with pytest.raises(errors.MeasurementError, match="expected a measurement"):
        Simulator(device="cpu").run(saved, 5)
    with pytest.raises(errors.WireError, match="observables on wires"):
        Simulator(device="cpu").run_batch(saved, observables=[PauliSum((PauliString(0, 8),))])
