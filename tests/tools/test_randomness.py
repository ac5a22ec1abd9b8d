"""The stream that dieharder reads is that of shots, and a test that fails is found."""

from __future__ import annotations

from itertools import islice

import numpy as np

from tools.randomness import STREAMS, failed, stream


def test_a_stream_has_the_numbers_of_shots() -> None:
    """A stream has the highest 32 bits of NumPy's Philox generators, instruction by instruction, seed by seed."""
    for shots, seeds in ((8, 3), STREAMS["keys"]):
        for number, piece in enumerate(islice(stream(shots, seeds), 6)):
            found = np.frombuffer(piece, "<u4").reshape(seeds, shots)
            for k in (0, seeds - 1):
                key = np.array([number // 4 * seeds + k, number % 4], dtype=np.uint64)
                expected = np.random.Generator(np.random.Philox(key=key)).random(shots)
                assert np.array_equal(found[k], (expected * (1 << 32)).astype(np.uint32))


def test_a_failed_test_is_found() -> None:
    """Of the lines of dieharder those that failed are kept, and weak ones are not."""
    lines = [
        "keys, sts_runs, 2, 100, 0.31, PASSED",
        "keys, sts_serial, 3, 100, 0.0, FAILED",
        "keys, x, 1, 1, 0.999, WEAK",
    ]
    assert failed(lines) == [lines[1]]
