"""The visible effect of each option: one function for each, which looks for it at any way in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract.entries import SHOTS, WIRES, Entry, Seen
from support.gpus import gpu_missing

from qsim_ex.comm.connection import connected
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.errors import CommunicationError, DeviceError, OutOfMemory
from qsim_ex.options import Progress
from tools.loopback import loopback

CPU = {"device": "cpu"}
WINDOWS = {"device": "cpu", "device_wires": 4}
"""A state of six wires in windows: many steps, and every option of a placement has something to do."""


class Stopped(Exception):
    """Ends a run in its middle."""


def _different(one: Seen, other: Seen) -> None:
    assert one.found.shape != other.found.shape or not np.array_equal(one.found, other.found)


def _same(one: Seen, other: Seen) -> None:
    if one.found.dtype.kind == "f":  # sums, which may be added up in two parts
        assert np.allclose(one.found, other.found, rtol=0, atol=1e-7 if one.where["precision"] == "single" else 1e-14)
    else:
        assert np.array_equal(one.found, other.found)


# --- where the amplitudes live ---------------------------------------------------------------------------------------


def device(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """'cpu' and 'gpu' are demands."""
    assert entry.call({"device": "cpu"}).where["device"] == "cpu"
    if gpu_missing():
        with pytest.raises(DeviceError, match="GPU"):
            entry.call({"device": "gpu"})
    else:
        assert entry.call({"device": "gpu"}).where["device"] == "gpu:0"


def device_id(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """The number of the GPU that a state in one piece goes to."""
    with pytest.raises(DeviceError):
        entry.call({"device": "gpu", "device_id": 99})
    assert entry.call({**CPU, "device_id": 3}).where["devices"] == [3]  # of the CPU it is but a number


def devices(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """The numbers of the GPUs; there are no GPUs of such numbers."""
    with pytest.raises(DeviceError):
        entry.call({"devices": [98, 99]})


def deployed(option: str, value: Any, told: str, expected: Any, usual: Any, **given: Any) -> Callable[..., None]:
    """An option of the placement: what the engine tells of where a state was, with it and without it."""

    def effect(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
        assert entry.call({**CPU, **given}).where[told] == usual
        assert entry.call({**CPU, **given, option: value}).where[told] == expected

    return effect


def max_memory(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """Amplitudes that need more are refused."""
    entry.call({**CPU, "max_memory": 1 << 20})
    with pytest.raises(OutOfMemory, match="max_memory"):
        entry.call({**CPU, "max_memory": 64})


def max_host_memory(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """What stands on the host beside a device is refused beyond it."""
    entry.call({**WINDOWS, "max_host_memory": 1 << 20})
    with pytest.raises(OutOfMemory, match="max_host_memory"):
        entry.call({**WINDOWS, "max_host_memory": 64})


# --- how it works ----------------------------------------------------------------------------------------------------


def method(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """A density matrix has the square of a state vector's numbers, and gives the same where nothing is random."""
    name = "seed_simulator" if "seed_simulator" in entry.takes else "seed"
    vector, matrix = (entry.call({**CPU, name: 5, "method": one}) for one in ("statevector", "density_matrix"))
    factor = matrix.where["bytes_per_device"] // vector.where["bytes_per_device"]
    assert factor in (1 << WIRES, 2 << WIRES)  # twice that where a bit is measured on the way and kept
    if vector.found.dtype.kind == "f":
        _same(vector, matrix)


def precision(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """The amplitudes have half the size, and amplitudes and values in the result are less exact."""
    single, double = (entry.call({**CPU, "precision": name}) for name in ("single", "double"))
    assert (single.where["precision"], double.where["precision"]) == ("single", "double")
    assert 2 * single.where["bytes_per_device"] == double.where["bytes_per_device"]
    if single.found.dtype.kind in "fc":
        assert 0 < np.abs(single.found - double.found).max() < 1e-5
    if single.found.dtype.kind == "c":
        assert (single.found.dtype, double.found.dtype) == (np.complex64, np.complex128)


def threads(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """The CPU works with this many threads, and reports it."""
    assert entry.call({**CPU, "threads": 1}).where["description"].endswith(" 1 thread")


def separate(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """It changes how much is simulated at a time, and nothing that is found."""
    name = "seed_simulator" if "seed_simulator" in entry.takes else "seed"
    together, apart = (entry.call({**CPU, name: 5, "separate": value}) for value in (False, True))
    _same(together, apart)


def max_loop_rounds(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """It bounds loops and nothing else: a circuit without one finds the same with the least bound."""
    name = "seed_simulator" if "seed_simulator" in entry.takes else "seed"
    _same(*(entry.call({**CPU, name: 5, "max_loop_rounds": value}) for value in (1, 1000)))


def compile_(entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    """A device gets it when it prepares its steps; a CPU has nothing to interpret and may ignore it.

    The device is heard, whichever of its two ways of preparing is taken.
    """
    told: set[str] = set()
    for name in ("prepare", "prepare_batch"):
        prepare = getattr(CpuDevice, name)

        def heard(*given: Any, prepare: Any = prepare, **named: Any) -> Any:
            told.add(named["compile"] if "compile" in named else given[4])
            return prepare(*given, **named)

        monkeypatch.setattr(CpuDevice, name, heard)
    for value in ("always", "never"):
        told.clear()
        entry.call({**CPU, "compile": value})
        assert told == {value}


def seed(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """The same seed gives the same, another one something else."""
    name = "seed_simulator" if "seed_simulator" in entry.takes else "seed"
    first = entry.by_chance({**CPU, name: 5})
    assert np.array_equal(first, entry.by_chance({**CPU, name: 5}))
    assert any(not np.array_equal(first, entry.by_chance({**CPU, name: other})) for other in range(6, 10))


# --- what happens meanwhile ------------------------------------------------------------------------------------------


def progress(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """It is called between steps, never goes back, and ends when all steps are done; so with what is left to chance."""
    for changes in ({}, entry.chance):
        told: list[tuple[int, int]] = []
        entry.call({**entry.windows, "progress": lambda *one, to=told: to.append(one)}, **changes)
        for run in runs_of(told):
            done, totals = zip(*run, strict=True)
            assert len(set(totals)) == 1
            assert list(done) == sorted(done)
            assert done[-1] == totals[0]
        assert max(total for _, total in told) >= least(entry)


def least(entry: Entry) -> int:
    """Steps in all, at least: one for each window, and there are four."""
    return 4 if "device_wires" in entry.windows else 1


def runs_of(told: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Return the calls of a progress callback, one list for each run that came to its end."""
    runs: list[list[tuple[int, int]]] = [[]]
    for done, total in told:
        if runs[-1] and runs[-1][-1][0] == runs[-1][-1][1] != done:
            runs.append([])
        runs[-1].append((done, total))
    return runs


def watch(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """The watcher gets stages, steps and bytes, and at the end all of them are done."""
    for changes in ({}, entry.chance):
        told: list[Progress] = []
        entry.call({**entry.windows, "watch": told.append}, **changes)
        assert told
        assert told[-1].steps == told[-1].all_steps >= least(entry)
        assert told[-1].stages == told[-1].all_stages > 0
        assert (told[-1].bytes_moved > 0) == ("device_wires" in entry.windows)


# --- checkpoints -----------------------------------------------------------------------------------------------------


def stopping(at: float) -> Callable[[int, int], None]:
    """A progress callback that ends a run when this share of its steps is done."""

    def tell(done: int, total: int) -> None:
        if done >= at * total:
            raise Stopped

    return tell


def checkpoint(entry: Entry, tmp_path: Path) -> None:
    """A run that is killed goes on where its file stands, with the same result, and leaves nothing behind."""
    name = "seed_simulator" if "seed_simulator" in entry.takes else "seed"
    given = {**WINDOWS, name: 11}
    told: list[int] = []
    keeps = {**given, "checkpoint": tmp_path / "run", "checkpoint_every": 0}
    whole = entry.call({**keeps, "progress": lambda done, _: told.append(done)})
    assert np.allclose(whole.found, entry.call(given).found, atol=1e-6)  # its plan is cut where it may stop
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Stopped):
        entry.call({**keeps, "progress": stopping(0.6)})
    assert any(tmp_path.iterdir())
    again: list[int] = []
    _same(whole, entry.call({**keeps, "progress": lambda done, _: again.append(done)}))
    assert again[0] > 0  # the earlier run has done so many
    assert again[-1] == told[-1]
    assert len(again) < len(told)
    assert list(tmp_path.iterdir()) == []


def checkpoint_every(entry: Entry, tmp_path: Path) -> None:
    """A run that is killed before this many seconds are over begins anew."""
    begun = []
    for seconds in (3600, 0):
        keeps = {**WINDOWS, "checkpoint": tmp_path / str(seconds), "checkpoint_every": seconds}
        with pytest.raises(Stopped):
            entry.call({**keeps, "progress": stopping(0.6)})
        told: list[int] = []
        entry.call({**keeps, "progress": lambda done, _, told=told: told.append(done)})
        begun.append(told[0])
    assert begun[0] == 0 < begun[1]


# --- what belongs to one framework -----------------------------------------------------------------------------------


def shots(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """The result has this many outcomes."""
    assert entry.call({**CPU, "shots": 7}).found.size < entry.call({**CPU, "shots": 70}).found.size


def memory(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """The outcome of every shot is kept, or not."""
    assert entry.call({**CPU, "memory": True}).found.size
    with pytest.raises(Exception, match="memory"):
        entry.call({**CPU, "memory": False})


def executor(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """The runner that is given works on the circuits."""
    from concurrent.futures import ThreadPoolExecutor

    seen: set[str] = set()
    with ThreadPoolExecutor(1, thread_name_prefix="mine") as pool:
        entry.call({**CPU, "executor": pool, "progress": lambda *_: seen.add(threading.current_thread().name)})
    assert all(name.startswith("mine") for name in seen)
    assert seen


def noise_model(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """Noise changes what is found."""
    from qsim_ex.circuit.noise.channels import depolarizing
    from qsim_ex.circuit.noise.model import NoiseModel

    noisy = NoiseModel().with_error("cx", depolarizing(0.9, 2))
    name = "seed_simulator" if "seed_simulator" in entry.takes else "seed"
    given = {**CPU, name: 3}
    _different(entry.call(given), entry.call({**given, "noise_model": noisy}))


def cirq_noise(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """Noise changes what is found."""
    import cirq

    given = {**CPU, "seed": 3}
    _different(entry.call(given), entry.call({**given, "noise": cirq.depolarize(0.7)}))


def cirq_dtype(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """Amplitudes of half the size."""
    for dtype, told in ((np.complex64, "single"), (np.complex128, "double")):
        seen = entry.call({**CPU, "dtype": dtype})
        assert seen.where["precision"] == told
        if seen.found.dtype.kind == "c" and seen.found.size == 1 << WIRES:
            assert seen.found.dtype == dtype


def default_shots(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """The result has this many outcomes of each PUB."""
    assert entry.call({**CPU, "default_shots": SHOTS}).found.size == SHOTS


def default_precision(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """Values have this standard error, and say so."""
    (value, error), (exact, none) = (
        entry.call({**CPU, "default_precision": of, "seed": 1}).found for of in (0.125, 0.0)
    )
    assert (error, none) == (0.125, 0.0)
    assert value != exact


def trajectories(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """A mean over four times as many has half the standard error, by and large; another mean it is in any case."""
    given = {**CPU, "seed": 1}
    _different(
        entry.call({**given, "trajectories": 50}, **entry.chance),
        entry.call({**given, "trajectories": 5000}, **entry.chance),
    )


def processes(entry: Entry, tmp_path: Path) -> None:  # noqa: ARG001
    """A state that is demanded over more processes than there are has no place; see also `test_over_mpi`."""
    with connected(loopback(1)[0]), pytest.raises(CommunicationError, match="at least 2 processes, got 1"):
        entry.call({**CPU, "processes": 2})
    assert entry.call({**CPU, "processes": "never"}).where["placement"] == "single"


Effect = Callable[..., None]
EFFECTS: Mapping[str, Effect] = {
    "device": device,
    "device_id": device_id,
    "devices": devices,
    "virtual_peers": deployed("virtual_peers", 2, "peer_wires", 1, 0),
    "device_wires": deployed("device_wires", 4, "migration_wires", 2, 0),
    "window_slots": deployed("window_slots", 2, "slice_wires", 3, 0, device_wires=4),
    "in_flight_buffers": deployed("in_flight_buffers", 2, "in_flight_buffers", 2, 3, device_wires=4),
    "host_memory": deployed("host_memory", "spread", "host_memory", "spread", "whole", device_wires=4),
    "network": deployed("network", "mesh", "network", "mesh", "switch", virtual_peers=4),
    "method": method,
    "processes": processes,
    "precision": precision,
    "max_memory": max_memory,
    "max_host_memory": max_host_memory,
    "threads": threads,
    "separate": separate,
    "max_loop_rounds": max_loop_rounds,
    "compile": compile_,
    "seed": seed,
    "progress": progress,
    "watch": watch,
    "checkpoint": checkpoint,
    "checkpoint_every": checkpoint_every,
    "shots": shots,
    "memory": memory,
    "seed_simulator": seed,
    "executor": executor,
    "noise_model": noise_model,
    "noise": cirq_noise,
    "dtype": cirq_dtype,
    "default_shots": default_shots,
    "default_precision": default_precision,
    "trajectories": trajectories,
}
