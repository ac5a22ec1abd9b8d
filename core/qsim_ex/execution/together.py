"""What keeps ranks in step that share a state: the same end of a run on all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from qsim_ex.comm.protocol import Communicator


@contextmanager
def in_step(ranks: Communicator) -> Iterator[None]:
    """Let all ranks leave the context together: if one leaves it with an error, all do."""
    try:
        yield
        ranks.barrier()
    except BaseException as error:
        ranks.abort(error)
        raise
