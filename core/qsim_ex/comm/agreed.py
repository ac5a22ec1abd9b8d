"""What ranks agree on before they share a state: that all were given the same, and what each tells the others with it.

It is one gathering. Ranks tell a digest of what they were given, and only those that differ tell it all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.comm import connection
from qsim_ex.comm.protocol import Communicator
from qsim_ex.errors import CommunicationError

_LONGEST = 120
"""The most characters of a value that an error shows; of longer ones it shows a digest."""


class Asking(NamedTuple):
    """What a rank was asked for.

    given: by name what tells this call from others, as objects whose `repr` does so. also: what the others are to hear.
    """

    given: Mapping[str, object]
    also: Any = None


Ask = Callable[[], Asking]
"""Returns what a rank was asked for; it is called only where states are divided, since it costs digests."""


class _Opening(NamedTuple):
    """What a rank tells all others: why it failed, the digest of what it was given, and values for the others."""

    error: str
    digest: str
    also: Any
    more: Any


class Opened:
    """A connection that works, over which all ranks have told each other what they were asked for.

    All ranks make one together. ask: see `Ask`. more: returns another value for the others; None if there is none.
    ranks: the connection. renewed: whether it is a new one, since any rank has aborted the one before.
    more: the values of all ranks. also: what came with what each was asked for.
    """

    def __init__(self, ask: Ask, more: Callable[[], Any] | None = None) -> None:
        self._error: Exception | None = None
        self._given: Mapping[str, str] = {}
        also, told, words = None, None, ""
        try:
            asked = ask()
            self._given, also = {name: _shown(value) for name, value in asked.given.items()}, asked.also
            told = None if more is None else more()
        except Exception as error:  # noqa: BLE001  (raised by `require_same`, when the others know)
            self._error, words = error, f"{type(error).__name__}: {error}"
        before = connection.current()
        mine = _Opening(words, digest([repr(self._given).encode()]), also, told)
        self.ranks, everyone = connection.renew_with(tuple(mine))
        self.renewed = self.ranks is not before
        self._others = [rank for rank, one in enumerate(everyone) if one is None]  # they renewed, and ask for nothing
        self._said = [_Opening("", "", None, None) if one is None else _Opening(*one) for one in everyone]
        self.more = [one.more for one in self._said]
        self.also = [one.also for one in self._said]

    def require_same(self) -> None:
        """Raise an error on all ranks if any has one, or has been asked for something else."""
        if self._others:
            error = CommunicationError(
                f"rank {self._others[0]} makes another call than rank {self.ranks.rank}; expected all ranks to make "
                "the same calls in the same order."
            )
            self.ranks.abort(error)  # they do not know of it
            raise error
        if self._error is not None:
            raise self._error
        for rank, one in enumerate(self._said):
            if one.error:
                raise CommunicationError(
                    f"rank {rank} of {len(self._said)} has failed, and this rank with it: {one.error}"
                )
        if any(one.digest != self._said[0].digest for one in self._said):
            _require_same(self.ranks, self._given)


def asked_of(circuit: Circuit) -> Asking:
    """Return what tells a circuit from others."""
    return Asking({"circuit": circuit.key, "numbers": digest([circuit.operands.tobytes()])})


def require_same(ranks: Communicator, given: Mapping[str, object]) -> None:
    """Raise `CommunicationError` on all ranks, with the differences, unless all ranks were given the same.

    given: by name what tells this call from others, as objects whose `repr` does so.
    """
    _require_same(ranks, {name: _shown(value) for name, value in given.items()})


def _require_same(ranks: Communicator, shown: Mapping[str, str]) -> None:
    """Do what `require_same` does, with values in words."""
    everyone = ranks.allgather(dict(shown))
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


def digest(data: Iterable[bytes]) -> str:
    """Return a short digest of some bytes, which come in parts."""
    found = hashlib.blake2b(digest_size=8)
    for part in data:
        found.update(part)
    return found.hexdigest()


def _shown(value: object) -> str:
    """Return a value in words, or its digest if that is too long."""
    words = value if isinstance(value, str) else repr(value)
    return words if len(words) <= _LONGEST else f"another one (digest {digest([words.encode()])})"
