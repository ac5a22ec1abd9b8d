"""GPUs are shared out among the workers of an executor, in turn; here no GPU is there, and only names are dealt out."""

from __future__ import annotations

import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from types import ModuleType

import pytest

from qsim_ex import share_gpus
from qsim_ex.comm import launcher, workers
from qsim_ex.comm.launcher import Launched
from qsim_ex.errors import DeviceError

VISIBLE = "CUDA_VISIBLE_DEVICES"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU was used, and no launcher has said anything."""
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    for name in workers._LOCAL_RANKS:
        monkeypatch.delenv(name, raising=False)


def seen(_: int) -> str:
    """What a worker sees."""
    return os.environ[VISIBLE]


def test_workers_of_a_pool_see_one_gpu_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers have the two GPUs that their parent sees, whichever those are."""
    monkeypatch.setenv(VISIBLE, "4,GPU-7f")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context, initializer=share_gpus) as pool:
        found = set(pool.map(seen, range(40)))
    assert found <= {"4", "GPU-7f"}
    with context.Pool(2, share_gpus) as both:
        assert set(both.map(seen, range(200), chunksize=1)) <= {"4", "GPU-7f"}


@pytest.mark.parametrize(("worker", "name"), [(0, "0"), (1, "2"), (2, "5"), (3, "0")])
def test_gpus_are_dealt_out_in_turn(monkeypatch: pytest.MonkeyPatch, worker: int, name: str) -> None:
    """Worker k has GPU k modulo their number."""
    monkeypatch.setenv(VISIBLE, "")
    monkeypatch.setattr(workers, "_worker", lambda: worker)
    assert share_gpus([0, 2, 5]) == worker % 3
    assert os.environ[VISIBLE] == name


def test_a_worker_of_mpi_is_its_rank_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under mpi4py.futures the launcher's number on the host counts, and else its rank."""
    monkeypatch.setitem(sys.modules, "mpi4py.futures", ModuleType("futures"))
    monkeypatch.setattr(launcher, "LAUNCHED", Launched("mpirun of Open MPI", 9, 16))
    monkeypatch.setenv(VISIBLE, "0,1,2,3")
    assert share_gpus() == 1
    monkeypatch.setenv(VISIBLE, "0,1,2,3")
    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_RANK", "3")
    assert share_gpus() == 3


def test_without_gpus_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without GPUs is left as it is."""
    monkeypatch.setenv(VISIBLE, "")
    assert share_gpus() is None
    assert os.environ[VISIBLE] == ""


def test_a_process_that_has_used_a_gpu_is_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would go on with the GPUs that it saw first."""
    monkeypatch.setenv(VISIBLE, "0,1")
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    with pytest.raises(DeviceError, match="pass it as initializer"):
        share_gpus()
