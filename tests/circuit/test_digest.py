"""Keys of structures are digests of the text that `repr` writes, however long it is."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from qsim_ex import CircuitBuilder, thresholds
from qsim_ex.circuit import digest
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.ops import ALWAYS, Channel, Initialize, Measure, Op, Permutation, Save, When

OPS = tuple(Op((k % 5,), (), ALWAYS, b"\5\5\5\5", 4 * k) for k in range(99))
MANY: tuple[Any, ...] = (
    *OPS,
    Op((), (1 << 70, 3), When(1 << 80, 1 << 80), b"'\"\\", (1 << 62) + 7, "it's", False),
    Op((), (), ALWAYS, b"", -(1 << 63) + 1, '"µ\n\ud800', np.True_),
    Channel((0, 2), 4, 12, True, "depolarizing", True),
    Measure((0,), (1,)),
    Measure((0,), (1,), (2,)),
    Initialize((0, 1), 5),
    Permutation((0, 1), (1, 0, 3, 2)),
    Save("a"),
    None,
    "x" * 50,
    (OPS[0], ()),
    *OPS,
)
PARTS = [
    (),
    (1,),
    (OPS,),
    (3, 0, OPS),
    (3, 0, MANY),
    (3, 0, OPS[:1], "a"),
    (OPS[:8], OPS[0], None),
    ((3, (MANY,)), 1.5),
]


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("few", [0, 64])
@pytest.mark.parametrize("room", [1, 90, 700, 1 << 22])
def test_pieces(parts: tuple[object, ...], few: int, room: int) -> None:
    """Long tuples are written in pieces, and an item that is longer than a piece by itself."""
    with thresholds.instead(written_parts=few, written_bytes=room):
        found = digest.digest_of(parts, Op)
    assert found == hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def test_an_error_in_an_item() -> None:
    """An item whose text cannot be made raises its error."""

    class Wrong:
        def __repr__(self) -> str:
            raise ValueError("no text")

    for parts in [(*OPS, Wrong()), (*OPS, Op((), (), ALWAYS, b"", 0, Wrong()))]:  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="no text"):
            digest.digest_of(parts, Op)


def noisy(gates: int) -> Circuit:
    """Return a circuit with instructions of some kinds."""
    builder = CircuitBuilder(70, 70)
    for k in range(gates):
        builder.gate("cx", [k % 70, (k + 1) % 70]).gate("rz", [k % 70], 0.1)
        builder.channel(noise.depolarizing(0.01), [k % 70])
    return builder.measure(list(range(70)), list(range(70))).build()


def test_keys_are_what_they_were() -> None:
    """Files of earlier versions hold keys of circuits, so these stay what they were, in every process."""
    assert [noisy(gates).key for gates in (1, 100)] == ["4fd6a4aaae0bf6d3", "31a19a74cae55158"]
