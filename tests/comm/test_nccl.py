"""NCCL is used where every rank has it and a GPU of its own; a GPU that would wait forever is released."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from support.gpus import gpu_missing
from support.together import together

from qsim_ex.comm import nccl
from qsim_ex.comm.nccl import NcclRanks, _Offer, ranks_with_nccl
from qsim_ex.errors import CommunicationError
from tools.loopback import Loopback, loopback


class Group:
    """A group of NCCL, which notes its calls."""

    def __init__(self, size: int, unique: Any, rank: int) -> None:
        self.calls: list[Any] = [(size, unique, rank)]

    def __getattr__(self, name: str) -> Any:
        return lambda *given: self.calls.append((name, *given))


class Nccl:
    """CuPy's module, without a GPU."""

    NCCL_UINT8 = 1
    NcclCommunicator = Group

    def __init__(self) -> None:
        self.calls: list[str] = []

    def groupStart(self) -> None:
        """Note the call."""
        self.calls.append("start")

    def groupEnd(self) -> None:
        """Note the call."""
        self.calls.append("end")


class Queue:
    """A queue of copies whose work is done after so many looks."""

    stream = 77

    def __init__(self, looks: float) -> None:
        self.looks = looks

    def mark(self) -> Queue:
        """Return itself."""
        return self

    @property
    def done(self) -> bool:
        """Whether it was looked at often enough."""
        self.looks -= 1
        return self.looks < 0


class OnGpu:
    """An array in the memory of a GPU."""

    def __init__(self, pointer: int, size: int) -> None:
        self.data = type("Data", (), {"ptr": pointer})
        self.size, self.nbytes = size, 16 * size


def made() -> NcclRanks:
    """Return rank 5 of the ranks 2, 5 and 7."""
    return NcclRanks(Nccl(), contextlib.nullcontext(), (2, 5, 7), 5, "unique")


def test_an_exchange() -> None:
    """Both directions are one group of calls, for the number that the other rank has among those with GPUs."""
    ranks = made()
    ranks.exchange(Queue(0), 7, OnGpu(1000, 4), OnGpu(2000, 4))
    ranks.exchange(Queue(0), 2, OnGpu(1000, 0), OnGpu(2000, 3))
    assert ranks._group.calls == [
        (3, "unique", 1),
        ("send", 1000, 64, 1, 2, 77),
        ("recv", 2000, 64, 1, 2, 77),
        ("recv", 2000, 48, 1, 0, 77),
    ]
    assert ranks._nccl.calls == ["start", "end"] * 2


def test_a_rank_that_fails_while_a_gpu_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other connection hears of a failure ends the wait for the GPU, and NCCL."""
    monkeypatch.setattr(nccl, "_LOOK", 0.0)

    class Ended(Loopback):
        """A connection that knows of a dead rank."""

        def check(self) -> None:
            """Tell so."""
            raise CommunicationError("rank 7 of 8 takes part in no further operation: its process 1234 died.")

    ranks = made()
    (end,) = loopback(1)
    end.__class__ = Ended
    with pytest.raises(CommunicationError, match="rank 7 of 8"), ranks.exchanging(Queue(np.inf), end):
        pass
    assert ranks.failed
    assert ranks._group.calls[-1] == ("abort",)


def test_the_wait_for_a_gpu_ends_when_it_is_done() -> None:
    """A queue that is done after some looks ends the wait; an error of our own aborts NCCL."""
    (end,) = loopback(1)
    ranks, queue = made(), Queue(3)
    with ranks.exchanging(queue, end):
        pass
    assert queue.looks == -1
    assert not ranks.failed
    with pytest.raises(ArithmeticError), ranks.exchanging(queue, end):
        raise ArithmeticError
    assert ranks.failed


@pytest.mark.parametrize(
    ("offers", "why"),
    [
        ([_Offer(22809, "", ("a", "0")), _Offer(22809, "", ("a", "0"))], "ranks 0 and 1 share a GPU"),
        ([_Offer(22809, "", ("a", "0")), _Offer(22900, "", ("b", "0"))], "rank 1 has another version of NCCL"),
        ([_Offer(22809, "", ("a", "0")), _Offer(0, "CuPy finds no NCCL", ("", ""))], "rank 1: CuPy finds no NCCL"),
    ],
)
def test_who_has_no_nccl(monkeypatch: pytest.MonkeyPatch, offers: list[_Offer], why: str) -> None:
    """Ranks that share a GPU, have other versions or none are told so, all of them; a rank without a GPU too."""
    monkeypatch.setattr(nccl, "_offer", lambda number: offers[number])
    found = together(3, lambda end: ranks_with_nccl(end, None if end.rank == 2 else end.rank))
    assert all(made is None and words.startswith(why) for made, words in found)


def test_without_cupy() -> None:
    """A rank without CuPy says so."""
    pytest.importorskip("qsim_ex")
    if not gpu_missing():
        pytest.skip("CuPy is here")
    (end,) = loopback(1)
    made, words = ranks_with_nccl(end, 0)
    assert made is None
    assert words.startswith("rank 0: no CuPy")


@pytest.mark.gpu
@pytest.mark.skipif(bool(gpu_missing()), reason=gpu_missing() or "a GPU")
def test_one_rank() -> None:
    """One rank connects with itself alone, once; two ranks on one GPU are refused before NCCL is asked."""
    (end,) = loopback(1)
    made, words = ranks_with_nccl(end, 0)
    if made is None:
        pytest.skip(words)
    assert words.startswith("NCCL 2.")
    assert ranks_with_nccl(end, 0) == (made, words)
    found = together(2, lambda end: ranks_with_nccl(end, 0))
    assert found == [(None, "ranks 0 and 1 share a GPU, which NCCL refuses")] * 2
