"""The contract of placements for a state over processes: run under mpiexec, where every rank runs all of it.

``mpiexec -n 4 python -m pytest tests/contract/over_processes.py``; `test_over_mpi.py` does so.
Examples are the same on all ranks: they are not random, and all modules whose constants hypothesis draws are imported
before, which a thread in the background else does at a time of its own.
``QSIM_EX_TEST_DEVICE=gpu`` runs it with ranks that share the GPUs of this host.
"""

from __future__ import annotations

import os
import pkgutil
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, settings

# A rank that finds a fault alone would look for shorter examples alone, and all would wait for each other.
SAME = (Phase.explicit, Phase.generate)
settings.register_profile("ranks", derandomize=True, database=None, phases=SAME, report_multiple_bugs=False)
settings.load_profile("ranks")

from contract.placements import Contract, PlacementCase  # noqa: E402  (its settings are those of the profile)
from support.held import Hold  # noqa: E402
from support.sharing_cpu import SharedCpu, SharingCpu  # noqa: E402

import qsim_ex  # noqa: E402
from qsim_ex.comm.mpi import Mpi  # noqa: E402
from qsim_ex.comm.protocol import Communicator  # noqa: E402
from qsim_ex.devices.cpu.device import CpuDevice  # noqa: E402
from qsim_ex.placement.exchange import between_ranks  # noqa: E402
from qsim_ex.placement.ranks.over_host import RanksOverHost  # noqa: E402
from qsim_ex.placement.ranks.ranks import Ranks  # noqa: E402
from qsim_ex.placement.ranks.spread import RanksSpread  # noqa: E402
from qsim_ex.steps import Levels  # noqa: E402

for module in pkgutil.walk_packages(qsim_ex.__path__, "qsim_ex."):
    with suppress(ImportError):  # what an extra is for
        import_module(module.name)

CPU = CpuDevice(1)
SHARING, SHARED = SharingCpu(1), SharedCpu(1)
GPU = os.environ.get("QSIM_EX_TEST_DEVICE") == "gpu"


@cache
def communicator() -> Communicator:
    """All ranks, with messages of MPI so short that amplitudes take several."""
    return Mpi(piece_bytes=100)


def device_of(how: str) -> Any:
    """The device of this rank: one whose memory the others map, or one that copies through the host."""
    if GPU:
        from qsim_ex.devices.discover import gpu, gpu_count

        return gpu(communicator().rank % gpu_count())
    return {"mapped": SHARING, "shared": SHARED}.get(how, CPU)


def ranks(slice_: int, each: int = 1, how: str = "") -> PlacementCase:
    """A state over as many ranks as there are, or the largest power of two below, with some devices of each."""
    bits = communicator().size.bit_length() + each.bit_length() - 2

    def make(num_wires: int, dtype: np.dtype[Any]) -> Ranks:
        return Ranks(communicator(), [device_of(how)] * each, num_wires, dtype, Levels(num_wires - bits, bits, slice_))

    return PlacementCase(f"processes/{slice_}, {each} devices {how}", make, (max(slice_ + 1 + bits, 2 * bits), 6))


def over_host(slice_: int, each: int, how: str = "") -> PlacementCase:
    """The same with the part of each rank in host memory, and windows of few wires on its devices."""
    bits, peers, local = communicator().size.bit_length() - 1, each.bit_length() - 1, slice_ + 2

    def make(num_wires: int, dtype: np.dtype[Any]) -> RanksOverHost:
        devices = [device_of(how)] * each
        return RanksOverHost(communicator(), devices, num_wires, dtype, Levels(local, peers, slice_, ranks=bits))

    fewest = local + peers + bits + 1
    return PlacementCase(f"processes over host/{slice_}, {each} devices {how}", make, (fewest, fewest + 2))


def spread(slice_: int, slots: int) -> PlacementCase:
    """The same with the part of each rank on its device, as far as so many windows hold it, and else on its host."""
    bits, local = communicator().size.bit_length() - 1, slice_ + 2

    def make(num_wires: int, dtype: np.dtype[Any]) -> RanksSpread:
        levels = Levels(local, 0, slice_, ranks=bits)
        return RanksSpread(communicator(), device_of(""), num_wires, dtype, levels, slots=slots)

    return PlacementCase(f"processes spread/{slice_}, {slots} slots", make, (local + bits + 1, local + bits + 3))


ON_CPU = ["messages/0/1", "messages/2/1", "in place/2/1", "messages/1/2", "in place/1/2", "mapped/0/1", "mapped/1/2"]
ON_CPU += ["shared/2/1", "over host/0/1", "over host/1/2", "shared over host/1/1", "shared over host/0/2"]
ON_CPU += ["spread/0/1", "spread/2/3"]
ON_GPU = ["mapped/2/1", "messages/2/1", "mapped/1/2", "over host/2/1", "over host/2/2", "spread/2/3"]


@pytest.fixture(params=ON_GPU if GPU else ON_CPU)
def deployment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, hold: Hold) -> PlacementCase:
    """Each way to hold a state, and to trade parts of it: the slices, and the devices of a rank."""
    how, slice_, each = request.param.split("/")
    hold(direct_bytes=0 if how == "in place" else 1 << 60)
    if GPU and how == "messages":
        monkeypatch.setattr(between_ranks, "SharesMemory", type(None))
    if how.endswith("over host"):
        return over_host(int(slice_), int(each), how.removesuffix("over host").strip())
    return spread(int(slice_), int(each)) if how == "spread" else ranks(int(slice_), int(each), how)


class TestOverProcesses(Contract):
    """A state over processes gives the answers that every placement gives, on every rank."""
