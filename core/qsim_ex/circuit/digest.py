"""Keys of structures and plans, the same in every process: digests of the text of their parts, made piece by piece.

The text of a million gates takes 300 MB. Native code writes that of instructions
(core/native/readers/structure_text.cpp), for which Python needs 1.2 µs each. It is the text that
`repr` writes, so keys in files of earlier versions stay right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from qsim_ex import thresholds
from qsim_ex.native.library import address, function

_OF_A_PART = 1024
"""Bytes of text of which most parts have fewer: a short tuple needs no memory for a long one's."""


def digest_of(parts: tuple[object, ...], operation: type) -> str:
    """Return a short digest of ``repr(parts)``; operation: the class `Op`, of which most items of long tuples are."""
    digest = hashlib.blake2b(digest_size=8)
    for piece in _text(parts, operation):
        digest.update(piece)
    return digest.hexdigest()


def _text(parts: tuple[object, ...], operation: type) -> Iterator[bytes | memoryview]:
    """Yield ``repr(parts)`` in pieces, each of which is valid until the next."""
    yield b"("
    if len(parts) > thresholds.now.written_parts:
        yield from _written(parts, operation)
    else:
        for number, part in enumerate(parts):
            yield b", " if number else b""
            if type(part) is tuple:
                yield from _text(part, operation)
            else:
                yield repr(part).encode()
    yield b",)" if len(parts) == 1 else b")"


def _written(parts: tuple[object, ...], operation: type) -> Iterator[bytes | memoryview]:
    """Yield the text between the brackets of a tuple in pieces."""
    piece = np.empty(min(thresholds.now.written_bytes, _OF_A_PART * len(parts)), dtype=np.uint8)
    written, place = np.zeros(1, dtype=np.int64), 0
    while place < len(parts):
        end = _write()(parts, operation, place, len(parts), address(piece), len(piece), address(written))
        yield piece[: written[0]].data
        if end == place:  # an item that is longer than a piece
            yield f"{', ' if place else ''}{parts[place]!r}".encode()
            end += 1
        place = end


@lru_cache(maxsize=1)
def _write() -> Callable[..., int]:
    """Return the function of core/native/readers/structure_text.cpp."""
    return function("structure_text")
