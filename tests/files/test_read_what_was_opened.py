"""A file is read from where it was opened: a writer that replaces it meanwhile changes nothing, and damages nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.held import Hold

from qsim_ex import CircuitBuilder, Simulator, StateVector
from qsim_ex.execution.job_checkpoint import JobCheckpoint
from qsim_ex.files import saved_by_ranks, saved_state
from qsim_ex.kernels.cuda.compile import compilation
from tools.loopback import loopback

WIRES = 8


def saved(path: Path, turn: float, wires: int = WIRES) -> Path:
    """A state of which each wire is turned by an angle, in a file."""
    with StateVector(wires, device="cpu") as state:
        for wire in range(wires):
            state.gate("ry", [wire], turn)
        state.save(path)
    return path


def turned(amplitudes: Any) -> float:
    """The angle by which all wires of a state are turned; −1 if they are not all turned by one."""
    turn = 2 * float(np.arctan2(amplitudes[1].real, amplitudes[0].real))
    ones = np.array([value.bit_count() for value in range(len(amplitudes))])
    wires = len(amplitudes).bit_length() - 1
    wanted = np.cos(turn / 2) ** (wires - ones) * np.sin(turn / 2) ** ones
    return turn if np.abs(amplitudes - wanted).max() < 1e-12 else -1


def after_each_look(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> None:
    """Do something when a saved state's description has been read, and before its amplitudes are."""
    right = saved_state.look_into

    def look_into(*given: Any) -> saved_state.SavedState:
        found = right(*given)
        then()
        return found

    monkeypatch.setattr(saved_state, "look_into", look_into)


@pytest.mark.parametrize("options", [{}, {"virtual_peers": 4}, {"device_wires": 6}, {"precision": "single"}])
def test_a_state_is_read_from_the_file_that_was_opened(
    tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, hold: Hold
) -> None:
    """A file that is replaced between its header and its amplitudes loads as it was; the next load sees the new one."""
    hold(file_piece=16)
    path, other = saved(tmp_path / "a", 0.3), saved(tmp_path / "b", 0.7)
    with monkeypatch.context() as patch:
        after_each_look(patch, lambda: other.exists() and other.replace(path))
        with StateVector.load(path, device="cpu", **({"precision": "double"} | options)) as state:
            found = state.to_numpy().astype(np.complex128)
    assert abs(found[0].real - np.cos(0.15) ** WIRES) < 1e-6
    with StateVector.load(path, device="cpu") as state:
        assert abs(turned(state.to_numpy()) - 0.7) < 1e-12


def test_a_state_that_is_removed_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is removed between its header and its amplitudes loads as it was."""
    path = saved(tmp_path / "a", 0.3)
    after_each_look(monkeypatch, path.unlink)
    with StateVector.load(path, device="cpu") as state:
        assert abs(turned(state.to_numpy()) - 0.3) < 1e-12


def test_loads_beside_a_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hold: Hold) -> None:
    """Every load beside a thread that saves again and again gives one of its states, whole."""
    hold(file_piece=16)
    path, ended = saved(tmp_path / "a", 0.1, 3), threading.Event()

    def write() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            saved(path, 0.1 * (number % 6 + 1), number % 6 + 3)

    after_each_look(monkeypatch, lambda: time.sleep(0.005))  # long enough for the writer
    writer = threading.Thread(target=write)
    writer.start()
    found = set()
    try:
        for _ in range(100):
            with StateVector.load(path, device="cpu") as state:
                found.add((state.num_wires, round(turned(state.to_numpy()), 9)))
    finally:
        ended.set()
        writer.join()
    assert len(found) > 1
    assert found <= {(k + 3, round(0.1 * (k + 1), 9)) for k in range(6)}


def test_ranks_open_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a writer replaces a file after one rank has opened it, ranks open it again, until all have the new one."""
    path, other = saved(tmp_path / "a", 0.3), saved(tmp_path / "b", 0.7)
    ends, first, right = loopback(2), threading.Event(), saved_state.look
    own = threading.local()

    def look(of: Path) -> saved_state.SavedState:
        if own.end.rank:
            assert first.wait(20)
            if other.exists():
                other.replace(path)
        found = right(of)
        first.set()
        return found

    def load(end: Any) -> float:
        own.end = end
        found = saved_by_ranks.look_together(path)
        amplitudes = found.read(0)
        assert amplitudes is not None
        return turned(amplitudes)

    monkeypatch.setattr(saved_by_ranks, "look", look)
    monkeypatch.setattr(saved_by_ranks, "renew", lambda: own.end)
    with ThreadPoolExecutor(2) as pool:
        assert [round(turn, 9) for turn in pool.map(load, ends)] == [0.7, 0.7]


def stopped(path: Path, seed: int, layers: int = 6) -> Any:
    """A run of several sweeps with a checkpoint at every boundary, stopped in its middle."""
    builder = CircuitBuilder(10, 10)
    for layer in range(layers):
        for wire in range(10):
            builder.gate("ry", [wire], 0.1 + wire).gate("cx", [wire, (wire + 1 + 3 * layer % 9) % 10])
        builder.measure([layer], [layer])
    circuit = builder.measure(range(10), range(10)).build()

    def progress(done: int, _total: int) -> None:
        if done == 40:
            raise KeyboardInterrupt

    options: dict[str, Any] = {"device": "cpu", "device_wires": 5, "checkpoint": path}
    with pytest.raises(KeyboardInterrupt):
        Simulator(progress=progress, checkpoint_every=0, **options).run(circuit, shots=4, seed=seed)
    assert path.exists()
    return lambda: Simulator(**options).run(circuit, shots=4)


def test_a_checkpoint_is_read_from_the_file_that_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run goes on with the checkpoint that it has opened, though another file takes its place meanwhile."""
    go_on, whole = stopped(tmp_path / "run", 1), stopped(tmp_path / "again", 1)()
    other = saved(tmp_path / "other", 0.3)
    after_each_look(monkeypatch, lambda: other.exists() and other.replace(tmp_path / "run"))
    assert np.array_equal(go_on().packed, whole.packed)
    assert not other.exists()


def test_a_job_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job whose file goes away between two looks begins anew, and says nothing of damage."""
    JobCheckpoint(tmp_path / "job", "key", 2, 5)
    exists = Path.exists

    def gone(path: Path, **how: Any) -> bool:
        there = exists(path, **how)
        if path.name == "job":
            path.unlink(missing_ok=True)
        return there

    monkeypatch.setattr(Path, "exists", gone)
    monkeypatch.setattr(Path, "open", _opening(tmp_path / "job", Path.open))
    assert JobCheckpoint(tmp_path / "job", "key", 2, 7).seed == 7


def _opening(gone: Path, right: Any) -> Any:
    """Return `Path.open` for which one file is not there."""

    def opened(path: Path, mode: str = "r", *given: Any, **how: Any) -> Any:
        if path == gone and mode == "rb":
            raise FileNotFoundError(2, "No such file or directory")
        return right(path, mode, *given, **how)

    return opened


def test_kernels_beside_a_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that is read from the cache while others write it is whole every time."""
    monkeypatch.setenv("QSIM_EX_CACHE_DIR", str(tmp_path / "cache"))
    texts, ended = [bytes([k]) * 200_000 for k in range(5)], threading.Event()
    compilation.store("kernel", texts[0])

    def write() -> None:
        while not ended.is_set():
            for text in texts:
                compilation.store("kernel", text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        found = {compilation.stored("kernel") for _ in range(500)}
    finally:
        ended.set()
        writer.join()
    assert len(found) > 1
    assert found <= set(texts)
