"""What a rank over MPI makes of the answers of an MPI library, which is played here by what the standard says of it."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

from qsim_ex.comm.mpi import Mpi
from qsim_ex.comm.mpi_world import LOOK


class Status:
    """How many bytes a message had; none where a request was waited for before (MPI 4.1, section 3.7.3)."""

    def __init__(self) -> None:
        self.count = 0

    def Get_count(self, _byte: object) -> int:
        """Return it."""
        return self.count


class Library:
    """An MPI library whose requests get done at some question after a rank has begun to look around."""

    BYTE = "byte"
    Status = Status

    def __init__(self, done_at: int) -> None:
        self.questions, self._done_at, self._null = 0, done_at, False
        self._began = time.monotonic()
        self.Request = SimpleNamespace(Testall=self._test)

    def _test(self, requests: list[int], statuses: list[Status]) -> bool:
        self.questions += time.monotonic() > self._began + LOOK
        if self.questions < self._done_at:
            return False
        for size, status in zip(requests, statuses, strict=True):
            status.count = 0 if self._null else size
        self._null = True
        return True


def size_of(message: list[np.ndarray], **_others: int) -> int:
    """Return the bytes of a message: all that a request is here."""
    return message[0].nbytes


@pytest.mark.parametrize("question", range(1, 9))
def test_a_message_has_arrived_whenever_it_comes(question):
    """A message that arrives while its rank looks at the others counts as much as one that arrives before or later."""
    library = Library(question)
    nobody = SimpleNamespace(mpi=library, flying=[], ended={}, failed={}, left=set(), look=lambda: None)
    rank: Mpi = object.__new__(Mpi)
    rank._world, rank._mpi, rank._generation, rank._piece = nobody, library, 0, 1 << 30
    rank._comm = SimpleNamespace(Irecv=size_of, Isend=size_of)
    rank.rank, rank.size, rank._error = 0, 2, None
    rank.start(1, np.zeros(3, dtype=np.uint8), np.zeros(3, dtype=np.uint8))()
    assert library.questions == question
