"""Digests of structures, the same in every process: of the text of their parts, which is made piece by piece.

The text of a million gates takes half a GiB.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

_AT_ONCE = 4096
"""The most items of a tuple whose text is made at once."""


def digest_of(parts: tuple[object, ...]) -> str:
    """Return a short digest of ``repr(parts)``."""
    digest = hashlib.blake2b(digest_size=8)
    for piece in _text(parts):
        digest.update(piece.encode())
    return digest.hexdigest()


def _text(parts: tuple[object, ...]) -> Iterator[str]:
    """Yield ``repr(parts)`` in pieces."""
    for number, part in enumerate(parts):
        yield ", " if number else "("
        if type(part) is tuple and len(part) > _AT_ONCE:
            for begin in range(0, len(part), _AT_ONCE):
                yield ", " if begin else "("
                yield repr(part[begin : begin + _AT_ONCE])[1:-1].removesuffix(",")
            yield ")"
        else:
            yield repr(part)
    yield ",)" if len(parts) == 1 else ")" if parts else "()"
