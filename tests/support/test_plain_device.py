"""The plain device, which tests of plans trust, agrees with the oracle that knows only circuits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.plain_device import PlainDevice

from qsim_ex.circuit.ops import ALWAYS, Op, When, pattern
from qsim_ex.reference import apply_op
from qsim_ex.steps import DenseMatrix, Diagonal, InitialAmplitudes, Mix, Permute, RegisterBlock, Slot, Sweep


def random_state(num_bits: int, seed: int = 0) -> np.ndarray:
    """A normalised random state."""
    rng = np.random.default_rng(seed)
    psi = rng.normal(size=1 << num_bits) + 1j * rng.normal(size=1 << num_bits)
    return psi / np.linalg.norm(psi)


def sweep(*items, near=(0, 1), numbers=0, tables=0):
    """A sweep of one register block."""
    return Sweep(tile=tuple(range(4)), register_blocks=(RegisterBlock(near, items),), numbers=numbers, tables=tables)


def test_mix_is_the_operation_of_the_reference() -> None:
    """A mix with a control and known entries is the reference's operation."""
    psi = random_state(4)
    entries = np.array([0.6, 0, 1, 0.8j])
    item = Mix((1,), (), When(0b1001, 0b1000), pattern("r01i"), Slot(1, 2))
    ours = psi.copy()
    PlainDevice().run(ours, 4, sweep(item, numbers=3), np.array([9, 0.6, 0.8j]))
    assert np.allclose(ours, apply_op(psi, Op((1,), (), item.when, pattern("r01i"), 0), entries))


def test_tables_are_chosen_by_parities_also_outside_the_buffer() -> None:
    """A table is read at the parities of its masks, bits outside the buffer included."""
    psi = random_state(4)
    table = np.exp(1j * np.arange(4))
    item = Diagonal((0b10011, 0b100), ALWAYS, pattern("cccc"), Slot(0, 4))
    for high in (0, 1):
        ours = psi.copy()
        PlainDevice().run(ours, 4, sweep(item, tables=4), table, high=high)
        for i in range(16):
            which = (i ^ i >> 1 ^ high) & 1 | (i >> 2 & 1) << 1
            assert ours[i] == pytest.approx(psi[i] * table[which])


def test_a_sole_minus_one_has_no_number() -> None:
    """A controlled sign is taken from the pattern and has no number."""
    psi = random_state(2)
    item = Diagonal((), When(0b11, 0b11), pattern("-"), Slot(0, 0))
    ours = psi.copy()
    PlainDevice().run(ours, 2, sweep(item), np.zeros(0))
    assert np.array_equal(ours, psi * [1, 1, 1, -1])


def test_rename_moves_x_to_its_image() -> None:
    """A permutation moves value x to its image (seen with a cycle, which is not its own inverse)."""
    psi = random_state(3)
    ours = psi.copy()
    PlainDevice().run(ours, 3, sweep(Permute((0, 1), When(4, 4), (1, 2, 3, 0))), np.zeros(0))
    assert np.array_equal(ours[:4], psi[:4])
    assert np.array_equal(ours[[5, 6, 7, 4]], psi[4:])


def test_spread_writes_a_product() -> None:
    """Bits that are held at a value become the given state times the rest."""
    rest = random_state(2, 1)
    given_state = random_state(2, 2)
    psi = np.zeros(16, dtype=complex)
    psi[[0b0100, 0b0101, 0b1100, 0b1101]] = rest  # bits 1 and 2 hold 0b10
    PlainDevice().run(psi, 4, InitialAmplitudes((1, 2), 0b10), given_state)
    for i in range(16):
        assert psi[i] == pytest.approx(given_state[i >> 1 & 3] * rest[(i & 1) | (i >> 3 & 1) << 1])


def test_wide_is_a_kronecker_product() -> None:
    """A matrix on the lowest bits is 1 ⊗ M."""
    psi = random_state(4)
    matrix = np.random.default_rng(3).normal(size=(8, 8)) + 0j
    ours = psi.copy()
    PlainDevice().run(ours, 4, DenseMatrix((0, 1, 2), (), ALWAYS), matrix.ravel())
    assert np.allclose(ours, np.kron(np.eye(2), matrix) @ psi)


@given(st.permutations(range(4)), st.integers(0, 15))
def test_permute_is_a_transposition(sources: list[int], flip: int) -> None:
    """Moving index bits is the transposition of the state's axes."""
    psi = random_state(4)
    ours = psi.copy()
    PlainDevice().permute(ours, 4, sources, flip)
    tensor = psi.reshape([2] * 4).transpose([3 - sources[3 - axis] for axis in range(4)])
    flipped = np.flip(tensor, [axis for axis in range(4) if flip >> (3 - axis) & 1])
    assert np.array_equal(ours, flipped.ravel())


def test_density_is_a_partial_trace() -> None:
    """The reduced density matrix is the partial trace, neither transposed nor conjugated."""
    psi = random_state(3)
    tensor = psi.reshape(2, 2, 2)  # axes: bits 2, 1, 0
    rho = np.einsum("abc,dbe->acde", tensor, tensor.conj())  # bits (2, 0) of rows, then of columns
    ours = PlainDevice().density(psi, 3, (0, 2))
    assert np.allclose(ours, rho.reshape(4, 4))
