"""Exchanges between processes beside plain copies of the same bytes: ``mpirun -n 2 python -m benchmarks.ranks``.

Each process holds a part of a state of 2^n amplitudes and trades half of it, again and again; of 4 processes three
quarters. A trade takes as many bytes from the partner's memory as it writes there. Beside it each process copies as
many bytes from the partner to memory of its own, every way that is possible between the two: a copy of memory that is
mapped, a read through the system, and ``Sendrecv``. Every byte is copied once, from its own place to its own
place: a small block that is copied again and again would stay in a cache, which no state does.

``--way`` says how processes exchange: in mapped memory (the default), in memory that the system reaches, by messages.

    mpirun -n 2 python -m benchmarks.ranks            # 2 cores: 4 s
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from qsim_ex import thresholds
from qsim_ex.comm import reach
from qsim_ex.comm.connection import current
from qsim_ex.comm.protocol import Communicator
from qsim_ex.comm.reach import MemoryRuns
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.kernels.cpu import pool
from qsim_ex.placement.ranks.ranks import Ranks
from qsim_ex.steps import Levels

PATIENCE = 120
"""Seconds after which every process prints where it is, since ranks then seem to wait for each other."""

PIECE = 1 << 23
"""Bytes of one plain copy."""


def measure(ranks: Communicator, n: int, repeat: int) -> dict[str, Any]:
    """Return the bytes a second that each process sends in exchanges and in plain copies; the best of some times."""
    bits = ranks.size.bit_length() - 1
    placed = Ranks(ranks, [CpuDevice(1)], n, np.complex128, Levels(n - bits, bits, min(16, n - bits)))
    placed.forget()
    swaps = tuple((n - 2 * bits + k, n - bits + k) for k in range(bits))
    before = placed.bytes_moved
    placed.exchange(swaps)
    sent = (placed.bytes_moved - before) // ranks.size
    work = {"exchange": lambda: placed.exchange(swaps), **_plain(ranks, placed, sent)}
    seconds = dict.fromkeys(work, float("inf"))
    for _ in range(repeat):  # in turns, so that others who use this machine disturb all of them
        for name, one in work.items():
            seconds[name] = min(seconds[name], _timed(ranks, one))
    report = placed.report()
    placed.release()
    rates = {name: sent / least for name, least in seconds.items()}
    share = rates["exchange"] / max(rate for name, rate in rates.items() if name != "exchange")
    about = {"ranks": ranks.size, "connection": ranks.description, "memory": report.get("device_memory", "")}
    return {**about, "sent": sent, "bytes_per_second": rates, "share": share}


def _timed(ranks: Communicator, work: Callable[[], Any]) -> float:
    """Return the time in which all processes have done some work."""
    ranks.barrier()
    began = perf_counter()
    work()
    ranks.barrier()
    return perf_counter() - began


def _plain(ranks: Communicator, placed: Ranks, sent: int) -> dict[str, Callable[[], None]]:
    """Return the ways to copy so many bytes from the partner, while the partner copies as many from here."""
    other, here = ranks.rank ^ 1, placed._mine[0].buffer
    count = min(sent, here.nbytes) // here.itemsize
    mine, theirs = here[:count], np.ones(count, here.dtype)
    found: dict[str, Callable[[], None]] = {}
    memory = placed._links._mapped
    if memory is not None and other in memory.ranks:
        mapped = memory._theirs[0, other][:count]
        found["mapped copy"] = lambda: pool.copy(theirs, mapped, 1)
    pid, at = ranks.allgather((os.getpid(), MemoryRuns.of(mine)))[other]
    if reach.allowed():

        def read() -> None:
            for first in range(0, theirs.nbytes, PIECE):
                width = min(PIECE, theirs.nbytes - first)
                into = MemoryRuns.of(theirs).runs(0, 1, first, width)
                reach._copy("process_vm_readv", pid, into, at.runs(0, 1, first, width))

        found["read"] = read
    from mpi4py import MPI

    def send() -> None:
        for first in range(0, count, PIECE // mine.itemsize):
            where = slice(first, first + PIECE // mine.itemsize)
            MPI.COMM_WORLD.Sendrecv(mine[where], other, recvbuf=theirs[where], source=other)

    found["Sendrecv"] = send
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print one line of JSON on rank 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranks", description=__doc__)
    parser.add_argument("--n", type=int, default=24)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--way", choices=("mapped", "reached", "messages"), default="mapped")
    given = parser.parse_args(argv)
    faulthandler.dump_traceback_later(PATIENCE)
    if given.way != "mapped":
        CpuDevice.shares_from = 1 << 60
    ranks = current()
    with thresholds.instead(**({"direct_bytes": 1 << 60} if given.way == "messages" else {})):
        found = measure(ranks, given.n, given.repeat)
    faulthandler.cancel_dump_traceback_later()
    if ranks.rank == 0:
        print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
