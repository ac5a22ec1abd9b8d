"""Saves of every kind and subtype, anywhere in a circuit, in every placement: what the definition says."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import saves_by_definition
from support.deployments import ON_CPU
from support.pairwise import pairwise
from support.tiny_machine import TinyMachine

from qsim_ex import BatchResult, Circuit, CircuitBuilder, Options, PauliSum, Result, Simulator, errors, reference
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.noise.readout import ReadoutError, confusion
from qsim_ex.circuit.ops import Save
from qsim_ex.circuit.saves import SAVE_KINDS, What
from qsim_ex.devices import discover
from qsim_ex.execution import checkpoints
from qsim_ex.run.machine import Machine

WIRES = 7
SOME = [4, 0, 5]
SUM = PauliSum.from_labels({"XYZ": 0.7, "IZZ": -1.2, "YIX": 0.4, "III": 2.0})
SHOTS = 60


def arguments(what: What) -> dict[str, Any]:
    """Arguments of a save of this kind."""
    return {
        **({"wires": SOME} if SAVE_KINDS[what].some_wires else {}),
        **({"observable": SUM} if SAVE_KINDS[what].asks == "observable" else {}),
        **({"values": [0, 5, 127, 64]} if SAVE_KINDS[what].asks == "values" else {}),
    }


STATE_KINDS = tuple(what for what, row in SAVE_KINDS.items() if not (row.gates_only or row.method))


def save_all(builder: CircuitBuilder, point: str = "", kinds: tuple[What, ...] = STATE_KINDS) -> CircuitBuilder:
    """Save every kind in every way."""
    for what in kinds:
        for how in SAVE_KINDS[what].hows:
            builder.save(f"{point}{what} {how}", what, how=how, **arguments(what))
    builder.save(f"{point}all wires", "density_matrix")
    return builder.save(f"{point}wide", "density_matrix", wires=[3, 6, 1, 0])


def gates(builder: CircuitBuilder, layers: int = 2, turn: float = 0.3) -> CircuitBuilder:
    """Gates that mix every wire and join them all."""
    for layer in range(layers):
        for wire in range(WIRES):
            builder.gate("ry", [wire], turn + wire + layer).gate("rz", [wire], 0.4 + layer)
            builder.gate("cx", [wire, (wire + 1 + layer) % WIRES])
    return builder


def random_state(seed: int) -> np.ndarray:
    """Amplitudes of norm 1."""
    rng = np.random.default_rng(seed)
    found = rng.normal(size=1 << WIRES) + 1j * rng.normal(size=1 << WIRES)
    return found / np.linalg.norm(found)


def measured(builder: CircuitBuilder) -> CircuitBuilder:
    """A measurement, a condition on it, and another measurement of the same wire into another bit."""
    gates(builder).measure([0], [1]).gate("h", [0])
    with builder.condition([1], [1]):
        builder.gate("ry", [2], 0.8)
    return gates(builder.measure([0], [9]), 1)


def noisy(builder: CircuitBuilder) -> CircuitBuilder:
    """Channels that depend on the state, one that does not, and a reset."""
    gates(builder).channel(noise.amplitude_damping(0.3), [4]).channel(noise.depolarizing(0.3), [0])
    return gates(builder.reset([5]).measure([5, 3], [0, 2]), 1)


def set_after(builder: CircuitBuilder) -> CircuitBuilder:
    """A state that is set after a measurement, whose bit stays, and gates on it."""
    gates(builder).measure([3], [1])
    return gates(builder.set_statevector(random_state(1), [3, 1, 0, 2, 6, 5, 4]).measure([2], [3]), 1)


POINTS: dict[str, Callable[[CircuitBuilder], CircuitBuilder]] = {
    "gates": gates,
    "measured": measured,
    "noisy": noisy,
    "set": set_after,
    "set first": lambda builder: gates(builder.set_statevector(random_state(2)), 1),
    "set after gates": lambda builder: gates(gates(builder).set_statevector(random_state(3)), 1),
}


@cache
def circuit(point: str, kinds: tuple[What, ...] = STATE_KINDS) -> Circuit:
    """All saves at a point, gates after it, and measurements at the end."""
    builder = save_all(POINTS[point](CircuitBuilder(WIRES, 10)), "", kinds)
    return gates(builder, 1).measure([0, 4], [0, 4]).build()


ways_to = cache(saves_by_definition.ways_to)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU is a machine of which even small circuits need many sweeps, and which shows what was never written."""
    device = TinyMachine()
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: device)


def run(made: Circuit, deployment: str = "single", shots: int = SHOTS, **options: Any) -> Result:
    """A run on the CPU."""
    return Simulator(device="cpu", **ON_CPU[deployment].options, **options).run(made, shots, seed=5)


def close(found: Any, expected: Any, tolerance: float = 1e-10) -> None:
    """Compare arrays, or dictionaries of arrays with equal keys."""
    if isinstance(expected, dict):
        assert list(found) == sorted(expected)
        for key, value in expected.items():
            close(found[key], value, tolerance)
    else:
        np.testing.assert_allclose(found, expected, atol=tolerance)


def check_each(made: Circuit, result: Result, tolerance: float = 1e-10) -> None:
    """The value of every shot is that of a way with its bits, and all other subtypes follow from those."""
    saves = {i.label: i for i in made.instructions if isinstance(i, Save)}
    ways = ways_to(made, "wide")  # all saves are at one point
    for what in dict.fromkeys(save.what for save in saves.values()):
        save = saves[f"{what} list"]
        each, grouped = result.saved[f"{what} list"], result.saved[f"{what} c_list"]
        values = [(way, saves_by_definition.saved_value(save, way.psi)) for way in ways]
        for key, of_key in grouped.items():
            possible = [value for way, value in values if way.bits == key]
            for value in of_key:
                assert min(differences(value, one) for one in possible) < tolerance
        assert len(each) == sum(map(len, grouped.values()))
        close(sum(of.sum(axis=0) for of in grouped.values()), each.sum(axis=0), 100 * tolerance)
        for how in SAVE_KINDS[what].hows:
            close(result.saved[f"{what} {how}"], put_together(how, each, grouped), 100 * tolerance)


def differences(one: Any, other: Any) -> float:
    """The distance of two values; states of a way are known up to a phase."""
    one, other = np.ravel(one), np.ravel(other)
    if np.iscomplexobj(one) and np.linalg.norm(one):
        phase = np.vdot(other, one)
        other = other * (phase / abs(phase) if abs(phase) > 1e-12 else 1)
    return float(np.abs(one - other).max())


def put_together(how: str, each: np.ndarray, by_key: dict[int, np.ndarray]) -> Any:
    """The values of all trajectories in one of the ways of `saves.How`."""
    if how.startswith("c_"):
        return {key: put_together(how[2:], of, {}) for key, of in by_key.items()}
    return {"single": each[0], "list": each, "average": each.mean(axis=0), "accum": each.sum(axis=0)}[how]


@pytest.mark.parametrize("deployment", ON_CPU)
@pytest.mark.parametrize("point", ["gates", "set first", "set after gates"])
def test_values_are_those_of_the_definition(point: str, deployment: str) -> None:
    """Without random outcomes every kind in every subtype is the value of the one state, in every placement."""
    made = circuit(point)
    result = run(made, deployment)
    (way,) = ways_to(made, "wide")  # all saves are at one point
    for save in (i for i in made.instructions if isinstance(i, Save)):
        value = saves_by_definition.saved_value(save, way.psi)
        value = value[None] if "list" in save.how else value
        close(result.saved[save.label], {0: value} if save.by_memory else value)


@pytest.mark.parametrize("deployment", ["single", "peers 2", "migrated, 3 windows", "peers over host"])
@pytest.mark.parametrize("point", ["measured", "noisy", "set"])
def test_values_of_shots_are_those_of_ways_with_their_bits(point: str, deployment: str) -> None:
    """After random outcomes each shot's value is that of a way with its bits; means and sums are those of the shots."""
    made = circuit(point)
    check_each(made, run(made, deployment))


@pytest.mark.parametrize("point", ["measured", "noisy", "set"])
def test_means_are_those_of_the_density_matrix(point: str) -> None:
    """Means over many shots are those of all ways, within what chance allows."""
    made, shots = circuit(point, ("probabilities", "expectation_value", "density_matrix")), 3000
    result = run(made, shots=shots)
    ways = ways_to(made, "wide")
    for save in (i for i in made.instructions if isinstance(i, Save) and i.how in ("average", "c_average")):
        for key, value in result.saved[save.label].items() if save.by_memory else [(None, result.saved[save.label])]:
            mine = [way for way in ways if key in (None, way.bits)]
            total = sum(way.probability for way in mine)
            mean = sum(way.probability * saves_by_definition.saved_value(save, way.psi) for way in mine) / total
            assert np.abs(value - mean).max() < 6 * np.abs(SUM.terms[1].coefficient) / np.sqrt(shots * total)


def test_a_list_is_in_the_order_of_the_shots() -> None:
    """Value k of a list is that of shot k: its measured wire has the bit that the shot has."""
    builder = CircuitBuilder(2, 2).gate("h", [0]).measure([0], [1]).gate("x", [0])
    made = builder.save("z", "expectation_value", wires=[0], how="list", observable=PauliSum.from_labels({"Z": 1.0}))
    result = Simulator(device="cpu").run(made.build(), 300, seed=4)
    bits = result.bits()[:, 1]
    assert 100 < bits.sum() < 200
    np.testing.assert_allclose(result.saved["z"], 2.0 * bits - 1)


def test_classical_bits_are_those_that_were_read() -> None:
    """A save for each value of the classical bits sees readout errors, as a condition does."""
    builder = CircuitBuilder(1, 1).gate("h", [0]).measure([0], [0])
    made = builder.save("p", "probabilities", how="c_accum").gate("h", [0]).build()
    errors_ = (ReadoutError((0,), confusion([[0.9, 0.1], [0.4, 0.6]], 1)),)
    result = Simulator(device="cpu").run(made, 2000, seed=1, readout=errors_)
    found = np.array([result.saved["p"][key] for key in (0, 1)])
    np.testing.assert_allclose(found, 1000 * np.array([[0.9, 0.4], [0.1, 0.6]]), atol=120)
    assert {key: int(value.sum().round()) for key, value in result.saved["p"].items()} == result.counts()


@pytest.mark.parametrize("deployment", ["single", "migrated, 3 windows"])
def test_a_batch_has_the_values_of_each_binding(deployment: str) -> None:
    """Every binding of a batch has the values of its own run."""
    made = circuit("measured")
    bindings = np.concatenate([circuit_with(turn).operands for turn in (0.3, 1.1, 2.0)])
    simulator = Simulator(device="cpu", **ON_CPU[deployment].options)
    batch = simulator.run_batch(made, bindings, shots=20, seeds=[1, 2, 3])
    for k, turn in enumerate((0.3, 1.1, 2.0)):
        alone = simulator.run(circuit_with(turn), 20, seed=k + 1)
        assert list(batch[k].saved) == list(alone.saved)
        for label, value in alone.saved.items():
            close(batch[k].saved[label], value, 1e-12)


def circuit_with(turn: float) -> Circuit:
    """The measured circuit with other angles."""
    builder = gates(CircuitBuilder(WIRES, 10), turn=turn).measure([0], [1]).gate("h", [0])
    with builder.condition([1], [1]):
        builder.gate("ry", [2], 0.8)
    builder = save_all(gates(builder.measure([0], [9]), 1))
    return gates(builder, 1).measure([0, 4], [0, 4]).build()


@pytest.mark.parametrize("point", POINTS)
def test_values_on_each_device(options: Options, point: str) -> None:
    """Values of 40 shots are those of ways with their bits on every device, to the rounding of its precision."""
    made, tolerance = circuit(point), 1e-10 if options.precision == "double" else 2e-5
    check_each(made, Simulator(options).run(made, 40, seed=5), tolerance)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("point", ["measured", "noisy", "set"])
def test_shots_that_begin_again_are_counted_once(monkeypatch: pytest.MonkeyPatch, point: str, rows: int) -> None:
    """Where few states fit, branches pass a save again and again; means and sums are those of every shot once."""
    monkeypatch.undo()
    made = circuit(point)
    whole = run(made)
    monkeypatch.setattr(Machine, "_rows", lambda _machine, _program, _least: rows)
    narrow = run(made)
    assert narrow.facts["rows"] <= rows
    assert rows > 1 or narrow.facts["states"] > 1
    for label, value in whole.saved.items():
        close(narrow.saved[label], value)


# --- without shots, and the number of trajectories --------------------------------------------------------------------


def test_means_have_trajectories_without_shots() -> None:
    """A saved mean is of 1,000 trajectories, or as many as are asked for; without means one trajectory is enough."""
    builder = CircuitBuilder(1, 1).gate("h", [0]).measure([0], [0])
    mean = Circuit(
        1, 1, (*builder.build().instructions, Save("p", "probabilities", how="average")), builder.build().operands
    )
    for trajectories, expected in ((None, 1000), (10, 10)):
        found = Simulator(device="cpu").run_batch(mean, trajectories=trajectories, seeds=1)
        assert found.trajectories == expected
        assert (found.saved["p"][0] * expected).tolist() == pytest.approx(
            (found.saved["p"][0] * expected).round().tolist()
        )
    builder.save("s", how="list")
    assert Simulator(device="cpu").run(builder.build()).saved["s"].shape == (1, 2)


def test_the_state_of_the_end_ignores_saves() -> None:
    """`Simulator.state` ignores saves, and begins where the state is set last; a given state is not discarded."""
    made = gates(save_all(gates(CircuitBuilder(WIRES)))).set_statevector(random_state(4)).gate("h", [0]).build()
    simulator = Simulator(device="cpu")
    with simulator.state(made) as state:
        close(state.to_numpy(), reference.simulate(made))
    with (
        simulator.state(gates(CircuitBuilder(WIRES)).build()) as state,
        pytest.raises(errors.NotSupported, match="initial"),
    ):
        state.apply(made)


def test_a_plan_tells_of_saves() -> None:
    """`explain` names what is saved and where the state is set."""
    told = Simulator(device="cpu").explain(circuit("set after gates"))
    assert "the probabilities of the state is saved as 'probabilities average'" in told
    assert "the state before is discarded" in told


# --- unitaries --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deployment", ["single", "peers 2", "migrated, 3 windows"])
def test_a_unitary_is_that_of_the_gates_before_it(deployment: str) -> None:
    """The unitary has the columns of the definition, whatever follows it, for every binding of a batch."""

    def made(turn: float) -> Circuit:
        builder = CircuitBuilder(3, 3).gate("h", [0]).gate("crx", [0, 2], turn).permutation([1, 2, 3, 0], [2, 1])
        builder.save("u", "unitary").gate("ry", [1], 2 * turn).save("all", "unitary", how="list").channel(
            noise.depolarizing(0.2), [0]
        )
        return builder.measure([0], [0]).gate("h", [0]).save("p", "probabilities").build()

    options = {} if deployment == "single" else {**ON_CPU[deployment].options, "max_memory": None}
    simulator = Simulator(device="cpu", **{k: v for k, v in options.items() if v is not None})
    batch = simulator.run_batch(made(0.3), np.concatenate([made(0.3).operands, made(0.9).operands]), shots=5, seeds=1)
    for k, turn in enumerate((0.3, 0.9)):
        close(batch[k].saved["u"], saves_by_definition.unitary_at(made(turn), "u"))
        close(batch[k].saved["all"][0], saves_by_definition.unitary_at(made(turn), "all"))


@pytest.mark.parametrize("before", ["measure", "reset", "channel", "initialize", "set"])
def test_a_unitary_needs_gates_alone(before: str) -> None:
    """The save of a unitary after something that is no gate is refused, and says after what."""
    builder = CircuitBuilder(2, 2).gate("h", [0])
    match before:
        case "measure":
            builder.measure([0], [0])
        case "reset":
            builder.reset([1])
        case "channel":
            builder.channel(noise.depolarizing(0.2), [0])
        case "initialize":
            builder.initialize([0, 1], [1])
        case _:
            builder.set_statevector([0, 1, 0, 0])
    with pytest.raises(errors.NotSupported, match=r"expected only gates before the save of a unitary \('unitary'\)"):
        Simulator(device="cpu").run(builder.save(what="unitary").build())


def test_memory_is_checked_first() -> None:
    """A unitary, a list of states and a density matrix that do not fit are refused with what they need."""
    wide = CircuitBuilder(20).gate("h", [0])
    with pytest.raises(errors.OutOfMemory, match=r"'unitary' needs 16 TiB"):
        Simulator(device="cpu").run(wide.save(what="unitary").build())
    builder = CircuitBuilder(20).gate("h", [0]).save("rho", "density_matrix")
    with pytest.raises(errors.OutOfMemory, match=r"'rho' needs 16 TiB"):
        Simulator(device="cpu").run(builder.build())
    builder = CircuitBuilder(20, 1).gate("h", [0]).measure([0], [0]).save("s", how="list")
    with pytest.raises(errors.OutOfMemory, match=r"100001 times, need 1.5 TiB"):
        Simulator(device="cpu").run(builder.build(), 100_000)
    with pytest.raises(errors.OutOfMemory, match=r"unitary of 5 wires is computed as a state of 10 wires"):
        Simulator(device="cpu", max_memory=1 << 12).run(CircuitBuilder(5).save(what="unitary").build())


# --- checkpoints ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("point", "deployment", "part"),
    pairwise(["gates", "noisy", "set"], ["single", "peers 2", "migrated, 3 windows"], [0.2, 0.55, 0.9]),
)
def test_a_stopped_run_ends_with_the_same_values(tmp_path: Path, point: str, deployment: str, part: float) -> None:
    """A run that was stopped goes on and counts every shot once: all values are those of an undisturbed run."""
    made = circuit(point)
    whole = run(made, deployment, shots=5)

    def stop(done: int, total: int) -> None:
        if done >= part * total:
            raise KeyboardInterrupt

    kept = {"checkpoint": tmp_path / "run", "checkpoint_every": 0}
    with pytest.raises(KeyboardInterrupt):
        run(made, deployment, shots=5, progress=stop, **kept)
    again = run(made, deployment, shots=5, **kept)
    assert np.array_equal(again.packed, whole.packed)
    for label, value in whole.saved.items():
        close(again.saved[label], value)
    assert list(tmp_path.iterdir()) == []


def test_no_state_is_written_before_what_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the file of what was saved cannot be written, no state is written after it, and the run begins again."""
    made, kept = circuit("gates"), {"checkpoint": tmp_path / "run", "checkpoint_every": 0}

    def full(*_: Any) -> None:
        raise errors.SavedStateError("the disk is full")

    def stop(done: int, total: int) -> None:
        if done == total - 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "written", full)
        with pytest.raises(KeyboardInterrupt), pytest.warns(RuntimeWarning, match="the disk is full"):
            run(made, "peers 2", progress=stop, **kept)
    again, whole = run(made, "peers 2", **kept), run(made, "peers 2")
    for label, value in whole.saved.items():
        close(again.saved[label], value)


def test_what_was_saved_must_be_there(tmp_path: Path) -> None:
    """A state in progress without the file of what was saved before it is an error that names the file."""
    made, kept = circuit("gates"), {"checkpoint": tmp_path / "run", "checkpoint_every": 0}

    def stop(done: int, total: int) -> None:
        if done == total - 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(made, "peers 2", progress=stop, **kept)
    (tmp_path / "run.found").unlink()
    with pytest.raises(errors.SavedStateError, match="what was saved before it is missing"):
        run(made, "peers 2", **kept)


# --- what the builder refuses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"what": "probabilitys"}, "Did you mean 'probabilities'"),
        ({"how": "average"}, "expected one of single, list"),
        ({"wires": [0]}, "which is of all wires"),
        ({"what": "probabilities", "wires": [0, 0]}, "wire 0 twice"),
        ({"what": "probabilities", "values": [0]}, "expected probabilities without further arguments, got values"),
        ({"what": "amplitudes"}, r"expected amplitudes with values=…, got no values"),
        ({"what": "amplitudes", "values": [8]}, r"expected basis values 0 <= v < 8, got 8"),
        ({"what": "expectation_value", "observable": SUM, "wires": [0]}, "on 1 wires, got one on 3"),
        ({"what": "expectation_value", "observable": PauliSum.from_labels({"X": 1j})}, "expected a Hermitian"),
        ({"label": "taken"}, "taken"),
    ],
)
def test_refused(given: dict[str, Any], told: str) -> None:
    """Arguments that do not fit a kind are refused before anything is appended."""
    builder = CircuitBuilder(3).save("taken")
    with pytest.raises((errors.CircuitError, errors.WireError), match=told):
        builder.save(**given)
    assert len(builder.build().instructions) == 1


def test_a_batch_result_is_a_sequence() -> None:
    """The saved values of a batch have one item for each binding, whatever their kind."""
    made = circuit("measured")
    found: BatchResult = Simulator(device="cpu").run_batch(made, np.repeat(made.operands, 2, 0), shots=3, seeds=1)
    assert {len(value) for value in found.saved.values()} == {2}


def test_the_digest_of_old_circuits_stays() -> None:
    """The text of a save of the state is that of version 0.1, of which digests of structures are made."""
    assert repr(Save("a")) == "Save(label='a')"


def test_squares_of_sums() -> None:
    """The square of a Pauli sum is that of its matrix."""
    save = Save("s", "expectation_value", observable=SUM)
    matrix = saves_by_definition.observable_of(save, 3)
    square = saves_by_definition.observable_of(Save("s", "expectation_value", observable=SUM.squared()), 3)
    np.testing.assert_allclose(square, matrix @ matrix, atol=1e-12)
