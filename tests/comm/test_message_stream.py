"""Messages are read when they are expected, into the memory that waits; what nobody waits for is dropped, or stays."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import numpy as np
import pytest

from qsim_ex.comm.message_stream import MessageStream

Pair = tuple[MessageStream, MessageStream]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Both ends of a connection."""
    one, other = (MessageStream(end) for end in socket.socketpair())
    yield one, other
    one.close()
    other.close()


def worked(pair: Pair, rounds: int = 2000) -> None:
    """Let both ends send and take in what they can, again and again."""
    for _ in range(rounds):
        for end in pair:
            end.work()


def test_messages_larger_than_a_socket_holds_cross(pair: Pair) -> None:
    """Both ends send 16 MiB at once, and each gets the other's bytes, without a copy of its own."""
    sent = [np.full(1 << 24, k, dtype=np.uint8) for k in (1, 2)]
    into = [np.zeros(1 << 24, dtype=np.uint8) for _ in range(2)]
    waiting = [end.expect(0, 3, array) for end, array in zip(pair, into, strict=True)]
    leaving = [end.send(0, 3, array) for end, array in zip(pair, sent, strict=True)]
    for _ in range(100_000):
        worked(pair, 1)
        if all(one.done for one in (*waiting, *leaving)):
            break
    assert [int(array.min()) for array in into] == [2, 1]
    assert [int(array.max()) for array in into] == [2, 1]


def test_what_is_not_expected_stays_in_the_socket(pair: Pair) -> None:
    """A message is not read before somebody waits for it, nor one of a later epoch before its epoch."""
    one, other = pair
    one.send(0, 1, b"first")
    one.send(2, 1, b"later")
    worked(pair)
    assert not other.reads
    first = other.expect(0, 1)
    too_early = other.expect(1, 1)
    worked(pair)
    assert (bytes(first.found), first.done, too_early.done) == (b"first", True, False)
    assert not other.reads  # what is there is not for this epoch
    other.forget()
    later = other.expect(2, 1)
    worked(pair)
    assert bytes(later.found) == b"later"


def test_what_an_aborted_connection_has_left_is_dropped(pair: Pair) -> None:
    """Messages of an earlier epoch are passed over; memory that is no longer waited for is not written to."""
    one, other = pair
    array = np.zeros(1 << 23, dtype=np.uint8)
    half = other.expect(0, 1, array)
    one.send(0, 1, np.full(1 << 23, 7, dtype=np.uint8))
    worked(pair, 3)
    assert not half.done
    other.forget()
    array[...] = 0
    one.send(0, 2, b"old")
    one.send(1, 2, b"new")
    new = other.expect(1, 2)
    worked(pair)
    assert bytes(new.found) == b"new"
    assert not array.any()


def test_another_message_than_the_expected_one_is_told(pair: Pair) -> None:
    """A message of another operation or size is dropped, and what it was is there to be told."""
    one, other = pair
    for operation, data in ((5, b"abc"), (4, b"abcd"), (4, b"abc")):
        one.send(0, operation, data)
    into = np.zeros(3, dtype=np.uint8)
    wrong, long, right = (other.expect(0, 4, into) for _ in range(3))
    worked(pair)
    assert [(got.operation, got.size, got.done) for got in (wrong, long, right)] == [
        (5, 3, True),
        (4, 4, True),
        (4, 3, True),
    ]
    assert into.tobytes() == b"abc"


def test_the_end_of_a_process_is_seen_after_what_it_sent(pair: Pair) -> None:
    """What was sent before the end still arrives; then the stream has ended, and sending is given up."""
    one, other = pair
    one.send(0, 1, b"last words")
    one.work()
    one.close()
    last, more = other.expect(0, 1), other.expect(0, 1)
    worked(pair, 5)
    assert (bytes(last.found), more.done, other.ended) == (b"last words", False, True)
    assert other.send(0, 1, b"anybody?").done
