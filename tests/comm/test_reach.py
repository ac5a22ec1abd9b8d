"""Two processes of one host swap arrays in place, each one half, without messages between."""

from __future__ import annotations

import os
import threading
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

from qsim_ex.comm import reach
from qsim_ex.comm.reach import MemoryRuns, reached, swap_half
from qsim_ex.thresholds import Thresholds

pytestmark = pytest.mark.skipif(not reach.allowed(), reason="this system copies nothing between processes")

SHAPES: dict[str, tuple[int, slice | tuple[slice, slice]]] = {
    "one run": (3 * Thresholds.reached_at_once // 8 + 5, slice(None)),
    "short": (1, slice(None)),
    "narrow rows": (1 << 14, (slice(None), slice(3, 5))),
    "wide rows": (1 << 19, (slice(None), slice(7, (1 << 16) + 9))),
}
"""The float64 numbers of an array, and the part of it that is swapped; those of two dimensions have gaps."""


def part_of(name: str, value: float) -> tuple[np.ndarray, np.ndarray]:
    """Return an array of numbers that all begin with `value`, and its part."""
    size, where = SHAPES[name]
    whole = np.arange(size) * 1.0 + value
    rows = whole if isinstance(where, slice) else whole.reshape(-1, 8 if "narrow" in name else 1 << 17)
    return whole, rows[where]


def _other(pipe: Any, name: str) -> None:
    """Work as rank 1."""
    whole, part = part_of(name, 0.5)
    pipe.send((os.getpid(), MemoryRuns.of(part)))
    pid, memory = pipe.recv()
    swap_half(pid, part, memory, 1)
    pipe.send("done")
    pipe.recv()
    pipe.send(whole)


@pytest.mark.parametrize("name", SHAPES)
def test_both_have_what_the_other_had(name: str) -> None:
    """After both have swapped their halves, each has the other's part, and all around it is untouched."""
    context = get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_other, args=(theirs, name))
    process.start()
    whole, part = part_of(name, 0.0)
    pid, memory = mine.recv()
    mine.send((os.getpid(), MemoryRuns.of(part)))
    swap_half(pid, part, memory, 0)
    assert mine.recv() == "done"
    mine.send("done")
    other = mine.recv()
    process.join(60)
    wanted, wanted_part = part_of(name, 0.0)
    expected, expected_part = part_of(name, 0.5)
    kept = wanted_part.copy()
    wanted_part[...] = expected_part
    expected_part[...] = kept
    assert np.array_equal(whole, wanted)
    assert np.array_equal(other, expected)


def test_a_process_that_is_gone_is_an_error() -> None:
    """A swap with a process that has ended raises `OSError`; so does memory that is not there."""
    context = get_context("spawn")
    process = context.Process(target=os.getpid)
    process.start()
    process.join(60)
    array = np.zeros(100)
    assert process.pid is not None
    with pytest.raises(OSError, match="process_vm_readv copied"):
        swap_half(process.pid, array, MemoryRuns.of(array), 0)
    with pytest.raises(OSError, match="Bad address"):
        swap_half(os.getpid(), array, MemoryRuns(4096, 1, 800, 800), 0)


def test_arrays_of_one_shape() -> None:
    """Arrays of two shapes are refused before anything is written."""
    with pytest.raises(ValueError, match="expected arrays of one shape"):
        swap_half(os.getpid(), np.zeros(4), MemoryRuns.of(np.zeros(5)), 0)
    with pytest.raises(ValueError, match="contiguous"):
        MemoryRuns.of(np.zeros(8)[::2].reshape(2, 2))


def test_ranks_find_whom_they_reach() -> None:
    """Threads of one process reach one another; a rank whose memory holds something else is not reached."""
    barrier, given = threading.Barrier(2), {}
    found: dict[int, dict[int, int]] = {}

    def gather(rank: int, turn: list[int], value: Any) -> list[Any]:
        given[turn[0], rank] = value
        barrier.wait(60)
        everyone = [given[turn[0], 0], given[turn[0], 1]]
        turn[0] += 1
        return everyone

    def work(rank: int) -> None:
        turn = [0]
        found[rank] = reached(lambda value: gather(rank, turn, value), rank)

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {0: {1: os.getpid()}, 1: {0: os.getpid()}}
