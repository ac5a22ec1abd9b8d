"""The rates of links between memories, beside plain copies: ``python -m benchmarks.links --n 30 --device-wires 27``.

Ceilings are plain copies in the same process: host to device, device to host, and both at once, from page-locked
memory in pieces of 1 GiB; with --gpus, from each GPU to its partner for every XOR of their numbers, all GPUs and both
directions at once. Beside them: a full migration, in which every window of a state in host memory is copied in and out
once and not changed (a visit that writes); and exchanges of a state on several GPUs, one for each number of device
bits that are exchanged with local bits.

A full migration of 30 wires in single precision takes 0.2 s and the first one, which locks memory, about 5 s; with
both scenarios and two numbers of device wires the command takes about 30 s. Exchanges take 10 s on 4 GPUs.
"""

from __future__ import annotations

import argparse
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Literal

import numpy as np

from benchmarks import machine
from benchmarks.memory import wait_for_all
from benchmarks.peers.base import IN_FLIGHT, Precision, Setup
from benchmarks.peers.ours_peer import options
from qsim_ex import StateVector
from qsim_ex.devices.discover import gpu
from qsim_ex.devices.peering import link
from qsim_ex.placement.migrated import Migrated
from qsim_ex.placement.peers import Peers

FORMAT = 1
PIECE = 1 << 30
REPEAT = 5
_SMALL_PIECE = 1 << 20
"""Bytes of a piece on a CPU, where copies between 'devices' tell nothing but that the code runs."""


class Copier(ABC):
    """Plain copies without the engine: arrays of bytes on the host and on GPUs, and queues that run side by side."""

    piece: int

    @staticmethod
    def of(device: str) -> Copier:
        """Return copies through CuPy for ``gpu``, and through NumPy for ``cpu``."""
        return CupyCopier() if device == "gpu" else NumpyCopier()

    @abstractmethod
    def host(self, size: int) -> Any:
        """Return host memory, page-locked where that means something."""

    @abstractmethod
    def on(self, gpu: int, size: int) -> Any:
        """Return memory of a GPU."""

    @abstractmethod
    def queue(self, gpu: int) -> Any:
        """Return a queue of copies that waits for no other."""

    @abstractmethod
    def copy(self, to: Any, source: Any, queue: Any) -> None:
        """Queue a copy of all bytes."""

    @abstractmethod
    def connect(self, gpus: int) -> None:
        """Let GPUs 0, 1, … read and write each other's memory, as far as the driver allows it."""

    @abstractmethod
    def wait(self, gpus: int) -> None:
        """Wait until everything on GPUs 0, 1, … is done."""

    @abstractmethod
    def free(self) -> None:
        """Give memory back that nobody uses any more."""


class NumpyCopier(Copier):
    """Everything is host memory, and a copy is done when it is queued."""

    piece = _SMALL_PIECE

    def host(self, size: int) -> Any:
        """Return host memory."""
        return np.zeros(size, dtype=np.uint8)

    def on(self, gpu: int, size: int) -> Any:
        """Return host memory."""
        del gpu
        return np.zeros(size, dtype=np.uint8)

    def queue(self, gpu: int) -> Any:
        """There is nothing to queue."""
        del gpu

    def copy(self, to: Any, source: Any, queue: Any) -> None:
        """Copy at once."""
        del queue
        to[...] = source

    def connect(self, gpus: int) -> None:
        """All memory is one."""

    def wait(self, gpus: int) -> None:
        """Everything is done."""

    def free(self) -> None:
        """NumPy has done so."""


class CupyCopier(Copier):
    """Copies by CUDA's copy engines, one stream for each queue."""

    piece = PIECE

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy

    def host(self, size: int) -> Any:
        """Return page-locked memory, written once so that it is there."""
        found = np.frombuffer(self._cupy.cuda.alloc_pinned_memory(size), np.uint8, size)
        found[...] = 1
        return found

    def on(self, gpu: int, size: int) -> Any:
        """Return memory of a GPU."""
        with self._cupy.cuda.Device(gpu):
            return self._cupy.ones(size, dtype=np.uint8)

    def queue(self, gpu: int) -> Any:
        """Return a stream of this GPU, and the GPU, which has to be current for it."""
        with self._cupy.cuda.Device(gpu):
            return gpu, self._cupy.cuda.Stream(non_blocking=True)

    def copy(self, to: Any, source: Any, queue: Any) -> None:
        """Queue one copy."""
        runtime = self._cupy.cuda.runtime
        gpu, stream = queue
        with self._cupy.cuda.Device(gpu):
            runtime.memcpyAsync(_address(to), _address(source), to.nbytes, runtime.memcpyDefault, stream.ptr)

    def connect(self, gpus: int) -> None:
        """Ask the driver for peer access; without it, it copies by way of the host."""
        for one in range(gpus):
            for other in range(gpus):
                if one != other:
                    link(gpu(one), gpu(other))

    def wait(self, gpus: int) -> None:
        """Wait for all streams."""
        wait_for_all(gpus)

    def free(self) -> None:
        """Empty CuPy's pools."""
        self._cupy.get_default_memory_pool().free_all_blocks()
        self._cupy.get_default_pinned_memory_pool().free_all_blocks()


def _address(array: Any) -> int:
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


def ceilings(copier: Copier, gpus: int, repeat: int = REPEAT) -> dict[str, Any]:
    """Measure plain copies: bytes a second, by name, as ``bytes_per_second``; medians.

    ``host to device``, ``device to host``; ``both ways`` counts both directions together. ``peers XOR x`` is what
    each device sends, while it receives as much, when all send to the one whose number differs by x.
    """
    found = _host_ceilings(copier, repeat)
    copier.connect(gpus)
    for mask in range(1, gpus):
        found[f"peers XOR {mask}"] = _peer_ceiling(copier, gpus, mask, repeat)
    copier.free()
    return {"piece": copier.piece, "repeat": repeat, "bytes_per_second": found}


def _host_ceilings(copier: Copier, repeat: int) -> dict[str, float]:
    """Measure the link between the host and GPU 0: two pieces in each direction, over and over."""
    size, pieces = copier.piece, 2
    come = [(copier.on(0, size), copier.host(size)) for _ in range(pieces)]
    go = [(copier.host(size), copier.on(0, size)) for _ in range(pieces)]
    queues = copier.queue(0), copier.queue(0)

    def moved(inwards: bool, outwards: bool) -> Callable[[], None]:
        def work() -> None:
            for k in range(pieces):
                if inwards:
                    copier.copy(*come[k], queues[0])
                if outwards:
                    copier.copy(*go[k], queues[1])

        return work

    ways = {"host to device": (True, False), "device to host": (False, True), "both ways": (True, True)}
    return {
        name: pieces * sum(way) * size / _seconds(moved(*way), lambda: copier.wait(1), repeat)
        for name, way in ways.items()
    }


def _peer_ceiling(copier: Copier, gpus: int, mask: int, repeat: int) -> float:
    """Measure all devices sending to their partners at once."""
    size = copier.piece
    sources = [copier.on(number, size) for number in range(gpus)]
    targets = [copier.on(number, size) for number in range(gpus)]
    queues = [copier.queue(number) for number in range(gpus)]

    def work() -> None:
        for number in range(gpus):
            copier.copy(targets[number ^ mask], sources[number], queues[number])

    return size / _seconds(work, lambda: copier.wait(gpus), repeat)


def _seconds(work: Callable[[], None], wait: Callable[[], None], repeat: int) -> float:
    """Return the median time of some work until it is done; the first time does not count."""
    found = []
    for _ in range(repeat + 1):
        wait()
        start = perf_counter()
        work()
        wait()
        found.append(perf_counter() - start)
    return median(found[1:])


@dataclass(frozen=True)
class Row:
    """What we reach on one link, beside plain copies.

    moved: bytes of one repetition, as the placement counts them: both directions together for the host, what one
        device sends for peers. ceiling: bytes a second of plain copies.
    """

    name: str
    seconds: float
    moved: int
    ceiling: float
    facts: dict[str, Any]

    @property
    def rate(self) -> float:
        """Return bytes a second."""
        return self.moved / self.seconds

    def to_json(self) -> dict[str, Any]:
        """Return plain data, the rate and the part of the ceiling included."""
        return {**asdict(self), "bytes_per_second": self.rate, "of_ceiling": self.rate / self.ceiling}


def migration(device: Literal["cpu", "gpu"], setup: Setup, variant: str, ceiling: float, repeat: int = REPEAT) -> Row:
    """Measure full migrations: every window of a state in host memory comes once and goes once.

    Windows that are on the device when one begins do not move: as many as it holds, but never all.
    """
    setup = replace(setup, in_flight=setup.windows(some_elsewhere=True))
    with StateVector(setup.n, options=options(setup, device, variant)) as state, state.placed() as placed:
        if not isinstance(placed, Migrated):
            raise TypeError(f"expected a migrated state, got one that is {placed.kind}")
        placed.forget()  # no part of it is known to be zero; what it holds does not matter for copies

        def visit() -> None:
            for _ in placed.visit(write=True):
                pass

        moved = [placed.bytes_in + placed.bytes_out]

        def wait() -> None:
            placed.device.synchronize()
            if device == "gpu":
                wait_for_all(1)
            moved.append(placed.bytes_in + placed.bytes_out)

        seconds = _seconds(visit, wait, repeat)
        name = f"migration, {setup.migration} migration wires, {variant}"
        return Row(name, seconds, moved[-1] - moved[-2], ceiling, placed.report() | {"slots": placed.needed.slots})


def exchanges(
    device: Literal["cpu", "gpu"], setup: Setup, ceiling: dict[str, float], repeat: int = REPEAT
) -> Iterator[Row]:
    """Measure exchanges of 1, 2, … device bits with local bits, on a state of which nothing is known to be zero.

    The ceiling is that of plain copies to the same partners one after another, as over a switch.
    """
    for bits in range(1, setup.peers + 1):
        with StateVector(setup.n, options=options(setup, device, "default")) as state, state.placed() as placed:
            if not isinstance(placed, Peers):
                raise TypeError(f"expected a state on several devices, got one that is {placed.kind}")
            yield _exchange(device, setup, placed, bits, ceiling, repeat)


def _exchange(
    device: Literal["cpu", "gpu"], setup: Setup, placed: Peers, bits: int, ceiling: dict[str, float], repeat: int
) -> Row:
    """Measure one number of device bits: those that are lowest trade places with local bits, again and again."""
    placed.forget()
    sent = [0]

    def trade() -> None:
        wires = placed.layout.wires()[setup.local : setup.local + bits]
        for _ in placed.visit(near=wires):
            break  # the first sub state vector comes after the exchange

    def wait() -> None:
        for one in placed.devices:
            one.synchronize()
        if device == "gpu":
            wait_for_all(setup.gpus)
        sent.append(sum(placed.sent.values()))

    seconds = _seconds(trade, wait, repeat)
    masks = [ceiling[f"peers XOR {mask}"] for mask in range(1, 1 << bits)]
    plain = len(masks) / sum(1 / rate for rate in masks)
    facts = placed.report()  # type: ignore[arg-type]  # Divided.clone returns its own kind
    each = (sent[-1] - sent[-2]) // setup.gpus
    return Row(f"exchange of {bits} device bits", seconds, each, plain, facts)


def table(document: dict[str, Any]) -> str:
    """Render as markdown: plain copies, then what we reach of them."""
    rates = document["ceilings"]["bytes_per_second"]
    lines = ["| plain copies | GB/s |", "| --- | --- |"]
    lines += [f"| {name} | {rate / 1e9:.1f} |" for name, rate in rates.items()]
    lines += ["", "| ours | GiB | ms | GB/s | of plain copies |", "| --- " * 5 + "|"]
    for row in document["rows"]:
        figures = f"{row['moved'] / 2**30:.3f} | {row['seconds'] * 1e3:.2f} | {row['bytes_per_second'] / 1e9:.1f}"
        lines.append(f"| {row['name']} | {figures} | {row['of_ceiling']:.0%} |")
    return "\n".join(lines)


def measure(
    device: Literal["cpu", "gpu"],
    n: int,
    precision: Precision,
    gpus: int,
    device_wires: Sequence[int],
    *,
    variants: Sequence[str] = ("whole", "spread"),
    in_flight: int = IN_FLIGHT,
    repeat: int = REPEAT,
) -> dict[str, Any]:
    """Measure ceilings, then migrations for each number of device wires, and exchanges if there are several GPUs."""
    limits = ceilings(Copier.of(device), gpus, repeat)
    rates = limits["bytes_per_second"]
    rows = []
    for wires in device_wires:
        setup = Setup(n, precision, 1, device_wires=wires, in_flight=in_flight)
        rows += [migration(device, setup, variant, rates["both ways"], repeat) for variant in variants]
    if gpus > 1:
        rows += exchanges(device, Setup(n, precision, 1, gpus=gpus), rates, repeat)
    return {
        "format": FORMAT,
        "kind": "links",
        "device": device,
        "n": n,
        "precision": precision,
        "machine": machine.describe(),
        "ceilings": limits,
        "rows": [row.to_json() for row in rows],
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print a table, write JSON if asked; return 2 without a GPU."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.links", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("device", nargs="?", choices=("cpu", "gpu"), default="gpu", help="cpu: only to try the code")
    parser.add_argument("--n", type=int, default=30)
    parser.add_argument("--precision", choices=("single", "double"), default="single")
    parser.add_argument("--device-wires", type=int, nargs="+", default=[], help="wires of a window")
    parser.add_argument("--gpus", type=int, default=1, help="exchanges among so many")
    parser.add_argument("--variants", nargs="+", choices=("whole", "spread"), default=["whole", "spread"])
    parser.add_argument("--in-flight", type=int, default=IN_FLIGHT, help="windows on the GPU at a time; never all")
    parser.add_argument("--repeat", type=int, default=REPEAT)
    parser.add_argument("--commit", help="default: what git says; name it where there is no git")
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    chosen = parser.parse_args(argv)
    try:
        machine.memory_bytes(chosen.device)
        for wires in chosen.device_wires:
            if Setup(chosen.n, chosen.precision, 1, device_wires=wires, in_flight=chosen.in_flight).migration == 0:
                parser.error(f"expected --device-wires below {chosen.n}, so that windows migrate, got {wires}")
        Setup(chosen.n, chosen.precision, 1, gpus=chosen.gpus)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    except ValueError as error:
        parser.error(str(error))
    found = measure(
        *(chosen.device, chosen.n, chosen.precision, chosen.gpus, chosen.device_wires),
        variants=chosen.variants,
        in_flight=chosen.in_flight,
        repeat=chosen.repeat,
    )
    found["commit"] = chosen.commit or machine.commit()
    print(table(found))
    if chosen.out:
        chosen.out.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
