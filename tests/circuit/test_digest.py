"""Digests are those of the whole text, however long it is."""

from __future__ import annotations

import hashlib

import pytest

from qsim_ex.circuit import digest
from qsim_ex.circuit.ops import ALWAYS, Op

OPS = tuple(Op((k % 5,), (), ALWAYS, b"\5\5\5\5", 4 * k) for k in range(9))
PARTS = [(), (1,), (OPS,), (3, 0, OPS), (3, 0, OPS[:1], "a"), (OPS[:8], OPS[0], None), (("x",) * 5, ())]


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("at_once", [1, 4, 4096])
def test_pieces(monkeypatch: pytest.MonkeyPatch, parts: tuple[object, ...], at_once: int) -> None:
    """Long tuples are read in pieces, of which the last may have one item."""
    monkeypatch.setattr(digest, "_AT_ONCE", at_once)
    assert digest.digest_of(parts) == hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()
