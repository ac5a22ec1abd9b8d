"""Exchanges between processes beside plain copies of the same bytes: ``qsim-ex launch -n 2 -m benchmarks.ranks``.

Each process holds a part of a state of 2^n amplitudes and trades half of it, again and again; of 4 processes three
quarters. Beside it the same bytes are copied plainly: over MPI by ``Sendrecv``, and without MPI by one read of the
partner's memory in each process. With ``--messages`` nothing is swapped in place.

    mpirun -n 2 python -m benchmarks.ranks            # 2 cores: 4 s
    qsim-ex launch -n 2 -m benchmarks.ranks --n 22    # 2 cores: 2 s
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

from qsim_ex.comm import reach
from qsim_ex.comm.connection import current
from qsim_ex.comm.protocol import Communicator
from qsim_ex.comm.reach import MemoryRuns
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.placement.exchange import between_ranks
from qsim_ex.placement.ranks import Ranks
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
    placed._exchange(swaps)
    sent = (placed.bytes_moved - before) // ranks.size
    ours = _best(ranks, lambda: placed._exchange(swaps), repeat)
    plain = _best(ranks, _plain(ranks, sent), repeat)
    placed.release()
    rates = {"exchange": sent / ours, "plain": sent / plain}
    return {"ranks": ranks.size, "connection": ranks.description, "sent": sent, "bytes_per_second": rates}


def _best(ranks: Communicator, work: Callable[[], Any], repeat: int) -> float:
    """Return the least time in which all processes have done some work."""
    found = []
    for _ in range(repeat):
        ranks.barrier()
        began = perf_counter()
        work()
        ranks.barrier()
        found.append(perf_counter() - began)
    return min(found)


def _plain(ranks: Communicator, sent: int) -> Callable[[], None]:
    """Return what copies so many bytes from the partner, while the partner copies as many from here."""
    other, count = ranks.rank ^ 1, max(1, sent // PIECE)
    mine, theirs = np.ones(PIECE, dtype=np.uint8), np.empty(PIECE, dtype=np.uint8)
    if ranks.description.startswith("MPI"):
        from mpi4py import MPI

        def copy() -> None:
            for _ in range(count):
                MPI.COMM_WORLD.Sendrecv(mine, other, recvbuf=theirs, source=other)

        return copy
    pid, memory = ranks.allgather((os.getpid(), MemoryRuns.of(mine)))[other]

    def read(_kept: Any = mine) -> None:  # the partner reads it
        into = MemoryRuns.of(theirs).runs(0, 1, 0, PIECE)
        for _ in range(count):
            reach._copy("process_vm_readv", pid, into, memory.runs(0, 1, 0, PIECE))

    return read


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print one line of JSON on rank 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranks", description=__doc__)
    parser.add_argument("--n", type=int, default=24)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--messages", action="store_true", help="swap nothing in place")
    given = parser.parse_args(argv)
    faulthandler.dump_traceback_later(PATIENCE)
    if given.messages:
        between_ranks.DIRECT_BYTES = 1 << 60
    ranks = current()
    found = measure(ranks, given.n, given.repeat)
    faulthandler.cancel_dump_traceback_later()
    if ranks.rank == 0:
        print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
