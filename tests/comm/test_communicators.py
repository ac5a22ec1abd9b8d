"""Ranks get what the others gave, over every connection, and none of them waits for one that has ended.

They are threads; `tests/contract/test_over_mpi.py` runs the same tests under mpiexec, where they are processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.together import OVER, together

from qsim_ex.comm.protocol import Communicator
from qsim_ex.errors import CommunicationError


@pytest.mark.parametrize("size", [1, 2, 3])
def test_everybody_gets_what_the_others_gave(size: int) -> None:
    """Sums, gathered lists and broadcasts hold what each rank gave, time after time and in the order of ranks."""

    def work(end: Communicator) -> list[Any]:
        found: list[Any] = []
        for turn in range(50):
            found.append(end.allreduce(np.array([end.rank, turn], dtype=np.float64)).tolist())
            found.append(end.allgather((end.rank, turn)))
            found.append(end.broadcast(10 * end.rank + turn, root=turn % size))
            end.barrier()
        return found

    wanted: list[Any] = []
    for turn in range(50):
        wanted.append([sum(range(size)), size * turn])
        wanted.append([(rank, turn) for rank in range(size)])
        wanted.append(10 * (turn % size) + turn)
    assert together(size, work) == [wanted] * size


def test_exchanged_arrays_may_be_reused_at_once() -> None:
    """A rank receives what was sent, although the sender overwrites it as soon as the call returns."""

    def work(end: Communicator) -> list[float]:
        mine, theirs = np.empty(1000), np.empty(1000)
        sums = []
        for turn in range(100):
            mine[:] = 1000 * end.rank + turn
            end.exchange(1 - end.rank, mine, theirs)
            sums.append(float(theirs.sum()))
        return sums

    zero, one = together(2, work)
    assert zero == [1000.0 * (1000 + turn) for turn in range(100)]
    assert one == [1000.0 * turn for turn in range(100)]


def test_pairs_exchange_beside_others() -> None:
    """Two pairs of four ranks exchange at the same time, and each rank gets the array of its own partner."""

    def work(end: Communicator) -> float:
        theirs = np.empty(1)
        end.exchange(end.rank ^ 1, np.array([float(end.rank)]), theirs)
        end.exchange(end.rank ^ 2, theirs.copy(), theirs)
        return float(theirs[0])

    assert together(4, work) == [3.0, 2.0, 1.0, 0.0]


@pytest.mark.parametrize("waiting", ["barrier", "exchange", "allreduce", "allgather", "broadcast"])
def test_a_rank_that_fails_wakes_the_others(waiting: str) -> None:
    """An error of one rank is the cause of the error of every rank that waits for it, in any operation."""
    calls: dict[str, Callable[[Communicator], Any]] = {
        "barrier": lambda end: end.barrier(),
        "exchange": lambda end: end.exchange(0, np.zeros(1), np.zeros(1)),
        "allreduce": lambda end: end.allreduce(np.zeros(1)),
        "allgather": lambda end: end.allgather(1),
        "broadcast": lambda end: end.broadcast(None, root=0),
    }

    def work(end: Communicator) -> None:
        end.barrier()
        if end.rank == 0:
            raise ArithmeticError("the kernel failed")
        calls[waiting](end)

    first, second = together(2, work)
    assert isinstance(first, ArithmeticError)
    assert isinstance(second, CommunicationError)
    assert second.__cause__ is (first if OVER == "loopback" else None)  # processes pass on words
    assert "the kernel failed" in str(second)


def test_a_rank_that_ends_is_not_waited_for() -> None:
    """Waiting for a rank that has ended, or coming after it has, raises an error that names it."""

    def work(end: Communicator) -> None:
        if end.rank == 0:
            return
        end.barrier()

    for found in together(3, work)[1:]:
        assert isinstance(found, CommunicationError)


def test_an_aborted_connection_is_renewed() -> None:
    """After an abort all ranks get a new connection that works; without one they keep theirs."""

    def work(end: Communicator) -> tuple[bool, list[int]]:
        assert end.renewed() is end
        if end.rank == 1:
            end.abort(ArithmeticError("the kernel failed"))
        new = end.renewed()
        with pytest.raises(CommunicationError, match="the kernel failed"):
            end.barrier()
        assert new.renewed() is new
        return new is end, new.allgather(new.rank)

    assert together(3, work) == [(False, [0, 1, 2])] * 3


def test_one_side_may_send_nothing() -> None:
    """An empty array stands for nothing to send in one direction."""

    def work(end: Communicator) -> list[float]:
        mine, theirs = np.arange(3.0), np.zeros(3)
        end.exchange(1 - end.rank, mine[: 3 * (1 - end.rank)], theirs[: 3 * end.rank])
        return theirs.tolist()

    assert together(2, work) == [[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]]


@pytest.mark.skipif(OVER == "MPI", reason="MPI itself mixes collectives that do not belong together")
def test_ranks_that_do_different_things_fail() -> None:
    """Operations that do not belong together raise an error that names both, in place of waiting or mixing values."""

    def work(end: Communicator) -> Any:
        return end.barrier() if end.rank else end.allgather(1)

    found = together(2, work)
    assert all(isinstance(error, CommunicationError) for error in found)
    assert "allgather" in str(found[0])
    assert "barrier" in str(found[0])


def test_arrays_of_another_shape_or_precision_are_refused() -> None:
    """Amplitudes are never cast or cut in silence on their way."""
    for other in (np.zeros(3, dtype=np.complex128), np.zeros(4, dtype=np.complex64)):

        def work(end: Communicator, other: Any = other) -> None:
            mine = np.zeros(4, dtype=np.complex128) if end.rank else other
            end.exchange(1 - end.rank, mine, np.empty_like(mine))

        assert {type(error) for error in together(2, work)} <= {ValueError, CommunicationError}
