"""A run that was stopped continues from its own checkpoint, and from no other, with the same result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.deployments import ON_CPU
from support.held import Hold
from support.paths import TESTS
from support.tiny_machine import TinyMachine

from qsim_ex import Circuit, CircuitBuilder, Result, Simulator, reference
from qsim_ex.devices import discover
from qsim_ex.errors import Cancelled, SavedStateError
from qsim_ex.files import saved_state
from qsim_ex.options import Progress
from qsim_ex.placement.single import Single

WIRES = 8


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU is a machine of which even small circuits need many sweeps."""
    device = TinyMachine()
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: device)


def circuit(layers: int = 7, turn: float = 0.1, wires: int = WIRES) -> Circuit:
    """Several sweeps or stages, with a state saved on the way and measurements at the end."""
    builder = CircuitBuilder(wires, wires)
    for layer in range(layers):
        for wire in range(wires):
            builder.gate("ry", [wire], turn + wire).gate("cx", [wire, (wire + 1 + 3 * layer % (wires - 1)) % wires])
        if layer == layers // 2:
            builder.save("middle")
    return builder.save("end").measure(range(wires), range(wires)).build()


def run(path: Path | None, deployment: str, made: Circuit, **more: Any) -> Result:
    """A run on the CPU with a checkpoint at every boundary."""
    cancel = more.pop("cancel", None)
    keeps: dict[str, Any] = {} if path is None else {"checkpoint": path, "checkpoint_every": 0}
    simulator = Simulator(device="cpu", **ON_CPU[deployment].options, **keeps, **more)
    return simulator.run(made, shots=100, cancel=cancel)


def stop_after(steps: int, **more: Any) -> Any:
    """Return a progress callback that raises when this many steps are done."""

    def progress(done: int, _total: int) -> None:
        if done == steps:
            raise more.get("error", KeyboardInterrupt)

    return progress


@pytest.mark.parametrize("deployment", ON_CPU)
def test_a_run_goes_on_with_the_same_result(tmp_path: Path, deployment: str) -> None:
    """A run that is stopped after any of its steps continues there and ends with the same result."""
    made, path = circuit(), tmp_path / "run"
    totals: set[int] = set()
    whole = run(None, deployment, made, seed=7, progress=lambda _done, total: totals.add(total))
    (steps,) = totals
    assert steps >= 6
    begins, every = set(), max(2, steps // 4)
    for stop in range(1, steps, every):
        with pytest.raises(KeyboardInterrupt):
            run(path, deployment, made, seed=7, progress=stop_after(stop))
        stands = path.exists()
        told: list[int] = []
        again = run(path, deployment, made, seed=None if stands else 7, progress=lambda done, _, t=told: t.append(done))
        begins.add(told[0])
        assert told[0] <= stop
        assert (told[0] > 0) == stands
        assert again.seed == 7
        assert np.array_equal(again.packed, whole.packed)
        for label in ("middle", "end"):
            assert np.array_equal(again.saved[label], whole.saved[label])
        assert list(tmp_path.iterdir()) == []  # nothing is left after the end
    assert len(begins) >= 3
    assert deployment != "single" or begins == set(range(1, steps, every))


ON_OTHERS = [
    ("single", "peers 4", "migrated, 3 windows"),
    ("peers 8, layers", "single", "peers 2"),
    ("migrated, spread", "peers over host", "peers 4"),
    ("peers over host, mesh", "migrated, one window", "single"),
    ("peers 8, mesh", "peers 2", "peers 8, layers"),
]


@pytest.mark.parametrize("ways", ON_OTHERS, ids=" → ".join)
def test_a_run_goes_on_where_its_state_is_divided_otherwise(tmp_path: Path, ways: tuple[str, ...]) -> None:
    """A run that is stopped twice, and continues each time in another placement, ends with the same result."""
    made, path = circuit(), tmp_path / "run"
    whole = run(None, ways[0], made, seed=7)
    for steps in ((1, 2), (2, 1), (4, 2)):
        for way, more in zip(ways, steps, strict=False):
            count = iter(range(100))

            def progress(_done: int, _total: int, count: Any = count, more: int = more) -> None:
                if next(count) == more:
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                run(path, way, made, seed=7, progress=progress)
        assert path.exists()
        again = run(path, ways[-1], made)
        assert again.seed == 7
        assert np.array_equal(again.packed, whole.packed)
        for label in ("middle", "end"):
            assert np.allclose(again.saved[label], whole.saved[label], rtol=0, atol=1e-12)
        assert list(tmp_path.iterdir()) == []


def test_the_checkpoint_of_another_machine_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device of another shape makes other plans, from which nothing can be told of what is left."""
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(path, "single", circuit(), seed=7, progress=stop_after(3))
    shape = replace(TinyMachine().shape(np.complex128), tile=5)
    monkeypatch.setattr(TinyMachine, "shape", lambda _self, _dtype: shape)
    for deployment in ("single", "peers 2"):
        with pytest.raises(SavedStateError, match=r"another run \(plan [0-9a-f]{16}, here"):
            run(path, deployment, circuit())


def test_a_kill_leaves_a_checkpoint(tmp_path: Path) -> None:
    """A killed process leaves a checkpoint from which another one reaches the same result."""
    path, begun = tmp_path / "run", tmp_path / "begun"
    script = f"""
import sys, time
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(TESTS)!r}]
from pathlib import Path
from support.tiny_machine import TinyMachine
from support.held import Hold
from qsim_ex.devices import discover
from test_checkpoints import circuit, run
device = TinyMachine()
discover.cpu = lambda _threads=None: device
def progress(done, total):
    if done == 5:
        Path({str(begun)!r}).touch()
        time.sleep(60)
run(Path({str(path)!r}), "peers 2", circuit(), seed=3, progress=progress)
"""
    process = subprocess.Popen([sys.executable, "-c", script])
    try:
        for _ in range(600):
            if begun.exists():
                break
            assert process.poll() is None
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    assert path.exists()
    whole = run(None, "peers 2", circuit(), seed=3)
    told: list[int] = []
    again = run(path, "peers 2", circuit(), progress=lambda done, _total: told.append(done))
    assert 0 < told[0] <= 5
    assert np.array_equal(again.packed, whole.packed)
    assert np.array_equal(again.saved["end"], whole.saved["end"])


def test_a_kill_while_writing_leaves_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hold: Hold
) -> None:
    """A checkpoint that is interrupted while it is written leaves the one before, which still works."""
    path = tmp_path / "run"
    pieces, count = Single.pieces, [0]

    def interrupted(self: Single, size: int) -> Any:
        for piece in pieces(self, size):
            count[0] += 1
            if count[0] == 3 * (1 << WIRES) // size:
                raise KeyboardInterrupt
            yield piece

    hold(file_piece=64)
    monkeypatch.setattr(Single, "pieces", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(path, "single", circuit(), seed=5)
    monkeypatch.setattr(Single, "pieces", pieces)
    assert [found.name for found in tmp_path.iterdir()] == ["run"]
    (tmp_path / "run.part").write_bytes(b"what a killed process leaves")
    told: list[int] = []
    again = run(path, "single", circuit(), progress=lambda done, _total: told.append(done))
    assert told[0] == 2
    assert np.array_equal(again.packed, run(None, "single", circuit(), seed=5).packed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"made": circuit(6)}, "circuit [0-9a-f]{16}, here"),
        ({"made": circuit(turn=0.2)}, "numbers [0-9a-f]{16}, here"),
        ({"precision": "single"}, "precision complex128, here complex64"),
        ({"seed": 8}, "seed 7, here 8"),
    ],
)
def test_another_run_is_refused_by_name(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """A checkpoint of another circuit, other angles or another seed is refused, and the error says which."""
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(path, "single", circuit(), seed=7, progress=stop_after(3))
    before = path.read_bytes()
    given = {"made": circuit(), "deployment": "single", **change}
    with pytest.raises(SavedStateError, match=f"is the checkpoint of another run .*{message}.*remove the file"):
        run(path, given.pop("deployment"), given.pop("made"), **given)
    assert path.read_bytes() == before


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    """A damaged checkpoint, and a saved state, are refused."""
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(path, "single", circuit(), seed=7, progress=stop_after(5))
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)
    with pytest.raises(SavedStateError, match="checksum of the piece"):
        run(path, "single", circuit())
    path.write_bytes(data[:-7])
    with pytest.raises(SavedStateError, match="damaged"):
        run(path, "single", circuit())
    with Simulator(device="cpu").state(circuit()) as state:
        state.save(path)
    with pytest.raises(SavedStateError, match=r"expected a checkpoint, got .* a saved state"):
        run(path, "single", circuit())


@pytest.mark.parametrize("deployment", ON_CPU)
def test_after_ctrl_c_the_process_goes_on(tmp_path: Path, deployment: str) -> None:
    """After an interrupted run the process runs others, and the checkpoint works."""
    path = tmp_path / "run"
    made = circuit()
    simulator = Simulator(device="cpu", **ON_CPU[deployment].options)
    for error in (KeyboardInterrupt, Cancelled, MemoryError)[: None if deployment == "single" else 1]:
        with pytest.raises(error):
            run(path, deployment, made, seed=7, progress=stop_after(4, error=error))
        assert saved_state.look(path).about["parts"] >= 1
        with simulator.state(made) as state:
            found = state.to_numpy()
        assert np.linalg.norm(found - reference.simulate(made)) < 1e-10
    assert np.array_equal(run(path, deployment, made).packed, run(None, deployment, made, seed=7).packed)


def test_a_cancelled_run_ends_and_goes_on(tmp_path: Path) -> None:
    """A run that is cancelled from another thread ends after the step, and can be continued."""
    cancel = threading.Event()

    def progress(done: int, _total: int) -> None:
        if done == 4:
            cancel.set()

    path = tmp_path / "run"
    with pytest.raises(Cancelled, match="after 5 of"):
        run(path, "peers 4", circuit(), seed=2, cancel=cancel, progress=progress)
    assert np.array_equal(run(path, "peers 4", circuit()).packed, run(None, "peers 4", circuit(), seed=2).packed)


def test_checkpoints_wait_for_their_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No checkpoint is written before its time has come."""
    written: list[Path] = []
    monkeypatch.setattr("qsim_ex.execution.checkpoints.save", lambda _placement, path, _about: written.append(path))
    bare = CircuitBuilder(WIRES, WIRES)
    for layer in range(6):
        for wire in range(WIRES):
            bare.gate("ry", [wire], 0.1 + layer).gate("cx", [wire, (wire + 1 + layer) % WIRES])
    made = bare.measure([0], [0]).build()
    simulator = Simulator(device="cpu", checkpoint=tmp_path / "run", checkpoint_every=3600)
    simulator.run(made, shots=1)
    assert written == []


@pytest.mark.parametrize("deployment", ON_CPU)
def test_a_watcher_is_told_everything(deployment: str) -> None:
    """The steps, stages and bytes that a watcher gets only grow, and end as the plan and the result say."""
    told: list[Progress] = []
    made = circuit()
    result = run(None, deployment, made, watch=told.append)
    assert [now.steps for now in told] == sorted(now.steps for now in told)
    assert (told[0].steps, told[0].stages) == (0, 1)
    assert told[0].bytes_moved < told[-1].bytes_moved or deployment == "single"
    assert told[0].seconds_left is None
    last = told[-1]
    assert last.steps == last.all_steps
    assert last.stages == last.all_stages == result.plan.stages
    assert last.seconds_left == pytest.approx(0, abs=1e-9)
    counted = [*result.facts.get("bytes_sent", {}).values()]
    counted += [*result.facts.get("bytes_from_host", ()), *result.facts.get("bytes_to_host", ())]
    assert 0 <= last.bytes_moved <= sum(counted)  # sampling reads host memory after the last step
    assert (last.bytes_moved > 0) == (deployment != "single")


def test_a_run_goes_on_behind_each_outcome(tmp_path: Path) -> None:
    """A run that is stopped after a measurement on the way goes on with its outcome, be it 0 or 1."""
    builder = CircuitBuilder(5, 2).gate("h", [0]).measure([0], [0])
    for wire in (0, 1, 2, 3, 4, 0):
        builder.gate("ry", [wire], 0.4 + wire).gate("cx", [wire, (wire + 1) % 5])
    made, deployment = builder.measure([4], [1]).build(), "migrated, one window"
    seen: list[int] = []
    whole = run(None, deployment, made, seed=3, progress=lambda done, _total: seen.append(done))
    outcomes = set()
    for stop in (seen[len(seen) // 3], seen[-2]):
        path = tmp_path / str(stop)
        with pytest.raises(KeyboardInterrupt):
            run(path, deployment, made, seed=3, progress=stop_after(stop))
        outcomes.add(saved_state.look(path).about["branch"]["outcomes"][0])
        assert np.array_equal(run(path, deployment, made, seed=3).packed, whole.packed)
    assert outcomes == {0, 1}
