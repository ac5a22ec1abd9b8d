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
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from benchmarks import machine
from benchmarks.copies import REPEAT, Copier, ceilings, median_seconds
from benchmarks.memory import wait_for_all
from benchmarks.peers.base import IN_FLIGHT, Precision, Setup
from benchmarks.peers.ours_peer import options
from qsim_ex import StateVector
from qsim_ex.placement.migrated import Migrated
from qsim_ex.placement.peers import Peers

FORMAT = 1


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

        moved = [placed.bytes_moved]

        def wait() -> None:
            placed.device.synchronize()
            if device == "gpu":
                wait_for_all(1)
            moved.append(placed.bytes_moved)

        seconds = median_seconds(visit, wait, repeat)
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

    seconds = median_seconds(trade, wait, repeat)
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
