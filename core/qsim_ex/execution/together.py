"""What keeps ranks in step that share a state: the same inputs before a run, the same end after it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from qsim_ex.comm.protocol import Communicator
from qsim_ex.errors import CommunicationError

_LONGEST = 120
"""The most characters of a value that an error shows; of longer ones it shows a digest."""


def require_same(ranks: Communicator, given: Mapping[str, Any]) -> None:
    """Raise `CommunicationError` on all ranks, with the differences, unless all ranks were given the same.

    given: by name what tells this call from others, as objects whose `repr` does so.
    """
    shown = {name: _shown(value) for name, value in given.items()}
    everyone = ranks.allgather(shown)
    for rank, other in enumerate(everyone):
        first = everyone[0]
        differing = [name for name in {**first, **other} if first.get(name) != other.get(name)]
        if differing:
            each = (f"{name}: {first.get(name)} on rank 0, {other.get(name)} on rank {rank}" for name in differing)
            told = "; ".join(each)
            raise CommunicationError(
                f"expected the same call on all {ranks.size} processes, got different ones: {told}. Make the same "
                "calls with the same seeds everywhere, or pass processes='never' to simulate on each process alone."
            )


@contextmanager
def in_step(ranks: Communicator) -> Iterator[None]:
    """Let all ranks leave the context together: if one leaves it with an error, all do."""
    try:
        yield
        ranks.barrier()
    except BaseException as error:
        ranks.abort(error)
        raise


def digest(data: Iterable[bytes]) -> str:
    """Return a short digest of some bytes, which come in parts."""
    found = hashlib.blake2b(digest_size=8)
    for part in data:
        found.update(part)
    return found.hexdigest()


def _shown(value: Any) -> str:
    """Return a value in words, or its digest if that is too long."""
    words = value if isinstance(value, str) else repr(value)
    return words if len(words) <= _LONGEST else f"another one (digest {digest([words.encode()])})"
