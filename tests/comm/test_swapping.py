"""Trades of arrays in place: neither rank leaves one that the other has begun; see tests/contract/test_over_mpi.py."""

from __future__ import annotations

from time import sleep
from typing import Any

import numpy as np
import pytest
from support.together import OVER, together

from qsim_ex.errors import CommunicationError


@pytest.mark.skipif(OVER != "MPI", reason="only processes trade in place; test_over_mpi.py starts some")
def test_a_trade_is_made_though_another_rank_has_failed() -> None:
    """A rank that has told where its array is waits for the other one, which comes later."""

    def work(end: Any) -> list[float]:
        if not end.reaches((end.rank + 1) % 3):
            pytest.skip("processes reach no memory of each other here")
        mine = np.full(4, float(end.rank))
        if end.rank == 2:
            sleep(0.2)
            end.abort(ArithmeticError("the kernel failed"))
            sleep(1.0)  # or the others would hear that it has ended
            return []
        if end.rank == 0:
            sleep(0.6)
        end.swap(1 - end.rank, [mine])
        with pytest.raises(CommunicationError, match="the kernel failed"):
            end.barrier()
        return mine.tolist()

    assert together(3, work) == [[1.0] * 4, [0.0] * 4, []]
