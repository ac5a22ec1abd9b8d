"""Readout errors: bits are misread as often as their matrix says, by the seed, and no others are touched."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from qsim_ex import errors
from qsim_ex.circuit.noise.readout import ReadoutError, confusion
from qsim_ex.observe.readout import apply_readout
from qsim_ex.placement.index_bits import unpack

SHOTS = 200_000
ONE = np.array([[0.9, 0.1], [0.25, 0.75]])
TWO = np.array([[0.7, 0.1, 0.2, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5], [0.4, 0.3, 0.2, 0.1]])


def sampled(num_clbits: int, shots: int = SHOTS) -> NDArray[np.uint8]:
    """Packed bits, each of them 0 or 1 with equal probability."""
    bits = np.random.default_rng(5).integers(0, 2, (shots, num_clbits), dtype=np.uint8)
    return np.packbits(bits, axis=1, bitorder="little")


def value(packed: NDArray[np.uint8], clbits: tuple[int, ...]) -> NDArray[np.int64]:
    """The number that some bits make, the first least significant."""
    bits = unpack(packed, packed.shape[1] * 8).astype(np.int64)
    return sum(bits[:, bit] << k for k, bit in enumerate(clbits))  # type: ignore[return-value]


@pytest.mark.parametrize(("clbits", "matrix"), [((3,), ONE), ((9, 2), TWO), ((7, 8), TWO)])
def test_frequencies(clbits: tuple[int, ...], matrix: NDArray[np.float64]) -> None:
    """Values are misread as often as their row of the matrix says, and never where its entry is 0."""
    true = sampled(11)
    read = apply_readout(true, (ReadoutError(clbits, matrix),), seed=11)
    before, after = value(true, clbits), value(read, clbits)
    for row, probabilities in enumerate(matrix):
        chosen = after[before == row]
        found = np.bincount(chosen, minlength=len(matrix)) / len(chosen)
        deviation = np.sqrt(probabilities * (1 - probabilities) / len(chosen))
        assert (np.abs(found - probabilities) <= 5 * deviation).all()  # exactly 0 where the probability is 0 or 1


def test_other_bits_and_the_input_stay() -> None:
    """Bits without a readout error stay, and so does the array that was given."""
    true = sampled(11)
    given = true.copy()
    read = apply_readout(true, (ReadoutError((2, 9), TWO), ReadoutError((5,), ONE)), seed=1)
    assert np.array_equal(true, given)
    others = [bit for bit in range(11) if bit not in (2, 9, 5)]
    assert np.array_equal(unpack(read, 11)[:, others], unpack(true, 11)[:, others])


def test_the_seed_decides() -> None:
    """A seed gives the same bits again, another seed gives others, and bits are misread independently."""
    zeros = np.zeros((SHOTS, 1), dtype=np.uint8)
    both = tuple(ReadoutError((bit,), ONE) for bit in (0, 1))
    read = apply_readout(zeros, both, seed=7)
    assert np.array_equal(read, apply_readout(zeros, both, seed=7))
    assert not np.array_equal(read, apply_readout(zeros, both, seed=8))
    assert abs((read == 3).mean() - 0.01) < 5 * np.sqrt(0.01 / SHOTS)  # 0.1 · 0.1: independent
    assert np.array_equal(read & 1, apply_readout(zeros, both[:1], seed=7) & 1)  # whatever else is misread


def test_certain_and_ideal() -> None:
    """A bit that is always inverted is inverted in every shot, and without errors nothing changes."""
    true = sampled(3, 50)
    assert np.array_equal(apply_readout(true, (ReadoutError((1,), np.eye(2)[::-1]),), 3), true ^ 2)
    assert np.array_equal(apply_readout(true, (ReadoutError((1,), np.eye(2)),), 3), true)
    assert apply_readout(true, (), 3) is true


@pytest.mark.parametrize("clbits", [((0,), (1, 0)), ((8,),), ((-1,),)])
def test_bits_that_are_not_there(clbits: tuple[tuple[int, ...], ...]) -> None:
    """A bit that is in two groups or out of range is refused."""
    found = tuple(ReadoutError(bits, np.eye(1 << len(bits))) for bits in clbits)
    with pytest.raises(errors.NoiseError, match="expected readout errors of classical bits 0 to 7"):
        apply_readout(sampled(5, 4), found, 1)


def test_matrices_that_are_too_wide() -> None:
    """A matrix of more than 10 bits is refused."""
    with pytest.raises(errors.NoiseError, match="of 1 to 10 bits, got one of 40"):
        confusion(np.eye(2), 40)
