"""The late device: work and copies wait in queues and run in any order that marks allow.

On a GPU most missing waits show once in a thousand runs. Here the order of queues is drawn at random, so that a copy
which does not wait for what it needs soon reads the wrong amplitudes.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import numpy as np
from support.plain_device import TINY, PlainDevice

from qsim_ex.devices.base import Copies


class Mark:
    """Done once all that was queued before it is."""

    done = False


class Queue:
    """Work in order, of which nothing is done until someone waits."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.waiting: deque[Callable[[], None] | Mark | tuple[Mark]] = deque()
        machine.queues.append(self)

    def put(self, work: Callable[[], None]) -> None:
        """Queue some work."""
        self.waiting.append(work)

    def mark(self) -> Mark:
        """A mark behind all that is queued so far."""
        self.waiting.append(Mark())
        return self.waiting[-1]

    def wait(self, mark: Mark | None) -> None:
        """Let later work begin after a mark."""
        if mark is not None:
            self.waiting.append((mark,))

    def synchronize(self) -> None:
        """Run queues, this one and others, in random order until this one is empty."""
        while self.waiting:
            self.machine.step()

    def ready(self) -> bool:
        """Whether the next thing can happen."""
        return bool(self.waiting) and not (isinstance(self.waiting[0], tuple) and not self.waiting[0][0].done)

    def step(self) -> None:
        """Do the next thing."""
        match self.waiting.popleft():
            case Mark() as mark:
                mark.done = True
            case tuple():
                pass
            case work:
                work()


class Machine:
    """Some late devices, the order in which they work, and what was copied between whose memory.

    copied: amplitudes, by the names of the memories that they went from and to. spoil: called with the number of a
    copy and its two views, and returns what is done in place of it, or None; for planted faults.
    """

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.queues: list[Queue] = []
        self.owners: dict[int, str] = {}
        self.copied: Counter[tuple[str, str]] = Counter()
        self.copies = 0
        self.spoil: Callable[[int, Any, Any], Callable[[], None] | None] = lambda _number, _to, _source: None

    def step(self) -> None:
        """Do one thing in one queue that can."""
        ready = [queue for queue in self.queues if queue.ready()]
        assert ready, "queues wait for each other"
        self.random.choice(ready).step()

    def idle(self) -> bool:
        """Whether nothing is left to do."""
        return not any(queue.waiting for queue in self.queues)

    def owner(self, view: Any) -> str:
        """Whose memory a view is of."""
        while view.base is not None:
            view = view.base
        return self.owners[id(view)]


class LateCopyQueue(Queue):
    """A queue of copies."""

    def copy(self, to: Any, source: Any) -> None:
        """Queue a copy between views of one shape."""
        assert to.shape == source.shape
        assert np.shares_memory(to, to.base if to.base is not None else to)
        assert all(view.strides[-1] == view.itemsize for view in (to, source))
        machine = self.machine
        machine.copied[machine.owner(source), machine.owner(to)] += to.size
        planted = machine.spoil(machine.copies, to, source)
        machine.copies += 1
        self.put(planted or (lambda: np.copyto(to, source)))


class LateDevice(PlainDevice, Copies):
    """A processor by definition that starts nothing before someone waits for it."""

    def __init__(self, machine: Machine, name: str = "late:0", free: int = 1 << 30) -> None:
        super().__init__(TINY, free)
        self.name = name
        self.machine = machine
        self.queue = Queue(machine)
        self.buffers: list[Any] = []

    def copy_queue(self) -> LateCopyQueue:
        """A new queue of copies."""
        return LateCopyQueue(self.machine)

    def mark(self) -> Mark:
        """A mark behind all work so far."""
        return self.queue.mark()

    def wait(self, mark: Mark | None) -> None:
        """Work from now on begins after a mark."""
        self.queue.wait(mark)

    def reach(self, mark: Mark | None) -> None:
        """Run queues in random order until a mark is done."""
        while mark is not None and not mark.done:
            self.machine.step()

    def host_memory(self, num_amplitudes: int, dtype: Any) -> tuple[Any, str]:
        """Host memory full of NaN."""
        memory = np.full(num_amplitudes, np.nan, dtype=dtype)
        self.machine.owners[id(memory)] = f"host of {self.name}"
        return memory, "pinned"

    def allocate(self, num_amplitudes: int, dtype: Any) -> Any:
        """A buffer full of NaN."""
        buffer = super().allocate(num_amplitudes, dtype)
        self.machine.owners[id(buffer)] = self.name
        return buffer

    def synchronize(self) -> None:
        """Wait for the device's own work."""
        self.queue.synchronize()

    def set_basis(self, buffer: Any, index: int) -> None:
        """Queue the work."""
        self.queue.put(lambda: PlainDevice.set_basis(self, buffer, index))

    def begin(self, buffer: Any) -> None:
        """Queue the work."""
        self.queue.put(lambda: PlainDevice.begin(self, buffer))

    def run(
        self, buffer: Any, num_bits: int, step: Any, numbers: Any, prepared: Any = None, high: int = 0
    ) -> None:  # fmt: skip
        """Queue the work."""
        self.queue.put(lambda: PlainDevice.run(self, buffer, num_bits, step, numbers, prepared, high))

    def permute(self, buffer: Any, num_bits: int, sources: Any, flip: int = 0) -> None:
        """Queue the work."""
        self.queue.put(lambda: PlainDevice.permute(self, buffer, num_bits, sources, flip))

    def write(self, buffer: Any, start: int, values: Any) -> None:
        """Finish what was queued before first."""
        self.synchronize()
        super().write(buffer, start, values)

    def read(self, buffer: Any, start: int, stop: int) -> Any:
        """Finish what was queued before first."""
        self.synchronize()
        return super().read(buffer, start, stop)


def _in_turn(name: str) -> Callable[..., Any]:
    """A method of `PlainDevice` that begins when all that was queued before is done."""

    def method(self: LateDevice, *arguments: Any) -> Any:
        self.synchronize()
        return getattr(PlainDevice, name)(self, *arguments)

    return method


for _name in (
    "gather",
    "marginal",
    "search",
    "norms",
    "inner",
    "pauli",
    "density",
    "scale",
    "move",
    "copy",
):
    setattr(LateDevice, _name, _in_turn(_name))
