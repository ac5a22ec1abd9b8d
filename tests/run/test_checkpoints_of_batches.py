"""Runs with noise, measurements in the middle, bindings and observables continue from their checkpoints."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.deployments import ON_CPU
from support.pairwise import pairwise

from qsim_ex import BatchResult, Checkpoint, CircuitBuilder, JobCheckpoint, PauliString, PauliSum, Simulator
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.noise.readout import ReadoutError, confusion
from qsim_ex.errors import SavedStateError

WIRES = 6
SUMS = [PauliSum((PauliString(0, 1),)), PauliSum((PauliString(2, 4),))]
PLACES = {"together": "single", "one by one": "peers 2", "migrated": "migrated, 3 windows"}
"""How the states of a batch are worked on, and the row of `ON_CPU` that leads to it."""


def noisy(*, saved: bool = False) -> Circuit:
    """Noise, a measurement, a condition on its bit and a reset, among gates."""
    builder = CircuitBuilder(WIRES, WIRES)
    for layer in range(3):
        for wire in range(WIRES):
            builder.gate("ry", [wire], 0.3 + wire).gate("cx", [wire, (wire + 1 + layer) % WIRES])
        builder.channel(noise.amplitude_damping(0.2), [layer]).channel(noise.depolarizing(0.1), [layer + 1])
        builder.measure([layer], [layer])
        with builder.condition([layer], [1]):
            builder.gate("x", [layer + 2])
        builder.reset([layer + 1])
    if saved:
        builder.save("end")
    return builder.measure(range(WIRES), range(WIRES)).build()


def plain() -> Circuit:
    """Gates alone, with a state that is saved on the way."""
    builder = CircuitBuilder(WIRES, WIRES)
    for wire in range(WIRES):
        builder.gate("ry", [wire], 0.3 + wire).gate("cx", [wire, (wire + 1) % WIRES])
    return builder.save("way").gate("h", [0]).measure(range(WIRES), range(WIRES)).build()


def stop_at(part: float) -> Callable[[int, int], None]:
    """A progress callback that raises when so much of a run is done."""

    def progress(done: int, total: int) -> None:
        if done >= part * total:
            raise KeyboardInterrupt

    return progress


def run(made: Circuit, where: str, **options: Any) -> BatchResult:
    """A batch of three bindings, or trajectories of one, and what is asked of them."""
    asked = {name: options.pop(name) for name in ("shots", "observables", "trajectories", "readout") if name in options}
    bindings = np.repeat(made.operands, options.pop("bindings", 1), axis=0)
    seeds = options.pop("seeds", None)
    simulator = Simulator(device="cpu", checkpoint_every=0, **ON_CPU[PLACES[where]].options, **options)
    return simulator.run_batch(made, bindings, seeds=seeds, **asked)


CASES: dict[str, tuple[Circuit, dict[str, Any]]] = {
    "shots with noise": (noisy(), {"shots": 20}),
    "one trajectory, saved": (noisy(saved=True), {"shots": 1}),
    "values with noise": (noisy(), {"observables": SUMS, "trajectories": 20}),
    "bindings": (plain(), {"shots": 20, "bindings": 5}),
    "misread bits": (noisy(), {"shots": 20, "readout": (ReadoutError((0,), confusion([[0.8, 0.2], [0.3, 0.7]], 1)),)}),
}


@pytest.mark.parametrize(("case", "where", "part"), pairwise([*CASES], [*PLACES], [0.3, 0.95]))
def test_a_run_goes_on_with_the_same_result(tmp_path: Path, case: str, where: str, part: float) -> None:
    """A stopped run continues without a seed, does only what is left, and ends as if it had not been stopped."""
    made, asked = CASES[case]
    path, told = tmp_path / "run", []
    whole = run(made, where, seeds=7, **asked)
    with pytest.raises(KeyboardInterrupt):
        run(made, where, seeds=7, checkpoint=path, progress=stop_at(part), **asked)
    left = list(tmp_path.iterdir())
    again = run(
        made, where, seeds=None if left else 7, checkpoint=path, progress=lambda *done: told.append(done), **asked
    )
    assert again.seeds == whole.seeds
    if whole.packed is not None:
        assert np.array_equal(again.packed, whole.packed)
    for label, states in whole.saved.items():
        np.testing.assert_allclose(again.saved[label], states, atol=1e-12)
    np.testing.assert_allclose(again.values, whole.values, atol=1e-12)
    np.testing.assert_allclose(again.errors, whole.errors, atol=1e-12)
    assert told[-1][0] == told[-1][1]
    assert list(tmp_path.iterdir()) == []
    if part > 0.9 and where != "together":
        assert left
        assert told[0][0] > 0


@pytest.mark.parametrize("ways", [("one by one", "together"), ("together", "one by one"), ("one by one", "migrated")])
@pytest.mark.parametrize("case", ["shots with noise", "values with noise", "bindings"])
def test_a_run_goes_on_in_another_way(tmp_path: Path, case: str, ways: tuple[str, str]) -> None:
    """What was begun one state after another goes on with many at a time, and back; nothing is done twice."""
    made, asked = CASES[case]
    asked = {**asked, **{name: 100 for name in ("shots", "trajectories") if asked.get(name)}}
    path, told = tmp_path / "run", []
    for way, part in zip((*ways, *ways), (0.3, 0.5, 0.7, 0.9), strict=True):
        with pytest.raises(KeyboardInterrupt):
            run(made, way, seeds=7, checkpoint=path, progress=stop_at(part), **asked)
    assert list(tmp_path.iterdir())
    again = run(made, "together", checkpoint=path, progress=lambda *done: told.append(done), **asked)
    whole = run(made, "together", seeds=7, **asked)
    assert again.packed is None or np.array_equal(again.packed, whole.packed)
    np.testing.assert_allclose(again.values, whole.values, atol=1e-12)
    assert list(tmp_path.iterdir()) == []
    assert told[0][0] > 0


def test_a_state_goes_on(tmp_path: Path) -> None:
    """`Simulator.state` takes a state from its checkpoint and leaves no file behind."""
    made, path, told = plain(), tmp_path / "run", []
    with Simulator(device="cpu").state(made) as state:
        wanted = state.to_numpy()
    options: dict[str, Any] = {"device": "cpu", "device_wires": 3, "checkpoint": path, "checkpoint_every": 0}
    with pytest.raises(KeyboardInterrupt):
        Simulator(**options, progress=stop_at(0.7)).state(made)
    assert path.exists()
    with Simulator(**options, progress=lambda *done: told.append(done)).state(made) as state:
        np.testing.assert_allclose(state.to_numpy(), wanted, atol=1e-12)
    assert 0 < told[0][0] < told[-1][0] == told[-1][1]
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_ends_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint that cannot be written raises one warning, and the run reaches its result."""

    def full(*_: Any, **__: Any) -> None:
        raise SavedStateError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr("qsim_ex.execution.checkpoints.save", full)
    monkeypatch.setattr("qsim_ex.execution.checkpoints.written", full)
    for where in ("one by one", "migrated"):
        made, asked = CASES["shots with noise"]
        with pytest.warns(RuntimeWarning, match="goes on without a new checkpoint") as told:
            found = run(made, where, seeds=7, checkpoint=tmp_path / "run", **asked)
        assert len(told) == 1
        assert np.array_equal(found.packed, run(made, where, seeds=7, **asked).packed)


@pytest.mark.parametrize("change", [{"shots": 41}, {"seeds": 8}, {"bindings": 4}])
def test_another_batch_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    """The checkpoint of a batch is refused for other shots, seeds or bindings."""
    made, asked = plain(), {"shots": 20, "bindings": 5, "seeds": 7}
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(made, "one by one", checkpoint=path, progress=stop_at(0.9), **asked)
    with pytest.raises(SavedStateError, match="is the checkpoint of another run"):
        run(made, "one by one", checkpoint=path, **{**asked, **change})


def test_damaged_findings_are_refused(tmp_path: Path) -> None:
    """A file of findings that is cut short, or whose arrays have other shapes, is a `SavedStateError`."""
    made, asked = plain(), {"shots": 20, "bindings": 5, "seeds": 7}
    path = tmp_path / "run"
    run(made, "together", checkpoint=Checkpoint(path, keep=True), **asked)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(SavedStateError, match="damaged"):
        run(made, "together", checkpoint=path, **asked)
    path.write_bytes(data)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    with path.open("wb") as file:
        np.savez(file, **{**arrays, "packed": arrays["packed"][:2]})
    with pytest.raises(SavedStateError, match="damaged: packed"):
        run(made, "together", checkpoint=path, **asked)


def test_a_kept_run_gives_its_result_at_once(tmp_path: Path) -> None:
    """A run whose checkpoint is kept is not run again, and needs no seed."""
    made, asked = plain(), {"shots": 20, "bindings": 5}
    kept = Checkpoint(tmp_path / "run", keep=True)
    first = run(made, "together", checkpoint=kept, **asked)
    again = run(made, "together", checkpoint=kept, **asked)
    assert again.seeds == first.seeds
    assert np.array_equal(again.packed, first.packed)
    assert again.facts["states"] == 0


def test_a_job_that_cannot_be_written_goes_on(tmp_path: Path) -> None:
    """A job whose file cannot be written warns, has a seed all the same, and ends without an error."""
    with pytest.warns(RuntimeWarning, match="goes on without a checkpoint"):
        job = JobCheckpoint(tmp_path / "no such folder" / "job", "circuits", 3, 7)
    assert job.seed == 7
    job.end()


def test_a_job_is_told_from_others(tmp_path: Path) -> None:
    """A job's file holds its seed, and is refused for another key, number of runs or seed."""
    job = JobCheckpoint(tmp_path / "job", "circuits", 3, None)
    assert JobCheckpoint(tmp_path / "job", "circuits", 3, None).seed == job.seed
    for key, parts, seed in (("others", 3, None), ("circuits", 4, None), ("circuits", 3, job.seed ^ 1)):
        with pytest.raises(SavedStateError, match="checkpoint of another job"):
            JobCheckpoint(tmp_path / "job", key, parts, seed)
    run(plain(), "together", shots=5, checkpoint=job.part(1))
    assert len(list(tmp_path.iterdir())) == 2
    job.end()
    assert list(tmp_path.iterdir()) == []
