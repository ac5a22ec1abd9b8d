"""Messages between two processes over a socket that never blocks: what is to be sent, and what is expected.

A message has a header: the epoch of the connection, the operation that it belongs to, and its bytes. It is read only
when it is expected, into the memory that waits for it, so no message is kept that nobody has asked for. Messages of an
earlier epoch, which an aborted connection has left, are dropped.
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from typing import Any

_HEADER = struct.Struct("<qqq")
"""Epoch, operation and bytes of a message."""

_DROPPED = bytearray(1 << 16)
"""Where messages go that nobody waits for any more."""


class Sent:
    """A message that is being sent; its memory must not change before it is `done`."""

    __slots__ = ("left",)

    def __init__(self, *parts: Any) -> None:
        self.left = deque(memoryview(part).cast("B") for part in parts if len(part))

    @property
    def done(self) -> bool:
        """Whether all of it has left this process."""
        return not self.left


class Expected:
    """A message that is waited for.

    into: where its bytes go; None for a message of any size, whose bytes are `found` then. operation, size: of what
    came, which is dropped unless both are as expected.
    """

    __slots__ = ("done", "epoch", "found", "operation", "size", "wanted")

    def __init__(self, epoch: int, operation: int, into: Any = None) -> None:
        self.epoch, self.wanted, self.done = epoch, operation, False
        self.found: Any = None if into is None else memoryview(into).cast("B") if len(into) else memoryview(b"")
        self.operation, self.size = operation, 0

    def begin(self, operation: int, size: int) -> bool:
        """Take note of a header; return whether the bytes that follow are those that are waited for."""
        fits = operation == self.wanted and (self.found is None or len(self.found) == size)
        self.operation, self.size = operation, size
        if fits and self.found is None:
            self.found = memoryview(bytearray(size))
        return fits


class MessageStream:
    """One end of a socket to another process."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self.ended = False
        self._outgoing: deque[Sent] = deque()
        self._expected: deque[Expected] = deque()
        self._header = bytearray(_HEADER.size)
        self._filled = 0  # bytes of the header that are here
        self._begun = False  # whether the message of this header is being read
        self._current: Expected | None = None  # who waits for it; None if it is dropped
        self._left = 0  # bytes that are still to come

    def send(self, epoch: int, operation: int, data: Any = b"") -> Sent:
        """Queue a message behind all others."""
        sent = Sent(_HEADER.pack(epoch, operation, len(data)), data)
        if self.ended:
            sent.left.clear()
        else:
            self._outgoing.append(sent)
        return sent

    def expect(self, epoch: int, operation: int, into: Any = None) -> Expected:
        """Wait for the message behind all that are waited for."""
        expected = Expected(epoch, operation, into)
        self._expected.append(expected)
        return expected

    def forget(self) -> None:
        """Wait for nothing any more: memory that was given is not written to from now on."""
        self._expected.clear()
        self._current = None

    def fileno(self) -> int:
        """Return the descriptor of the socket; -1 once it is closed."""
        return self._socket.fileno()

    @property
    def reads(self) -> bool:
        """Whether something is waited for that may arrive."""
        if self.ended or not self._expected:
            return False
        return self._begun or self._filled < _HEADER.size or not self._is_later()

    @property
    def writes(self) -> bool:
        """Whether something is still to be sent."""
        return bool(self._outgoing) and not self.ended

    def work(self) -> None:
        """Send and take in as much as is possible at once."""
        self._write()
        self._read()

    def _write(self) -> None:
        while self._outgoing and not self.ended:
            message = self._outgoing[0]
            while message.left:
                try:
                    count = self._socket.send(message.left[0])
                except (BlockingIOError, InterruptedError):
                    return
                except OSError:  # the other process is gone; what it sent before may still be read
                    self._give_up()
                    return
                if count == len(message.left[0]):
                    message.left.popleft()
                else:
                    message.left[0] = message.left[0][count:]
            self._outgoing.popleft()

    def _give_up(self) -> None:
        """Send nothing any more."""
        for message in self._outgoing:
            message.left.clear()
        self._outgoing.clear()

    def _read(self) -> None:
        while self._expected and not self.ended:
            if self._filled < _HEADER.size:
                count = self._take(memoryview(self._header)[self._filled :])
                if not count:
                    return
                self._filled += count
            elif not self._begun:
                if self._is_later():
                    return
                self._begin()
            elif self._left:
                where = memoryview(_DROPPED)
                if self._current is not None:
                    where = self._current.found[len(self._current.found) - self._left :]
                count = self._take(where[: self._left])
                if not count:
                    return
                self._left -= count
            else:
                self._filled, self._begun = 0, False
                if self._current is not None:
                    self._expected.popleft().done = True
                    self._current = None

    def _is_later(self) -> bool:
        """Return whether the next message belongs to an epoch that this process has not reached."""
        return int(_HEADER.unpack(self._header)[0]) > self._expected[0].epoch

    def _begin(self) -> None:
        """Begin to read a message, or to drop it."""
        epoch, operation, self._left = _HEADER.unpack(self._header)
        self._begun, first = True, self._expected[0]
        if epoch < first.epoch:
            return
        if first.begin(operation, self._left):
            self._current = first
        else:
            self._expected.popleft().done = True  # whoever waits for it sees that it is another one

    def _take(self, where: memoryview) -> int:
        """Read bytes that are here, and return their number; 0 if there are none now."""
        try:
            count = self._socket.recv_into(where)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            count = 0
        if not count:
            self.ended = True
            self._give_up()
        return count

    def close(self) -> None:
        """Close the socket; may be called again."""
        self.ended = True
        self._give_up()
        self._socket.close()
