"""Channels as the builder takes them: checked, without zeros, and told apart by whether they ask the state."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from qsim_ex import errors
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.ops import Channel, Op

X = np.array([[0, 1], [1, 0]])
FLIP = np.array([np.sqrt(0.75) * np.eye(2), 0.5 * X])
DAMPING = np.array([[[1, 0], [0, 0.6]], [[0, 0.8], [0, 0]]])


def test_a_channel_keeps_its_matrices() -> None:
    """The operands of a channel are its matrices in C order, and its wires are in the caller's order."""
    pair = np.array([np.kron(a, b) for a in FLIP for b in DAMPING])
    circuit = CircuitBuilder(3).gate("rx", [0], 0.3).channel(pair, [2, 0], name="pair").build()
    channel = circuit.instructions[-1]
    assert isinstance(channel, Channel)
    assert (channel.wires, channel.count, channel.name) == ((2, 0), 4, "pair")
    found = circuit.operands[0, channel.operand : channel.operand + pair.size].reshape(pair.shape)
    assert np.array_equal(found, pair)


@pytest.mark.parametrize(
    ("kraus", "mixed"),
    [
        (FLIP, True),
        (DAMPING, False),
        ([np.sqrt(0.5) * np.eye(2), np.sqrt(0.5) * np.diag([1, 1j])], True),
        ([np.diag([1, 0]), np.diag([0, 1])], False),
    ],
)
def test_mixed_says_whether_the_state_counts(kraus: Any, mixed: bool) -> None:
    """A channel is mixed exactly if its matrices are scaled unitaries."""
    (channel,) = CircuitBuilder(1).channel(kraus, [0]).build().instructions
    assert isinstance(channel, Channel)
    assert channel.mixed is mixed


def test_zeros_are_dropped() -> None:
    """A matrix that is zero is dropped."""
    kraus = [np.zeros((2, 2)), FLIP[0], 1e-8 * X, FLIP[1]]
    (channel,) = CircuitBuilder(1).channel(kraus, [0]).build().instructions
    assert isinstance(channel, Channel)
    assert channel.count == 2


def test_an_array_may_change_after_it_was_appended() -> None:
    """A channel has the matrices that its array held when it was appended, though the same array is appended again."""
    kraus = np.array(FLIP)
    builder = CircuitBuilder(1).channel(kraus, [0])
    kraus[...] = DAMPING
    circuit = builder.channel(kraus, [0]).build()
    first, second = (one for one in circuit.instructions if isinstance(one, Channel))
    for channel, expected in ((first, FLIP), (second, DAMPING)):
        assert np.array_equal(circuit.operands[0, channel.operand : channel.operand + 8].reshape(2, 2, 2), expected)


def test_a_product_of_channels_is_told_apart() -> None:
    """A channel is a product exactly if each of its matrices is a Kronecker product of matrices on single wires."""
    product = np.array([np.kron(a, b) for a in FLIP for b in DAMPING])
    swap = np.eye(4)[[0, 2, 1, 3]]
    joint = np.sqrt(0.5) * np.array([np.eye(4), swap])
    for kraus, expected in ((product, True), (joint, False)):
        (channel,) = CircuitBuilder(2).channel(kraus, [0, 1]).build().instructions
        assert isinstance(channel, Channel)
        assert channel.product is expected


def test_one_matrix_is_unitary() -> None:
    """A channel that leaves nothing to chance becomes a unitary operation."""
    (op,) = CircuitBuilder(1).channel([X, 0 * X], [0], name="sure").build().instructions
    assert isinstance(op, Op)
    assert op.unitary
    assert op.name == "sure"


@pytest.mark.parametrize(
    ("kraus", "wires", "error", "message"),
    [
        ([0.5 * np.eye(2)], [0], errors.NoiseError, "differs from 1 by 0.75 (limit 1e-07)"),
        (DAMPING.swapaxes(1, 2), [0], errors.NoiseError, "that keep the trace"),
        (np.zeros((0, 2, 2)), [0], errors.NoiseError, "one Kraus matrix or more"),
        (FLIP, [0, 1], errors.MatrixError, "[count, 4, 4] for 2 wires, got (2, 2, 2)"),
        (X, [0], errors.MatrixError, "[count, 2, 2] for 1 wires, got (2, 2)"),
        ([np.eye(2), np.eye(4)], [0], errors.MatrixError, "of one shape"),
        ([np.full((2, 2), np.nan)], [0], errors.MatrixError, "NaN"),
        ([np.eye(32)], [0, 1, 2, 3, 4], errors.NoiseError, "at most 4 wires, got 5"),
        (FLIP, [7], errors.WireError, "wire 7, which is out of range"),
        ([np.kron(k, k) for k in (np.eye(2), X) for k in [k / 2**0.25]], [1, 1], errors.WireError, "wire 1 twice"),
    ],
)
def test_what_is_no_channel(kraus: Any, wires: list[int], error: type[Exception], message: str) -> None:
    """Matrices that are no channel are refused, and the error says what is wrong."""
    with pytest.raises(error, match=re.escape(message)):
        CircuitBuilder(6).channel(kraus, wires, name="test")


def test_the_tolerance_is_the_callers() -> None:
    """A channel in single precision is accepted exactly if the caller's tolerance allows for it."""
    rough = FLIP * (1 + 1e-6)
    with pytest.raises(errors.NoiseError, match="differs from 1 by"):
        CircuitBuilder(1).channel(rough, [0])
    assert CircuitBuilder(1).channel(rough, [0], tolerance=1e-5).build().num_qubits == 1
